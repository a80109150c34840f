package server

import (
	"context"
	"testing"
)

const kib = 1 << 10

// ready says whether a waiting loan has got its memory.
func ready(l *loan) bool {
	select {
	case <-l.ready:
		return true
	default:
		return false
	}
}

func TestMemoryLeavesRoomForOthers(t *testing.T) {
	m := newMemory(1024 * kib)
	var first, second, third loan
	if !m.tryTake(&first, 256*kib) {
		t.Fatal("a frame did not get its share")
	}
	if m.tryTake(&first, 256*kib); !ready(&first) {
		t.Error("the only frame that waits did not get the seat")
	}
	if m.used != 0 || m.seat != &first {
		t.Errorf("got %d bytes used, want the frame in the seat not counted", m.used)
	}
	if !m.tryTake(&first, 4096*kib) {
		t.Error("the frame in the seat had to wait")
	}
	m.tryTake(&second, 256*kib)
	if m.tryTake(&second, kib) || ready(&second) {
		t.Error("a second frame was let over its share")
	}
	if !m.tryTake(&third, 256*kib) {
		t.Error("a frame within its share waits for one that is over it")
	}
	m.give(&first)
	if !ready(&second) || m.seat != &second {
		t.Error("the seat was not given on")
	}
	m.give(&second)
	m.give(&third)
	if m.used != 0 || m.seat != nil {
		t.Errorf("got %d bytes used after all were given back", m.used)
	}
}

func TestMemoryLeavesRoomForSmallFrames(t *testing.T) {
	m := newMemory(4096 * kib)
	for i := range 12 {
		if !m.tryTake(&loan{large: true}, 256*kib) {
			t.Fatalf("large frame %d had to wait", i)
		}
	}
	var seated, waits loan
	seated.large, waits.large = true, true
	if m.tryTake(&seated, 256*kib); m.seat != &seated {
		t.Fatal("the pool is empty for large frames, and nobody has the seat")
	}
	if m.tryTake(&waits, 256*kib) || ready(&waits) {
		t.Error("a large frame got what is left to the small ones")
	}
	for i := range 4 {
		if !m.tryTake(&loan{}, 256*kib) {
			t.Errorf("small frame %d had to wait", i)
		}
	}
	if m.tryTake(&loan{}, 256*kib) {
		t.Error("there was more than the limit")
	}
}

func TestMemorySeatsTheOldest(t *testing.T) {
	m := newMemory(512 * kib)
	var oldest, young, seated loan
	m.tryTake(&oldest, 256*kib)
	m.tryTake(&young, kib)
	m.tryTake(&seated, 255*kib)
	if m.tryTake(&seated, kib); m.seat != &seated {
		t.Fatal("the pool is empty and nobody has the seat")
	}
	if m.tryTake(&young, 256*kib) || m.tryTake(&oldest, kib) {
		t.Fatal("frames got more than there is")
	}
	m.give(&seated)
	if m.seat != &oldest || !ready(&oldest) {
		t.Error("the seat did not go to the oldest frame that waits")
	}
	if ready(&young) {
		t.Error("a frame over its share got memory")
	}
	m.give(&oldest)
	if !ready(&young) {
		t.Error("the seat was not given on")
	}
}

