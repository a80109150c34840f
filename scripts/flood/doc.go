// Command flood maltreats a kaasd of its own, one attack after the other, and
// does the same to a plain TCP sink. Beside each attack a client that behaves
// produces at a steady rate, from a process of its own: how long it waits for
// its answers is what an attack costs the others. The attackers are a process too,
// at a lower priority: else what is measured is their share of the processors.
//
//	flood --kaasd dist/kaasd --connections 10000 --time 8s
//
// The sink reads frames by their size, keeps nothing and answers each with a
// few bytes: it does what no broker can do with less. Sizes that the broker refuses
// it refuses, too, as soon as they are there: attackers who wait for it attack
// nothing. Attackers come from many
// loopback addresses. Of the broker is measured how far its resident memory
// rises above what it was beside the steady client alone, less what the
// connections that the attack held open cost; that cost per connection is what
// the first attack, silence, has measured. kaasd runs with the memory.limit of a
// small container: where it may have a quarter of a large machine, Go's heap grows
// with what is thrown away before it is looked through.
//
// It prints a table of all attacks, and ends with 1 when a figure is not held:
// the 99th percentile of the steady client at most three times that beside the
// sink, and resident memory of at most 200 MB.
//
//	flood cost --kaasd dist/kaasd
//
// tells what a SCRAM log-in costs the broker in processor time.
package main
