package handlers

import (
	"context"
	"time"

	"kaasd/internal/group"
	"kaasd/internal/kafka"
)

// errStopping is the answer to who waits for others when the broker stops:
// clients look for the coordinator then, and find it after the start.
var errStopping = kafka.Errorf(kafka.CoordinatorNotAvailable, "the broker is stopping")

// answered waits for an answer that other members of the group have their say
// in. When the server stops first it is the one given as stopped; an error is a
// peer that has gone. The group goes on without the connection in both cases.
func answered[T any](c *call, f *group.Future[T], stopped T) (T, error) {
	select {
	case <-f.Done():
		return f.Value(), nil
	default:
	}
	began := time.Now()
	parked, resume := c.request.Park(c.ctx)
	defer resume()
	defer func() { c.parked += time.Since(began) }()
	select {
	case <-f.Done():
		return f.Value(), nil
	case <-parked.Done():
		return stopped, context.Cause(c.ctx)
	}
}

// mayRead says whether the caller may be a member of a group.
func (c *call) mayRead(name string) error { return c.allow(kafka.OpRead, kafka.GroupResource(name)) }

// clientHost is where a member comes from, as Kafka writes it.
func (s *session) clientHost() string { return "/" + s.host }

// orEmpty makes one of the two ways to say that a name is not there.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// orNull makes the other.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
