package broker_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// crew is 200 groups of 5 members, each on a connection of its own.
const (
	crewGroups  = 200
	crewMembers = 5
	crewBeat    = time.Second // between heartbeats
)

// BenchmarkManyGroups tells how long after the last join all groups are stable
// with all their members: a heartbeat is what calls a member to a rebalance.
func BenchmarkManyGroups(b *testing.B) {
	broker := brokertest.Start(b, atOnce)
	for run := 0; b.Loop(); run++ {
		var settled [crewGroups]atomic.Int64 // when, in ns; 0: not yet
		var last atomic.Int64
		var all sync.WaitGroup
		stop := make(chan struct{})
		for g := range crewGroups {
			for range crewMembers {
				p := dial(b, broker.Plain)
				all.Go(func() { (&sailor{peer: p, name: fmt.Sprint("g", run, "-", g)}).live(&last, &settled[g], stop) })
			}
		}
		var end int64
		for g := range settled {
			for settled[g].Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			end = max(end, settled[g].Load())
		}
		close(stop)
		all.Wait()
		b.ReportMetric(float64(end-last.Load())/1e6, "ms-to-stable")
	}
}

// sailor is one member.
type sailor struct {
	*peer
	name, id string
}

// live joins, and joins again when it is called, until it is told to stop. The
// leader of a whole crew notes when its assignment was taken.
func (s *sailor) live(last, settled *atomic.Int64, stop <-chan struct{}) {
	last.Store(time.Now().UnixNano())
	for {
		j := call[message.JoinGroupResponse](s.peer, 3, &message.JoinGroupRequest{GroupID: s.name, MemberID: s.id, SessionTimeoutMs: 30000, RebalanceTimeoutMs: 30000,
			ProtocolType: "consumer", Protocols: []message.JoinGroupProtocol{{Name: "range"}}})
		if j.ErrorCode != kafka.NoError {
			s.t.Errorf("join: %s", j.ErrorCode)
			return
		}
		s.id = j.MemberID
		sync := &message.SyncGroupRequest{GroupID: s.name, GenerationID: j.GenerationID, MemberID: s.id}
		for _, m := range j.Members {
			sync.Assignments = append(sync.Assignments, message.SyncGroupAssignment{MemberID: m.MemberID})
		}
		if call[message.SyncGroupResponse](s.peer, 3, sync).ErrorCode == kafka.NoError {
			if len(j.Members) == crewMembers {
				settled.Store(time.Now().UnixNano())
			}
			if !s.beat(j.GenerationID, stop) {
				return
			}
		}
	}
}

// beat sends heartbeats until one calls the member to join; false: it is to
// stop.
func (s *sailor) beat(generation int32, stop <-chan struct{}) bool {
	for {
		select {
		case <-stop:
			return false
		case <-time.After(crewBeat):
		}
		if call[message.HeartbeatResponse](s.peer, 3, &message.HeartbeatRequest{GroupID: s.name, GenerationID: generation, MemberID: s.id}).ErrorCode != kafka.NoError {
			return true
		}
	}
}
