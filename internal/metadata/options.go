package metadata

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
)

// LogPartition names the metadata log. No topic of a client may have the
// name.
var LogPartition = kafka.TopicPartition{Topic: "__kaasd_metadata", Partition: 0}

// LogID is the topic id of the metadata log, the same in every folder.
var LogID = kafka.TopicID{15: 1}

// LogConfig is how the metadata log is run: nothing expires in it, and it is
// synced before it counts. Segments are small, because only whole ones are given
// back after a rewrite.
func LogConfig() storage.Config {
	return storage.Config{
		Flush:              storage.FlushAlways,
		SegmentBytes:       2 << 20,
		SegmentAge:         -1,
		IndexIntervalBytes: 64 << 10,
		RetentionAge:       -1,
		RetentionBytes:     -1,
		Strict:             true,
	}
}

// Options are what the store is run with besides its log. Nothing in them
// changes while it runs.
type Options struct {
	NodeID kafka.BrokerID
	// Listeners are the names of the broker's listeners, which have
	// properties of their own.
	Listeners []string
	// Properties are broker properties given at the start, in plain form
	// (ParseProperties). They stand below what is altered later and above
	// the defaults.
	Properties map[string]string
	// Flush and FlushInterval are log.flush and log.flush.interval.ms:
	// what topics get that ask for nothing stronger.
	Flush         storage.Flush
	FlushInterval time.Duration

	table []*Property // of the broker and its listeners; made by newImage
}

func (o *Options) brokerName() string { return strconv.Itoa(int(o.NodeID)) }

// ParseProperties checks properties of a broker with these listeners and gives
// them in plain form. It reports all that is wrong, not the first thing.
func ParseProperties(given map[string]string, listeners []string) (map[string]string, error) {
	table := propertiesWith(listeners)
	plain := make(map[string]string, len(given))
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, ok := find(table, name)
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s is not a broker property", name))
			continue
		}
		text, err := p.Parse(given[name])
		if err != nil {
			wrong = append(wrong, errors.New(kafka.MessageOf(err)))
			continue
		}
		plain[name] = text
	}
	return plain, errors.Join(wrong...)
}
