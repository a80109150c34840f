package program

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Events tells what happens to a member of a group. All of it may be called together.
type Events struct {
	options *Options
	enough  context.CancelFunc

	mu   sync.Mutex
	read int
}

func newEvents(o *Options) *Events { return &Events{options: o} }

func (e *Events) line(format string, args ...any) {
	fmt.Fprintf(os.Stdout, e.options.tag+format+"\n", args...) // one write: nothing in front of the file
}

// Partition is how a partition is named in a line.
func Partition[N int | int32](topic string, partition N) string {
	return fmt.Sprintf("%s-%d", topic, partition)
}

// Assigned is called before the first record of new partitions.
func (e *Events) Assigned(partitions ...string) {
	e.line("%s", strings.Join(append([]string{"assigned"}, partitions...), " "))
}

// Revoked is called when partitions will not be read any longer, and before
// another member can have them.
func (e *Events) Revoked(partitions ...string) {
	if len(partitions) > 0 {
		e.line("revoked %s", strings.Join(partitions, " "))
	}
}

// Committed is called when what was read is committed.
func (e *Events) Committed() { e.line("committed") }

// Record is called for each record; false says that this one is not wanted any more.
func (e *Events) Record(partition int, offset int64, value []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.options.Records > 0 && e.read == e.options.Records {
		return false
	}
	e.read++
	e.line("record %d %d %d", partition, offset, Number(value))
	if e.read == e.options.Records {
		e.enough()
	}
	return true
}

func (e *Events) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.read
}

// Complain is called for what went wrong and does not end the program.
func (e *Events) Complain(err error) { fmt.Fprintln(os.Stderr, err) }
