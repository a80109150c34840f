// Package program is the command line that all client programs have in common
// (scripts/clients/clients.tsv), for those that are written in Go. A program
// says what its library can do and how; this says it to the driver, one line an
// event, each written at once: two members of a group may append to one file.
package program
