package server

import (
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// budget raises the soft limit of open descriptors to the hard one and keeps
// a quarter of them, and some, for the log's files and the porch: connections
// beyond the rest are refused before accepting fails for want of a descriptor.
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
	s.porch.room = refusedOf(limit.Cur)
	s.maxConns = min(s.maxConns, connectionsOf(limit.Cur))
	if s.maxConns < s.options.MaxConnections && s.options.bounded() {
		s.log.Warn("fewer connections than max.connections: raise the descriptor limit",
			zap.Int("max.connections", s.options.MaxConnections), zap.Int("connections", s.maxConns), zap.Uint64("descriptors", limit.Cur))
	}
}

// leastRefused is how many sockets stand on the porch where descriptors are few.
const leastRefused = 16

// refusedOf is how many refused connections may be held with so many
// descriptors: at most a quarter of those that connections leave.
func refusedOf(descriptors uint64) int {
	return int(max(min(descriptors/16, mostRefused), leastRefused))
}

// connectionsOf is how many connections so many descriptors allow.
func connectionsOf(descriptors uint64) int {
	const most = 1 << 30
	n := int(min(descriptors, most))
	return max(n-n/4-32, 8)
}
