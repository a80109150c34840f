package group

import (
	"fmt"
	"strings"

	"kaasd/internal/kafka"
)

// doOffsets plays the lines about offsets. A partition is written topic:number,
// an offset topic:number:offset.
func (s *stage) doOffsets(l line) {
	switch l.verb {
	case "commit":
		s.commit(l)
	case "drop":
		s.drop(l)
	case "lapse":
		gone := s.g.lapsed(s.now)
		s.tell("lapsed: %s", s.showDropped(gone))
		s.g.offsets.drop(gone)
		s.tell("something remains: %v", s.g.remains())
	case "offsets":
		for _, t := range s.g.offsets.topics() {
			for _, p := range t.Partitions {
				s.tell("  %s:%d:%d %q", t.Name, p.Partition, p.Offset, p.Metadata)
			}
		}
	default:
		s.t.Fatalf("nobody understands %q", l.verb)
	}
}

func (s *stage) topicID(name string) kafka.TopicID {
	id, ok := s.topics[name]
	if !ok {
		id = kafka.TopicID{byte(len(s.topics) + 1)}
		s.topics[name] = id
	}
	return id
}

func (s *stage) commit(l line) {
	r := &Commit{MemberID: l.fields["id"], InstanceID: l.fields["instance"], Generation: -1}
	if r.MemberID != "" {
		r.Generation = s.generation(l)
	}
	for _, w := range l.words {
		var number int32
		var offset int64
		name, rest, _ := strings.Cut(w, ":")
		if _, err := fmt.Sscanf(rest, "%d:%d", &number, &offset); err != nil {
			s.t.Fatal(err)
		}
		c := Committed{Offset: offset, At: s.now.UnixMilli(), Expires: -1}
		if d := s.duration(l, "expires", 0); d > 0 {
			c.Expires = s.now.Add(d).UnixMilli()
		}
		r.Topics = append(r.Topics, Topic{ID: s.topicID(name), Name: name, Partitions: []Partition{{number, c}}})
	}
	err := s.g.mayCommit(s.now, r)
	if err == nil {
		s.g.offsets.put(r.Topics)
	}
	s.tell("commit: %s", kafka.CodeOf(err))
}

func (s *stage) drop(l line) {
	if err := s.g.mayDropAny(); err != nil {
		s.tell("drop: %s", kafka.CodeOf(err))
		return
	}
	for _, w := range l.words {
		var number int32
		name, rest, _ := strings.Cut(w, ":")
		if _, err := fmt.Sscanf(rest, "%d", &number); err != nil {
			s.t.Fatal(err)
		}
		err := s.g.mayDrop()(name)
		if err == nil {
			s.g.offsets.drop([]droppedTopic{{ID: s.topicID(name), Partitions: []int32{number}}})
		}
		s.tell("drop %s: %s", w, kafka.CodeOf(err))
	}
}

func (s *stage) showDropped(gone []droppedTopic) string {
	var words []string
	for _, d := range gone {
		for name, id := range s.topics {
			if id == d.ID {
				words = append(words, fmt.Sprintf("%s:%v", name, d.Partitions))
			}
		}
	}
	return strings.Join(words, " ")
}
