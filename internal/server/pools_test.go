package server

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

// state is what of a pool is used, and how many frames wait for more.
func (m *memory) state() (used int64, waiting int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.waiting
}

// lent is what all hold, who is outside the pool among them.
func (m *memory) lent() (bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.holders {
		bytes += h.held
	}
	return bytes
}

// members is that of what is not for strangers.
func (p pools) members() (used int64, waiting int) {
	records, first := p.records.state()
	questions, second := p.questions.state()
	return records + questions, first + second
}

func TestPools(t *testing.T) {
	for limit, want := range map[int64][3]int64{1 << 20: {256 << 10, 512 << 10, 256 << 10}, 64 << 20: {8 << 20, 40 << 20, 16 << 20}} {
		p := newPools(limit)
		if got := [3]int64{p.strangers.limit, p.records.limit, p.questions.limit}; got != want {
			t.Errorf("of %d: %d for strangers, records and questions, want %d", limit, got, want)
		}
	}
}

// TestStrangersDelayNobody: who is not logged in fills a pool that is not the others',
// and what waits for memory there has those alone give way that hold some of it.
func TestStrangersDelayNobody(t *testing.T) {
	var strange atomic.Bool
	var ended atomic.Int32 // parked requests
	h := &handler{strange: strange.Load}
	h.serve = func(ctx context.Context, r *Request) (Answer, error) {
		if r.Frame[2] == 'p' {
			parked, resume := r.Park(ctx)
			defer resume()
			<-parked.Done()
			ended.Add(1)
		}
		return reply([]byte("done")), nil
	}
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		parked, stalled := r.pipe(), r.pipe()
		parked.send(framed(append([]byte("\x00\x01p"), make([]byte, 200<<10)...)))
		stalled.send(framed(make([]byte, 600<<10))[:1000])
		synctest.Wait()
		began := time.Now()
		strange.Store(true)
		for range 60 {
			go r.pipe().Write(framed(make([]byte, 512<<10))[:300<<10])
		}
		synctest.Wait()
		if _, waiting := r.memory.strangers.state(); waiting == 0 {
			t.Error("the strangers have memory for all that they began")
		}
		strange.Store(false)
		c := r.pipe()
		c.send(framed(make([]byte, 600<<10)))
		c.receive()
		if took := time.Since(began); took != 0 {
			t.Errorf("a frame of somebody who is logged in took %v", took)
		}
		stalled.closed()
		if took := time.Since(began); took != paceWindow {
			t.Errorf("a frame that stalls where nobody waits for memory was ended after %v, want %v", took, paceWindow)
		}
		if used, _ := r.memory.members(); ended.Load() > 0 || used != decodedWeight*256<<10 {
			t.Errorf("%d parked requests were ended, %d bytes are taken, want none, and its piece", ended.Load(), used)
		}
	})
}

// TestQuestionsOfOthers: beside somebody whose hundreds of connections take no answers,
// others wait for memory a few times as long as one of them may hold it: once for each
// step in which their frame gets it.
func TestQuestionsOfOthers(t *testing.T) {
	var name atomic.Value
	name.Store("mallory")
	h := &handler{serve: echo, name: func() string { return name.Load().(string) }}
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		question := func(size int) []byte {
			return framed(append([]byte{0, byte(kafka.KeyMetadata)}, make([]byte, size)...))
		}
		for range 300 {
			go r.pipe().Write(question(255 << 10))
		}
		synctest.Wait()
		if _, waiting := r.memory.questions.state(); waiting < 100 {
			t.Fatalf("%d wait for memory", waiting)
		}
		name.Store("alice")
		began := time.Now()
		c := r.pipe()
		c.send(question(100 << 10))
		c.receive()
		if took := time.Since(began); took > 3*takenIn {
			t.Errorf("a question of somebody else took %v", took)
		}
	})
}

