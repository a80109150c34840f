package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sector is what a disk writes whole.
const sector = 512

// AfterKill is what is found after the process died: the kernel keeps every
// byte it was given. The copy is an ordinary Crash, so that the way back up
// can be cut as well.
func (c *Crash) AfterKill() *Crash {
	return c.aftermath(func(n *node) *node { return n.copy(n.names, n.data) })
}

// AfterPowerCut is what is found after the machine lost power: what was synced,
// and with a seed other than 0 also some of what was not: any sectors of a
// file's unsynced bytes, zeros where a file only grew, and of a folder either
// the synced names or the last ones.
func (c *Crash) AfterPowerCut(seed uint64) *Crash {
	if seed == 0 {
		return c.aftermath(func(n *node) *node { return n.copy(n.durableNames, n.durable) })
	}
	dice := rand.New(rand.NewPCG(seed, seed))
	return c.aftermath(func(n *node) *node {
		names := n.durableNames
		if dice.IntN(2) == 0 {
			names = n.names
		}
		return n.copy(names, n.torn(dice))
	})
}

// aftermath copies the tree through pick, top down.
func (c *Crash) aftermath(pick func(*node) *node) *Crash {
	c.mem.mu.Lock()
	defer c.mem.mu.Unlock()
	after := newMemory()
	after.track = true
	after.root = c.mem.root.rebuild(pick)
	after.root.settle()
	return &Crash{mem: after, dir: c.dir, free: 1 << 40}
}

func (n *node) rebuild(pick func(*node) *node) *node {
	left := pick(n)
	for _, name := range slices.Sorted(maps.Keys(left.names)) {
		left.names[name] = left.names[name].rebuild(pick)
	}
	return left
}

// copy is a node of the same kind with these contents.
func (n *node) copy(names map[string]*node, data []byte) *node {
	if n.names == nil {
		return &node{data: slices.Clone(data)}
	}
	left := &node{names: maps.Clone(names)}
	if left.names == nil {
		left.names = map[string]*node{}
	}
	return left
}

// torn mixes synced and unsynced bytes sector by sector.
func (n *node) torn(dice *rand.Rand) []byte {
	size := len(n.durable)
	if dice.IntN(2) == 0 {
		size = len(n.data)
	}
	mixed := make([]byte, size)
	copy(mixed, n.durable)
	for at := 0; at < size; at += sector {
		if dice.IntN(2) == 0 && at < len(n.data) {
			end := min(at+sector, size)
			copy(mixed[at:end], n.data[at:])
		}
	}
	return mixed
}

// settle makes everything below durable.
func (n *node) settle() {
	if n.names == nil {
		n.durable = slices.Clone(n.data)
		return
	}
	n.durableNames = maps.Clone(n.names)
	for _, below := range n.names {
		below.settle()
	}
}
