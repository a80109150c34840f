package group

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"kaasd/internal/kafka"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// TestStories tells a group what its members say, and holds everything that can
// be seen of it against the golden files:
//
//	join a client=c session=10s
//	----
//	a: MEMBER_ID_REQUIRED, come back as c-1
//	Empty, generation 0, wakes in 10s
//
// A letter or word before the fields names a request, whose answer may come
// much later. wait lets time pass, and the group wake when it wants to.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := tell(t, string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if diff := gocmp.Diff(string(text), got); diff != "" && !*rewrite {
				t.Error(diff)
			}
		})
	}
}

// tell plays a story and gives it with what really happens.
func tell(t *testing.T, text string) string {
	s := newStage(t)
	var out strings.Builder
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		said, _, _ := strings.Cut(block, "\n----")
		out.WriteString(said + "\n")
		if strings.HasPrefix(said, "#") && !strings.Contains(said, "\n") {
			out.WriteString("\n")
			continue
		}
		out.WriteString("----\n" + s.play(said) + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// stage is a group and what is waited for.
type stage struct {
	t      *testing.T
	o      Options
	now    time.Time
	g      *machine
	ids    int
	joins  map[string]*Future[Joined]
	syncs  map[string]*Future[Synced]
	topics map[string]kafka.TopicID
	out    []string
}

var dawn = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

func newStage(t *testing.T) *stage {
	s := &stage{t: t, o: DefaultOptions(), now: dawn, joins: map[string]*Future[Joined]{}, syncs: map[string]*Future[Synced]{}, topics: map[string]kafka.TopicID{}}
	s.o.InitialDelay = 0
	s.g = newMachine("g", &s.o, s.newID, s.now)
	return s
}

func (s *stage) newID() string {
	s.ids++
	return strconv.Itoa(s.ids)
}

// play does what the lines of a block say.
func (s *stage) play(lines string) string {
	s.out = nil
	for line := range strings.SplitSeq(lines, "\n") {
		if !strings.HasPrefix(line, "#") {
			s.do(parseLine(line))
			s.collect("")
		}
	}
	s.tell("%s", s.stand())
	return strings.Join(s.out, "\n") + "\n"
}

func (s *stage) tell(format string, args ...any) { s.out = append(s.out, fmt.Sprintf(format, args...)) }

// stand is where the group stands.
func (s *stage) stand() string {
	text := fmt.Sprintf("%s, generation %d", s.g.state, s.g.generation)
	if s.g.leader != "" {
		text += ", " + s.g.leader + " leads"
	}
	if waiting := slices.Concat(slices.Sorted(maps.Keys(s.joins)), slices.Sorted(maps.Keys(s.syncs))); len(waiting) > 0 {
		text += ", " + strings.Join(waiting, " ") + " waits"
	}
	if due := s.due(); !due.IsZero() {
		text += ", wakes in " + due.Sub(s.now).String()
	}
	if s.g.changed {
		s.g.changed = false
		text += ", written down"
	}
	return text
}

// due is when there will be something to do. The group may ask to be woken
// before, and must not ask too late.
func (s *stage) due() time.Time {
	asked := s.g.due
	s.g.rearm()
	due := s.g.due
	s.g.due = asked
	if !due.IsZero() && (asked.IsZero() || asked.After(due)) {
		s.t.Errorf("the group wants to be woken at %v, there is something to do at %v", asked, due)
	}
	return due
}

// collect tells the answers that have come.
func (s *stage) collect(prefix string) {
	for _, name := range slices.Sorted(maps.Keys(s.joins)) {
		select {
		case <-s.joins[name].Done():
			s.tell("%s%s: %s", prefix, name, showJoined(s.joins[name].Value()))
			delete(s.joins, name)
		default:
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.syncs)) {
		select {
		case <-s.syncs[name].Done():
			s.tell("%s%s: %s", prefix, name, showSynced(s.syncs[name].Value()))
			delete(s.syncs, name)
		default:
		}
	}
}

func showJoined(a Joined) string {
	switch kafka.CodeOf(a.Err) {
	case kafka.NoError:
	case kafka.MemberIDRequired:
		return fmt.Sprintf("MEMBER_ID_REQUIRED, come back as %s", a.MemberID)
	default:
		return kafka.CodeOf(a.Err).String()
	}
	text := fmt.Sprintf("%s joined generation %d, %s %s, led by %s", a.MemberID, a.Generation, a.ProtocolType, a.Protocol, a.Leader)
	for _, m := range a.Members {
		text += fmt.Sprintf("; %s %q", m.ID, m.Metadata)
	}
	if a.SkipAssignment {
		text += "; nothing to assign"
	}
	return text
}

func showSynced(a Synced) string {
	if a.Err != nil {
		return kafka.CodeOf(a.Err).String()
	}
	return fmt.Sprintf("%s %s %q", a.ProtocolType, a.Protocol, a.Assignment)
}

// line is one thing said: a verb, perhaps a name, fields and flags.
type line struct {
	verb, name string
	fields     map[string]string
	words      []string
}

func parseLine(text string) line {
	words := strings.Fields(text)
	l := line{verb: words[0], fields: map[string]string{}}
	for _, w := range words[1:] {
		if key, value, ok := strings.Cut(w, "="); ok {
			l.fields[key] = value
		} else {
			l.words = append(l.words, w)
		}
	}
	if len(l.words) > 0 {
		l.name = l.words[0]
	}
	return l
}

func (l line) flag(word string) bool { return slices.Contains(l.words, word) }

func (s *stage) duration(l line, key string, otherwise time.Duration) time.Duration {
	if l.fields[key] == "" {
		return otherwise
	}
	d, err := time.ParseDuration(l.fields[key])
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *stage) number(l line, key string, otherwise int64) int64 {
	if l.fields[key] == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(l.fields[key], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *stage) do(l line) {
	switch l.verb {
	case "options":
		s.o.InitialDelay = s.duration(l, "initial", s.o.InitialDelay)
		s.o.MaxSize = int(s.number(l, "size", math.MaxInt32))
		s.o.Retention = s.duration(l, "retention", s.o.Retention)
	case "join":
		s.join(l)
	case "sync":
		s.sync(l)
	case "heartbeat":
		err := s.g.heartbeat(s.now, &Heartbeat{MemberID: l.name, InstanceID: l.fields["instance"], Generation: s.generation(l)})
		s.tell("%s: %s", l.name, kafka.CodeOf(err))
	case "hold", "release":
		s.hold(l)
	case "leave":
		s.leave(l)
	case "wait":
		s.wait(l)
	case "restart":
		saved := s.g.saved()
		kept := s.g.offsets
		s.g = newMachine("g", &s.o, s.newID, s.now)
		s.g.restore(saved, s.now)
		s.g.offsets = kept
	case "describe":
		s.describe()
	default:
		s.doOffsets(l)
	}
}

// generation is that of the group when the line does not say.
func (s *stage) generation(l line) int32 {
	return int32(s.number(l, "generation", int64(s.g.generation)))
}

func (s *stage) join(l line) {
	r := &Join{MemberID: l.fields["id"], InstanceID: l.fields["instance"], ClientID: cmp.Or(l.fields["client"], l.name), ClientHost: "/host",
		SessionTimeout: s.duration(l, "session", 10*time.Second), RebalanceTimeout: s.duration(l, "rebalance", time.Minute),
		ProtocolType: cmp.Or(l.fields["type"], "consumer"), NeedsID: l.flag("needs-id"), SkipsAssignments: l.flag("skips")}
	for p := range strings.SplitSeq(cmp.Or(l.fields["protocols"], "range"), ",") {
		name, metadata, _ := strings.Cut(p, ":")
		if name == "none" {
			continue
		}
		r.Protocols = append(r.Protocols, Protocol{Name: name, Metadata: []byte(metadata)})
	}
	if topics := l.fields["reads"]; topics != "" {
		r.Protocols = []Protocol{{Name: "range", Metadata: subscriptionTo(strings.Split(topics, ",")...)}}
	}
	f := newFuture[Joined]()
	s.joins[l.name] = f
	if err := s.o.checkJoin(r); err != nil {
		f.give(Joined{Err: err, MemberID: r.MemberID})
		return
	}
	s.g.join(s.now, r, f)
}

// subscriptionTo is what a consumer tells of itself.
func subscriptionTo(topics ...string) []byte {
	b := []byte{0, 1, 0, 0, 0, byte(len(topics))}
	for _, topic := range topics {
		b = append(b, 0, byte(len(topic)))
		b = append(b, topic...)
	}
	return append(b, 0xff, 0xff, 0xff, 0xff)
}

func (s *stage) sync(l line) {
	r := &Sync{MemberID: cmp.Or(l.fields["id"], l.name), InstanceID: l.fields["instance"], Generation: s.generation(l),
		ProtocolType: l.fields["type"], Protocol: l.fields["protocol"], Assignments: map[string][]byte{}}
	if l.fields["assign"] != "" {
		for a := range strings.SplitSeq(l.fields["assign"], ",") {
			id, what, _ := strings.Cut(a, ":")
			r.Assignments[id] = []byte(what)
		}
	}
	f := newFuture[Synced]()
	s.syncs[l.name] = f
	s.g.sync(s.now, r, f)
}

// hold begins or ends a time in which a member's connection is not read.
func (s *stage) hold(l line) {
	m := s.g.members[l.name]
	switch {
	case m == nil:
		s.tell("%s: no member", l.name)
	case l.verb == "hold":
		s.g.hold(s.now, m)
	default:
		s.g.release(s.now, m)
	}
}

func (s *stage) leave(l line) {
	var leaving []Leave
	for _, w := range l.words {
		id, instance, _ := strings.Cut(w, "@")
		leaving = append(leaving, Leave{MemberID: id, InstanceID: instance})
	}
	for i, err := range s.g.leave(s.now, leaving) {
		s.tell("%s: %s", l.words[i], kafka.CodeOf(err))
	}
}

// wait lets time pass as the timers would.
func (s *stage) wait(l line) {
	d, err := time.ParseDuration(l.name)
	if err != nil {
		s.t.Fatal(err)
	}
	end := s.now.Add(d)
	for !s.g.due.IsZero() && !s.g.due.After(end) {
		s.now = s.g.due
		before := s.stand()
		s.g.expire(s.now)
		s.collect(fmt.Sprintf("after %v, ", s.now.Sub(end)+d))
		if after := s.stand(); after != before && s.g.state.String() != strings.Split(before, ",")[0] {
			s.tell("after %v, %s", s.now.Sub(end)+d, after)
		}
	}
	s.now = end
}

func (s *stage) describe() {
	d := s.g.describe()
	s.tell("%s %q %q", d.State, d.ProtocolType, d.Protocol)
	for _, m := range d.Members {
		s.tell("  %s instance=%q client=%q host=%q metadata=%q assignment=%q", m.ID, m.InstanceID, m.ClientID, m.ClientHost, m.Metadata, m.Assignment)
	}
}