// TestBegunFramesHoldNothing: who stalls in a small frame that came while nobody waited
// holds no memory.
func TestBegunFramesHoldNothing(t *testing.T) {
	bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
		question := framed(append([]byte{0, byte(kafka.KeyMetadata)}, make([]byte, smallFrame-2)...))
		for range 400 {
			r.pipe().send(question[:1000])
		}
		synctest.Wait()
		if used, waiting := r.memory.members(); used != 0 || waiting != 0 {
			t.Errorf("frames that are begun hold %d bytes, %d wait", used, waiting)
		}
		began := time.Now()
		c := r.pipe()
		c.send(question)
		c.receive()
		if took := time.Since(began); took != 0 {
			t.Errorf("a whole one took %v", took)
		}
	})
}

// TestFramesWaitUnread: a small frame that waits for memory behind others is not read
// before it has it; and one that stalls then holds it for a moment only, and is served when
// it is there.
func TestFramesWaitUnread(t *testing.T) {
	question := framed(append([]byte{0, byte(kafka.KeyMetadata)}, make([]byte, smallFrame-2)...))
	var free chan struct{}
	h := &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		if r.Frame[2] == 'f' {
			<-free
		}
		return reply([]byte("done")), nil
	}}
	bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
		free = make(chan struct{})
		for range r.memory.questions.limit/(smallFrame*(decodedWeight-1)) + 2 { // one more is seated, and one waits
			c := r.pipe()
			go c.Write(framed(append([]byte{0, byte(kafka.KeyMetadata), 'f'}, make([]byte, smallFrame-3)...)))
			go io.Copy(io.Discard, c)
		}
		synctest.Wait()
		if _, waiting := r.memory.questions.state(); waiting == 0 {
			t.Error("nobody waits for memory")
		}
		whole, stalled := r.pipe(), r.pipe()
		var written atomic.Bool
		go func() {
			whole.Write(question)
			written.Store(true)
		}()
		go stalled.Write(question[:1000])
		time.Sleep(time.Second)
		synctest.Wait()
		if written.Load() {
			t.Error("a frame was read before there was memory for it")
		}
		close(free)
		synctest.Wait()
		if got := string(whole.receive()); got != "done" {
			t.Errorf("got %q", got)
		}
		if r.memory.questions.lent() == 0 {
			t.Error("the frame that stalls was lent nothing")
		}
		time.Sleep(smallTime)
		synctest.Wait()
		if lent := r.memory.questions.lent(); lent != 0 {
			t.Errorf("it holds %d bytes after %v", lent, smallTime)
		}
		go stalled.Write(question[1000:])
		if got := string(stalled.receive()); got != "done" {
			t.Errorf("when it was there: %q", got)
		}
	})
}

// TestSlowFramesOfWeightOne: what holds no memory may stall as long as where nobody waits.
func TestSlowFramesOfWeightOne(t *testing.T) {
	for _, key := range []kafka.APIKey{kafka.KeyProduce, kafka.KeySASLAuthenticate} {
		bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
			frame := framed(append([]byte{0, byte(key)}, make([]byte, 2000)...))
			m := r.memory.of(&session{handler: &handler{}}, frame[sizeBytes:])
			for !m.short() {
				m.tryTake(&loan{}, m.share)
			}
			c := r.pipe()
			go func() {
				c.Write(frame[:1000])
				time.Sleep(10 * smallTime)
				c.Write(frame[1000:])
			}()
			if _, err := readFrame(c); err != nil {
				t.Errorf("key %d: %v", key, err)
			}
		})
	}
}

// TestKeep: a request that waits gives back what it does not need for that, and no more
// than its frame holds.
func TestKeep(t *testing.T) {
	h := &handler{serve: func(ctx context.Context, r *Request) (Answer, error) {
		r.Keep(10 << 10)
		parked, resume := r.Park(ctx)
		defer resume()
		<-parked.Done()
		return reply(nil), nil
	}}
	for size, want := range map[int]int64{headBytes: 0, 4 << 10: 10 << 10, 200 << 10: 10 << 10} {
		bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
			go r.pipe().Write(framed(append([]byte{0, byte(kafka.KeyFetch)}, make([]byte, size-2)...)))
			synctest.Wait()
			if used, _ := r.memory.members(); used != want {
				t.Errorf("of a frame of %d bytes %d are kept, want %d", size, used, want)
			}
		})
	}
}
