// Package broker is the assembly: Config says how a broker is run, New joins
// the rooms, Run owns their lives. It holds no behaviour of its own; the
// lines that wire two rooms of one floor to each other stand here.
//
// Config is made of the Options of the rooms. What the front door reads from
// flags, variables and files ends up in it, and no room reads those itself.
package broker
