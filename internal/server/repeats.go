package server

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"kaasd/internal/kafka"
)

const (
	repeatEvery = 10 * time.Second // one line per group and subject
	maxGroups   = 1024             // remembered
	maxRepeats  = 64               // lines of a group in 10 s
	maxLines    = 1024             // lines of all groups in 10 s
)

// Repeats holds back log lines that say the same of the same subject: a host, or
// whatever a line is about. Subjects belong to a group, such as all that one user
// asks for, or one message about one network; a group that has much to say silences
// itself alone. The zero value is ready.
type Repeats struct {
	mu     sync.Mutex
	groups map[string]*list.Element
	order  list.List // of *repeats, the one asked about last at the back
	since  time.Time // of lines
	lines  int       // logged within 10 s, of all groups
}

// repeats is what was logged of a group within 10 s.
type repeats struct {
	group      string
	seen       map[string]struct{}
	logged     []line // the oldest first
	suppressed int    // lines of the group, since its last one that was logged
}

type line struct {
	subject string
	at      time.Time
}

// Allow says whether the line may be logged now: of each subject at most one in
// 10 s, of each group at most 64 and of all at most 1024; and how many lines of the
// group were not since its last one. When there are very many groups the one that nobody has asked about
// for longest is forgotten, with what it had not told.
func (r *Repeats) Allow(group, subject string, now time.Time) (suppressed int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.group(group)
	g.forget(now)
	if now.Sub(r.since) >= repeatEvery {
		r.since, r.lines = now, 0
	}
	if _, known := g.seen[subject]; known || len(g.seen) >= maxRepeats || r.lines >= maxLines {
		g.suppressed++
		return 0, false
	}
	r.lines++
	g.seen[subject] = struct{}{}
	g.logged = append(g.logged, line{subject, now})
	suppressed, g.suppressed = g.suppressed, 0
	return suppressed, true
}

// Full says whether no line of the group may be logged now, whatever it is about,
// and counts one that is not: who asks first need not make its subject.
func (r *Repeats) Full(group string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.groups[group]
	if e == nil {
		return false
	}
	g := e.Value.(*repeats)
	if g.forget(now); len(g.seen) < maxRepeats {
		return false
	}
	r.order.MoveToBack(e)
	g.suppressed++
	return true
}

// group finds a group, or makes it, in the place of another when there are many.
func (r *Repeats) group(name string) *repeats {
	if e := r.groups[name]; e != nil {
		r.order.MoveToBack(e)
		return e.Value.(*repeats)
	}
	if r.groups == nil {
		r.groups = map[string]*list.Element{}
	}
	if len(r.groups) >= maxGroups {
		delete(r.groups, r.order.Remove(r.order.Front()).(*repeats).group)
	}
	g := &repeats{group: name, seen: map[string]struct{}{}}
	r.groups[name] = r.order.PushBack(g)
	return g
}

// forget lets the subjects go whose time has passed. They stand in the order of
// their lines, so each is looked at once.
func (g *repeats) forget(now time.Time) {
	for len(g.logged) > 0 && now.Sub(g.logged[0].at) >= repeatEvery {
		delete(g.seen, g.logged[0].subject)
		g.logged = g.logged[1:]
	}
}

// note logs what peers and sockets do wrong, at most once per host and 10 s; a
// network of IPv6 is one group of hosts.
func (s *Server) note(level zapcore.Level, message, host string, fields ...zap.Field) {
	suppressed, ok := s.repeats.Allow(message+" "+groupOf(host), host, time.Now())
	if !ok {
		return
	}
	if suppressed > 0 {
		fields = append(fields, zap.Int("suppressed", suppressed))
	}
	s.log.Log(level, message, fields...)
}

// groupOf is the network of a host; what has no address is a group of its own.
func groupOf(host string) string {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	return kafka.Network(addr).String()
}
