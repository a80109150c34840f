package handlers

import (
	"time"

	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// mutate asks controller_mutation_rate for partitions that are to be made or
// deleted (KIP-599), once nothing else is in the way of the topic they belong to. By
// a version that is strict a client in debt is refused and pays nothing; older ones
// are never refused, they wait afterwards.
//
// Tokens are not given back when the commit then fails: nothing was made, but a
// full disk must not be an invitation to try at any rate.
func (c *call) mutate(partitions int32) error {
	throttle, ok := c.payer().Mutate(int(partitions), c.header.Version >= strictMutation[c.header.Key], time.Now())
	c.throttle = quota.Larger(throttle, c.throttle)
	if !ok {
		return errMutationRate
	}
	return nil
}

// strictMutation is the first version of an API that refuses a client in debt.
var strictMutation = map[kafka.APIKey]int16{kafka.KeyCreateTopics: 6, kafka.KeyDeleteTopics: 5, kafka.KeyCreatePartitions: 3}

// errMutationRate has no text: clients wait and try again.
var errMutationRate = kafka.Errorf(kafka.ThrottlingQuotaExceeded, "")
