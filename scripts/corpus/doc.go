// Command corpus keeps what fuzzing found. Go leaves inputs that reach something
// new in its build cache, where they are lost with the machine. This copies a
// few of them for each target into testdata/fuzz, where a plain go test runs them.
//
//	corpus [targets]
//
// It works in the root of the module, on all targets or on those whose names
// match the expression. Every input of the cache is run alone, and those are
// chosen that together reach all code of the module that any of them reaches and
// neither the seeds in the code nor what is kept already does. Nothing is ever
// taken away. What holds a private key is left where it is. The exit code is 1
// when an input fails; such a one is named and not kept.
package main
