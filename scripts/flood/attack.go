package main

import (
	"fmt"
	"time"
)

// attack is one way to maltreat a broker.
type attack struct {
	name     string
	does     string   // for the table
	refuses  string   // what of kaasd stands against it
	settings []string // of kaasd, besides those of all attacks
	most     int      // connections that the sink holds, where kaasd has a limit too; 0 is no limit
	tls      bool     // against a listener with TLS
	prepare  func(*target) error
	begin    func(*crew) // starts the attackers
}

// attacks are all, in the order of the table. The first measures what a
// connection costs.
func attacks() []attack {
	return []attack{
		{name: "silence", does: "connections on which nothing is ever said", refuses: "the time to log in, connections.max.idle.ms, max.connections", begin: silence},
		{name: "drip", does: "frames begun, and a byte of each per second", refuses: "the time to log in, connections.max.idle.ms", begin: drip},
		{name: "connects", does: "connect and close as fast as it goes", refuses: "nothing: each costs what accepting it costs", begin: connects},
		{name: "limits", does: "the same, and holding on to what is let in", refuses: "max.connections, max.connections.per.ip",
			settings: []string{"--max-connections", "300", "--max-connections-per-ip", "20"}, most: 300, begin: clinging},
		{name: "ip-quota", does: "the same, against a quota of 1 connection/s for each ip", refuses: "connection_creation_rate",
			settings: []string{"--quota-model", "kafka"}, prepare: limitIPs, begin: clinging},
		{name: "tls-silence", does: "connections to a TLS listener on which nothing is said", refuses: "512 handshakes at a time; where others wait 3 s, 250 ms for addresses with many", tls: true, begin: tlsSilence},
		{name: "tls-hellos", does: "the first message of a handshake, as fast as it goes", refuses: "a part of the processors for all handshakes", tls: true, begin: hellos},
		{name: "tls-messages", does: "a first message of 64 KiB, less a byte", refuses: "20 KiB for each handshake, 512 at a time", tls: true, begin: tlsMessages},
		{name: "log-ins", does: "SCRAM with wrong passwords, for a user who exists and others", refuses: "the delay of failed log-ins", begin: logIns},
		{name: "bombs-before", does: "sizes of 2 GiB, arrays, tags and tokens before the log-in", refuses: "sasl.server.max.receive.size, counts held against bytes", begin: bombsBefore},
		{name: "bombs", does: "the same after the log-in, and 7 and 32 MiB of what decodes to most", refuses: "socket.request.max.bytes, queued.max.request.bytes, the decoder's budget", begin: bombs},
		{name: "metadata", does: "Metadata about 200,000 topics that do not exist", refuses: "queued.max.request.bytes", begin: metadata},
		{name: "compression", does: "batches of 120 MiB in a few KiB that must be opened: zstd, gzip, lz4, snappy", refuses: "read as it is decompressed, with a part of the processors", begin: compression},
		{name: "look-ups", does: "offsets by time inside such a batch that was stored", refuses: "read as it is decompressed, with a part of the processors", prepare: storeBomb, begin: lookUps},
		{name: "waiting", does: "fetches of 200 partitions that wait for what never comes", refuses: "queued.max.request.bytes, of which a quarter for questions", prepare: makeWide, begin: waiting},
		{name: "commits", does: "offsets with 4 KiB of metadata, each to another group", refuses: "an eighth of memory.limit for offsets", begin: commits},
		{name: "slow-readers", does: "fetches of 50 MiB whose answers are not read", refuses: "16 KiB of an answer in memory where many are in progress; connections.write.timeout.ms", prepare: storeMuch, begin: slowReaders},
		{name: "stalled", does: "a KiB of frames of 256 KiB and 100 MiB, and no more", refuses: "memory lent in advance only while half of it is free; 48 to 160 KiB in 3 s where others wait", begin: stalled},
		{name: "slow-writers", does: "frames of 100 MiB at 32 KiB/s", refuses: "queued.max.request.bytes; 160 KiB in 10 s, in 3 s where others wait for memory", begin: slowWriters},
	}
}

func names() []string {
	var all []string
	for _, a := range attacks() {
		all = append(all, a.name)
	}
	return all
}

// warmth is how long the steady client is alone before an attack.
const warmth = time.Second

// figures are what one target showed under an attack.
type figures struct {
	counts
	waits    waits
	grown    int64 // bytes of resident memory, at the most
	refusals map[string]float64
}

// measure attacks a target, beside the steady client.
func measure(o options, a attack, t *target) (f figures, err error) {
	if err := untracked(); err != nil {
		return f, err
	}
	c, err := startClient(t)
	if err != nil {
		return f, err
	}
	defer c.stdin.Close()
	if a.prepare != nil && t.http != "" {
		if err := a.prepare(t); err != nil {
			return f, err
		}
	}
	time.Sleep(warmth)
	before, _, err := t.resident()
	if err != nil {
		return f, err
	}
	if err := c.begin(); err != nil {
		return f, err
	}
	if f.counts, err = t.suffer(o, a); err != nil {
		return f, err
	}
	if f.waits, err = c.end(); err != nil {
		return f, err
	}
	_, most, err := t.resident()
	if err != nil {
		return f, err
	}
	f.grown = most - before
	f.refusals, err = t.refusals()
	if err == nil && f.waits.Refused > 0 {
		err = fmt.Errorf("%d requests of the steady client were refused", f.waits.Refused)
	}
	return f, err
}
