package server

import (
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	repeatEvery = 10 * time.Second // one line per message and subject
	maxRepeats  = 1024             // subjects remembered
)

// Repeats holds back log lines that say the same of the same subject: a host, or
// whatever a line is about. The zero value is ready.
type Repeats struct {
	mu   sync.Mutex
	seen map[repeat]*tally
}

type repeat struct{ message, subject string }

type tally struct {
	logged     time.Time
	suppressed int
}

// Allow says whether the line may be logged now, at most one in 10 s, and how
// many like it were not since the last one. While very many subjects are
// remembered new ones are not logged.
func (r *Repeats) Allow(message, subject string, now time.Time) (suppressed int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[repeat]*tally{}
	}
	key := repeat{message, subject}
	t := r.seen[key]
	if t == nil {
		if r.forget(now); len(r.seen) >= maxRepeats {
			return 0, false
		}
		r.seen[key] = &tally{logged: now}
		return 0, true
	}
	if now.Sub(t.logged) < repeatEvery {
		t.suppressed++
		return 0, false
	}
	suppressed = t.suppressed
	*t = tally{logged: now}
	return suppressed, true
}

// forget makes room when the table is full.
func (r *Repeats) forget(now time.Time) {
	if len(r.seen) < maxRepeats {
		return
	}
	for key, t := range r.seen {
		if now.Sub(t.logged) >= repeatEvery {
			delete(r.seen, key)
		}
	}
}

// note logs what peers and sockets do wrong, at most once per host and 10 s.
func (s *Server) note(level zapcore.Level, message, host string, fields ...zap.Field) {
	suppressed, ok := s.repeats.Allow(message, host, time.Now())
	if !ok {
		return
	}
	if suppressed > 0 {
		fields = append(fields, zap.Int("suppressed", suppressed))
	}
	s.log.Log(level, message, fields...)
}
