// Package kafka holds the words every room of the house shares: error codes,
// API keys, principals, networks, topics and partitions, quota entities, SCRAM
// credentials. It is the lowest floor: it knows no wire, no disk and no clock,
// and imports the standard library alone.
//
// The names are Apache Kafka's own, so that a term in the code, in a log line
// and in Kafka's documentation is the same term.
package kafka
