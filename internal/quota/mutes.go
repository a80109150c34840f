package quota

import "sync"

// mutes are the mutes in force of one kind, for a change of settings to find
// those whose clients it names.
type mutes struct {
	mu  sync.Mutex
	all []*Mute
}

func (s *mutes) add(m *Mute) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.index = len(s.all)
	s.all = append(s.all, m)
}

func (s *mutes) remove(m *Mute) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.all[len(s.all)-1]
	s.all[m.index], last.index = last, m.index
	s.all[len(s.all)-1] = nil
	s.all = s.all[:len(s.all)-1]
}

// count is how many connections are muted.
func (s *mutes) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// wake has those in the scope of a change look at their buckets and limits
// again. The caller has raised the generation.
func (s *mutes) wake(changed *scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.all {
		if changed.concerns(m.client) {
			m.wake()
		}
	}
}
