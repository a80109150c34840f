package credstore

import (
	"fmt"
	"time"

	"kaasd/internal/watch"
)

// Trigger is what made the store read the file.
type Trigger string

// The triggers, as in the metrics and the log.
const (
	TriggerStart  Trigger = watch.TriggerStart
	TriggerWatch  Trigger = watch.TriggerWatch
	TriggerPoll   Trigger = watch.TriggerPoll
	TriggerSignal Trigger = watch.TriggerSignal
	TriggerHTTP   Trigger = watch.TriggerHTTP
)

// Outcome is how a reload ended.
type Outcome = watch.Outcome

// The outcomes.
const (
	Applied   = watch.Applied
	Unchanged = watch.Unchanged
	Failed    = watch.Failed
)

// Result is what a reload did.
type Result struct {
	Outcome       Outcome
	Users         int    // in force
	Added         int    // users that are new
	Removed       int    // users that are gone
	QuotasChanged int    // users with other base quotas than before
	SHA256        string // of the file in force, in hex
	Took          time.Duration
	Err           error // why it failed
}

// String is the result in a sentence for a person.
func (r Result) String() string {
	switch r.Outcome {
	case Failed:
		return fmt.Sprintf("credentials not reloaded, the last good file stays in force: %v", r.Err)
	case Unchanged:
		return fmt.Sprintf("credentials unchanged: %d users", r.Users)
	}
	return fmt.Sprintf("credentials reloaded: %d users, %d added, %d removed, %d with changed quotas", r.Users, r.Added, r.Removed, r.QuotasChanged)
}

// Status is how the store stands.
type Status struct {
	File     string // "" where kaasd runs without one
	Resolved string // File with every symbolic link followed, where it exists
	SHA256   string // of the content in force, in hex; "" before there was one
	Users    int
	InForce  time.Time // since when the content is in force
	LastGood time.Time // last read that was usable
	LastTry  time.Time
	Error    string // what was wrong at the last read, or ""
	Watching bool   // changes are noticed at once
}
