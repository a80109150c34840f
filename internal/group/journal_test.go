package group

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kaasd/internal/kafka"
	"kaasd/internal/storage"
	"kaasd/internal/storage/vfs"
)

// TestRestart: members, static ones too, and offsets are there after a restart,
// and so it is after the log was rewritten.
func TestRestart(t *testing.T) {
	fs := vfs.Memory()
	o := DefaultOptions()
	o.InitialDelay = 0
	c, stop, err := openOn(t, fs, o)
	if err != nil {
		t.Fatal(err)
	}
	static := consumer("")
	static.InstanceID = "i"
	v := c.Join(time.Now(), "g", static).Value()
	c.Sync(time.Now(), "g", &Sync{MemberID: v.MemberID, Generation: 1, InstanceID: "i", Assignments: map[string][]byte{v.MemberID: []byte("all")}})
	r := &Commit{MemberID: v.MemberID, InstanceID: "i", Generation: 1, Topics: offset(1, 0, 5)}
	r.Topics[0].Partitions[0].Metadata = "note\xff"
	if err := c.Commit(t.Context(), time.Now(), "g", r); err != nil {
		t.Fatal(err)
	}
	before, offsets := fmt.Sprintf("%+v", c.describe(t, "g")), c.AllCommitted("g")
	for _, name := range []string{"restart", "rewrite and restart"} {
		if name != "restart" {
			if err := c.journal.rewrite(t.Context(), time.Now(), c.rewriteAll); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		if c, stop, err = openOn(t, fs, o); err != nil {
			t.Fatal(err)
		}
		if after := fmt.Sprintf("%+v", c.describe(t, "g")); after != before {
			t.Errorf("%s: got\n%s, want\n%s", name, after, before)
		}
		if diff := cmp.Diff(offsets, c.AllCommitted("g")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if err := c.Heartbeat(time.Now(), "g", &Heartbeat{MemberID: v.MemberID, InstanceID: "i", Generation: 1}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A new life of the static member goes on without a rebalance.
	f := c.Join(time.Now(), "g", static)
	<-f.Done()
	if f.Value().Err != nil || f.Value().Generation != 1 {
		t.Errorf("%+v", f.Value())
	}
	stop()
}

func (c *Coordinator) describe(t *testing.T, name string) Description {
	t.Helper()
	d, ok := c.Describe(name)
	if !ok {
		t.Fatalf("there is no group %s", name)
	}
	return d
}

// TestLogStaysSmall: a hundred thousand commits leave a log of a bounded size,
// and nothing of them is lost.
func TestLogStaysSmall(t *testing.T) {
	fs := vfs.Memory()
	o := DefaultOptions()
	o.SpareLog = 64 << 10
	o.Log.SegmentBytes = 32 << 10
	c, stop, err := openOn(t, fs, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for i := range int64(20000) {
		if err := c.Commit(t.Context(), time.Now(), fmt.Sprint("g", i%7), &Commit{Generation: -1, Topics: offset(byte(i%5), int32(i%11), i)}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.shrink(t.Context())
	if size := c.journal.log.Size(); size > 3*(64<<10) {
		t.Errorf("the log has %d bytes", size)
	}
	want := sketch(c)
	stop()
	if c, stop, err = openOn(t, fs, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sketch(c)); diff != "" {
		t.Error(diff)
	}
	stop()
}

// TestWeight: what a log is thought to take that holds everything once is what it takes,
// so that it is not rewritten over and over.
func TestWeight(t *testing.T) {
	ctx, now := t.Context(), time.Now()
	for name, do := range map[string]func(*testing.T, *Coordinator, string){
		"offsets": func(t *testing.T, c *Coordinator, group string) {
			if err := c.Commit(ctx, now, group, &Commit{Generation: -1, Topics: offset(1, 0, 5)}); err != nil {
				t.Fatal(err)
			}
		},
		"metadata": func(t *testing.T, c *Coordinator, group string) {
			r := &Commit{Generation: -1, Topics: offset(1, 0, 5)}
			r.Topics[0].Partitions[0].Metadata = strings.Repeat("x", 4096)
			if err := c.Commit(ctx, now, group, r); err != nil {
				t.Fatal(err)
			}
		},
		"members": func(t *testing.T, c *Coordinator, group string) {
			r := consumer("")
			r.InstanceID, r.Protocols[0].Metadata = "i", make([]byte, 500)
			v := c.Join(now, group, r).Value()
			c.Sync(now, group, &Sync{MemberID: v.MemberID, Generation: 1, InstanceID: "i", Assignments: map[string][]byte{v.MemberID: make([]byte, 900)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.InitialDelay, o.SpareLog = 0, 4<<10
			c, stop, err := openOn(t, vfs.Memory(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			for i := range 200 {
				do(t, c, fmt.Sprint("group-", i))
			}
			if err := c.journal.rewrite(ctx, now, c.rewriteAll); err != nil {
				t.Fatal(err)
			}
			if size, weight := float64(c.journal.size.Load()), float64(c.weight()); weight < size*0.8 || weight > size*1.2 {
				t.Errorf("the log takes %v bytes, and is thought to take %v", size, weight)
			}
		})
	}
}

// TestLargeGroup: a group is rewritten in records of a bounded size.
func TestLargeGroup(t *testing.T) {
	g := newMachine("g", new(Options), nil, time.Now())
	for topic := range byte(3) {
		for p := range int32(1700) {
			g.offsets.put(offset(topic, p, int64(p)))
		}
	}
	again := newMachine("g", new(Options), nil, time.Now())
	var sizes []int
	for c := range g.whole() {
		b, err := encode(c)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode([]byte(c.kind()), b, new(offsetsCommitted))
		if err != nil {
			t.Fatal(err)
		}
		topics := back.(*offsetsCommitted).Topics
		n := 0
		for _, topic := range topics {
			n += len(topic.Partitions)
		}
		sizes = append(sizes, n)
		again.offsets.put(topics)
	}
	if !slices.Equal(sizes, []int{1000, 1000, 1000, 1000, 1000, 100}) {
		t.Error(sizes)
	}
	if diff := cmp.Diff(g.offsets.topics(), again.offsets.topics()); diff != "" {
		t.Error(diff)
	}
}

// TestCommitsShareMemory: what is read into the memory of another commit is what
// was written.
func TestCommitsShareMemory(t *testing.T) {
	var memory offsetsCommitted
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := &offsetsCommitted{Group: string('a' + rune(r.IntN(3)))}
		for range r.IntN(4) {
			topic := Topic{ID: kafka.TopicID{byte(r.IntN(3))}, Name: string('x' + rune(r.IntN(3)))}
			for range r.IntN(5) {
				topic.Partitions = append(topic.Partitions, Partition{r.Int32(), Committed{r.Int64(), r.Int32(), []string{"", "n", "note"}[r.IntN(3)], r.Int64(), -1}})
			}
			c.Topics = append(c.Topics, topic)
		}
		value, err := encode(c)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode([]byte(c.kind()), value, &memory)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(change(c), back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestAlwaysWaits: under FlushAlways a commit whose sync does not succeed is
// not acknowledged.
func TestAlwaysWaits(t *testing.T) {
	f := vfs.NewCrash("/data")
	c, stop, err := openOn(t, f, crashOptions(storage.FlushAlways))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	f.Fail(func(call string) error {
		if strings.HasPrefix(call, "sync") {
			return fmt.Errorf("the disk is gone")
		}
		return nil
	})
	if err := c.Commit(t.Context(), time.Now(), "g", &Commit{Generation: -1, Topics: offset(1, 0, 5)}); kafka.CodeOf(err) != kafka.CoordinatorNotAvailable {
		t.Errorf("got %v", err)
	}
}

// FuzzChange: whatever a record holds, reading it ends, and what was read is
// written back to the same.
func FuzzChange(f *testing.F) {
	f.Add("OffsetsCommitted", []byte{0, 2, 'g', 1})
	for _, c := range []change{
		&offsetsCommitted{Group: "g", Topics: offset(1, 2, 3)}, &groupDeleted{Group: "g"},
		&offsetsDropped{Group: "g", Topics: []droppedTopic{{ID: kafka.TopicID{1}, Partitions: []int32{1, 2}}}},
		&membersChanged{Group: "g", Members: []savedMember{{ID: "m", Protocols: []savedProtocol{{Name: "range", Metadata: subscriptionTo("t")}}}}},
	} {
		value, err := encode(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c.kind(), value)
	}
	f.Fuzz(func(t *testing.T, kind string, value []byte) {
		c, err := decode([]byte(kind), value, new(offsetsCommitted))
		if err != nil || c == nil {
			return
		}
		once, err := encode(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode([]byte(kind), once, new(offsetsCommitted))
		if err != nil {
			t.Fatal(err)
		}
		twice, err := encode(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written as %x, then as %x, %v", once, twice, err)
		}
	})
}

// FuzzSubscription: a member's metadata is only looked into.
func FuzzSubscription(f *testing.F) {
	f.Add(subscriptionTo("a", "bc"))
	f.Add([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if topics, ok := subscription(b); ok && len(topics) > len(b) {
			t.Fatalf("%d topics in %d bytes", len(topics), len(b))
		}
	})
}
