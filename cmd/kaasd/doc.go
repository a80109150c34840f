// Command kaasd is the front door: a Kafka-compatible broker with client
// quotas at its heart, and the commands around it.
//
// What passes through: flags, variables and a settings file become a
// broker.Config (option.go, options.go, setting.go); an error becomes one
// line and an exit code (exit.go); an answer becomes a table or one JSON
// document (output.go). The commands that speak Kafka do it as a client,
// against any cluster. Nothing here decides what a broker does.
//
// One table of options (options.go) makes the flags, the KAASD_ and KAFKA_
// variables, the keys of the file, config show, config init, config env and
// docs/settings.md. A setting that is not in it does not exist.
//
// quota import reads what four tools print (quotafile.go, quotatext.go), all
// of it into the same list of stated values; what that changes is worked out
// without a cluster at hand (quotachange.go). quota top is a view that knows
// neither terminal nor clock (topview.go, topdraw.go, topkeys.go) and a screen
// that gives the terminal back whatever happens (topscreen.go). Names come from
// clients: nothing that would steer a terminal is written to one (output.go).
//
// Strength: flag, KAASD_ variable, KAFKA_ variable, file, default.
package main