func TestMemoryWaitEnds(t *testing.T) {
	m := newMemory(512 * kib)
	var seated, l loan
	m.tryTake(&seated, 512*kib)
	fill := []loan{{}, {}}
	for i := range fill {
		m.tryTake(&fill[i], 256*kib)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	m.tryTake(&l, kib)
	cancel(errGone)
	if err := m.wait(ctx, nil, &l); err != errGone {
		t.Errorf("got %v, want %v", err, errGone)
	}
	stop := make(chan struct{})
	close(stop)
	m.tryTake(&l, kib)
	if err := m.wait(t.Context(), stop, &l); err != errStopping {
		t.Errorf("got %v, want %v", err, errStopping)
	}
	if m.waiting != 0 {
		t.Errorf("got %d still waiting", m.waiting)
	}
}

func TestSteps(t *testing.T) {
	tests := []struct{ have, size, want, tight int }{
		{0, 4097, 8 * kib, 4 * kib},
		{0, 200 * kib, 256 * kib, 4 * kib},
		{0, 100 << 20, 256 * kib, 4 * kib},
		{4 * kib, 100 << 20, 256 * kib, 16 * kib},
		{16 * kib, 20 * kib, 32 * kib, 32 * kib},
		{64 * kib, 100 << 20, 256 * kib, 256 * kib},
		{256 * kib, 300 * kib, 512 * kib, 512 * kib},
		{256 * kib, 100 << 20, 1 << 20, 1 << 20},
		{1 << 20, 1<<20 + 1, 1<<20 + 1, 1<<20 + 1},
		{1 << 20, 100 << 20, 2 << 20, 2 << 20},
		{64 << 20, 100 << 20, 100 << 20, 100 << 20},
	}
	for _, test := range tests {
		if got := step(test.have, test.size, false); got != test.want {
			t.Errorf("step(%d, %d): got %d, want %d", test.have, test.size, got, test.want)
		}
		if got := step(test.have, test.size, true); got != test.tight {
			t.Errorf("step(%d, %d) when memory is tight: got %d, want %d", test.have, test.size, got, test.tight)
		}
	}
}

// TestMemoryServesWhoHoldsLeast: who asks for more than there is waits behind others
// that ask for little, for the seat too; among those who hold as much the oldest is first.
func TestMemoryServesWhoHoldsLeast(t *testing.T) {
	m := newMemory(1024 * kib)
	alice, bob := owner{name: "alice"}, owner{name: "bob"}
	seated := loan{owner: alice}
	m.tryTake(&seated, 256*kib)
	m.tryTake(&seated, kib) // takes the seat
	held, more := make([]loan, 4), make([]loan, 3)
	for i := range held {
		held[i].owner = alice
		m.tryTake(&held[i], 256*kib)
	}
	for i := range more {
		more[i].owner = alice
		m.tryTake(&more[i], 256*kib)
	}
	little, much := loan{owner: bob}, loan{owner: bob}
	m.tryTake(&much, 512*kib)
	m.tryTake(&little, 128*kib)
	if ready(&more[0]) || ready(&little) || ready(&much) {
		t.Fatal("there was more than the limit")
	}
	m.give(&held[0])
	if !ready(&little) || ready(&more[0]) {
		t.Error("who holds nothing waits behind who holds all")
	}
	m.give(&seated)
	if m.seat != &much || !ready(&much) {
		t.Error("the seat went to who holds more")
	}
	m.give(&held[1])
	if !ready(&more[0]) || ready(&more[1]) {
		t.Error("the oldest was not next")
	}
	for _, l := range []*loan{&held[2], &held[3], &more[0], &little, &much, &more[1], &more[2]} {
		m.give(l)
	}
	if m.used != 0 || len(m.holders) != 0 || m.waiting != 0 {
		t.Errorf("in the end %d bytes are used, %d owners are known, %d wait", m.used, len(m.holders), m.waiting)
	}
}

// TestMemoryLooksBehind: who waits behind as many as are looked at gets what there is
// when some of them leave.
func TestMemoryLooksBehind(t *testing.T) {
	m := newMemory(4096 * kib)
	full := make([]loan, 16)
	for i := range full {
		full[i].large = i < 12
		m.tryTake(&full[i], 256*kib)
	}
	large := make([]loan, 1+lookahead)
	for i := range large { // the first has the seat
		large[i].large = true
		m.tryTake(&large[i], 256*kib)
	}
	var small loan
	m.tryTake(&small, 256*kib)
	m.give(&full[15])
	if ready(&small) {
		t.Fatalf("more than %d are looked at", lookahead)
	}
	m.leave(&large[1])
	if !ready(&small) {
		t.Error("it waits on though there is room for it, and nobody before it who could take it")
	}
}
