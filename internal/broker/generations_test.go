package broker_test

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

type generation struct {
	name    string
	options []kgo.Opt
}

// clientGenerations are a client that throttles itself and one of the days
// before that (KIP-219). Both keep the order of records and send them as they
// are.
func clientGenerations() []generation {
	plain := []kgo.Opt{kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(100_000), kgo.DefaultProduceTopic("lossless")}
	return []generation{
		{"newest", plain},
		{"1.1", append([]kgo.Opt{kgo.MaxVersions(kversion.V1_1_0())}, plain...)},
	}
}
