package server

import (
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// budget raises the soft limit of open descriptors to the hard one and keeps
// a quarter of them, and some, for the log's files: connections beyond the
// rest are refused before accepting fails for want of a descriptor.
func (s *Server) budget() {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		s.log.Warn("descriptor limit unknown", zap.Error(err))
		return
	}
	if limit.Cur < limit.Max {
		raised := unix.Rlimit{Cur: limit.Max, Max: limit.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &raised); err == nil {
			limit = raised
		}
	}
	s.maxConns = min(s.options.MaxConnections, connectionsOf(limit.Cur))
	if s.maxConns < s.options.MaxConnections && s.options.MaxConnections != DefaultOptions().MaxConnections {
		s.log.Warn("fewer connections than max.connections: raise the descriptor limit",
			zap.Int("max.connections", s.options.MaxConnections), zap.Int("connections", s.maxConns), zap.Uint64("descriptors", limit.Cur))
	}
}

// connectionsOf is how many connections so many descriptors allow.
func connectionsOf(descriptors uint64) int {
	const most = 1 << 30
	n := int(min(descriptors, most))
	return max(n-n/4-32, 8)
}
