package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// badFrames are first bytes that get a connection closed.
var badFrames = map[string]struct {
	send string
	why  string
}{
	"negative size":   {"\xff\xff\xff\xff", "frame of -1 bytes"},
	"smallest size":   {"\x80\x00\x00\x00", "frame of -2147483648 bytes"},
	"size alone":      {"\x06\x40\x00\x01", "frame of 104857601 bytes is larger than socket.request.max.bytes 104857600"},
	"HTTP":            {"GET / HTTP/1.1\r\nHost: broker:9092\r\n\r\n", "HTTP on a port of Kafka (http.listen is the one for browsers)"},
	"HTTP/2":          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP on a port of Kafka (http.listen is the one for browsers)"},
	"TLS hello":       {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS on a port without TLS (security.protocol of the client)"},
	"refused by head": {"\x00\x00\x00\x08\x7f\xff\x00\x00rest", "api key 32767 is not served"},
}

func refuseHead(_ int, head []byte) error {
	if bytes.HasPrefix(head, []byte{0x7f, 0xff}) {
		return errors.New("api key 32767 is not served")
	}
	return nil
}

func TestBadFrames(t *testing.T) {
	for name, test := range badFrames {
		t.Run(name, func(t *testing.T) {
			core, logs := observer.New(zapcore.InfoLevel)
			r := prepare(t, testOptions(), &handler{serve: echo, admit: refuseHead}, zap.New(core))
			if err := r.Listen(); err != nil {
				t.Fatal(err)
			}
			r.run()
			for range 3 {
				c := r.dial()
				c.send([]byte(test.send))
				c.closed()
			}
			r.end()
			if got := r.value("kaasd_bad_frames_total", "PLAINTEXT"); got != 3 {
				t.Errorf("got %v bad frames counted, want 3", got)
			}
			lines := logs.FilterMessage("not a frame of Kafka, connection closed").All()
			if len(lines) != 1 {
				t.Fatalf("got %d log lines, want 1", len(lines))
			}
			fields := lines[0].ContextMap()
			if got := fields["error"]; got != test.why {
				t.Errorf("got %q, want %q", got, test.why)
			}
		})
	}
}

func TestCutOffFrames(t *testing.T) {
	whole := framed(bytes.Repeat([]byte("x"), 9000))
	for name, n := range map[string]int{"in the size": 3, "in the head": 6, "in the rest": 400, "in a large frame": 8000} {
		t.Run(name, func(t *testing.T) {
			r := start(t, testOptions(), &handler{serve: echo})
			c := r.dial()
			c.send(whole[:n])
			c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			c.closed()
			r.end()
			if got := r.value("kaasd_bad_frames_total", "PLAINTEXT"); got != 1 {
				t.Errorf("got %v bad frames counted, want 1", got)
			}
		})
	}
}

func TestSizesBeforeLogin(t *testing.T) {
	o := testOptions()
	r := start(t, o, &handler{serve: echo, strange: func() bool { return true }})
	c := r.dial()
	go c.Write(framed(make([]byte, o.MaxLoginBytes)))
	c.receive()
	c.send([]byte{0, 8, 0, 1})
	c.closed()
}

// TestOneBytePerSecond: a small frame has the idle limit, a large one must
// gain something, and neither disturbs the peer beside it.
func TestOneBytePerSecond(t *testing.T) {
	tests := map[string]struct {
		size   int
		closed time.Duration
	}{
		"small frame": {4000, time.Minute},
		"large frame": {5000, 10 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			o.IdleTimeout = time.Minute
			bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
				slow, good := r.pipe(), r.pipe()
				began := time.Now()
				frame := framed(make([]byte, test.size))
				slow.send(frame[:600])
				for _, b := range frame[600:] {
					if _, err := slow.Write([]byte{b}); err != nil {
						break
					}
					good.send(framed([]byte("ping")))
					if got := string(good.receive()); got != "ping" {
						t.Fatalf("got %q beside the slow peer", got)
					}
					time.Sleep(time.Second)
				}
				if took := time.Since(began); took < test.closed || took > test.closed+2*time.Second {
					t.Errorf("closed after %v, want %v", took, test.closed)
				}
			})
		})
	}
}

func TestSteadyLargeFramePasses(t *testing.T) {
	bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
		c := r.pipe()
		frame := framed(make([]byte, 2<<20))
		for len(frame) > 0 { // 20 KiB/s
			n := min(20<<10, len(frame))
			c.send(frame[:n])
			frame = frame[n:]
			time.Sleep(time.Second)
		}
		if got := len(c.receive()); got != 2<<20 {
			t.Errorf("got %d bytes", got)
		}
	})
}

// TestHeadIsWhole: a frame is judged by as much of its head as there is room for,
// however the peer cuts its bytes.
func TestHeadIsWhole(t *testing.T) {
	for _, size := range []int{1, 4, 300, 508, 509, 100_000} {
		var heads [][]byte
		h := &handler{serve: echo, admit: func(_ int, head []byte) error {
			heads = append(heads, bytes.Clone(head))
			return nil
		}}
		bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
			c, frame := r.pipe(), framed(bytes.Repeat([]byte("0123456789"), size)[:size])
			for i := 0; i < len(frame); i += 100 {
				c.send(frame[i:min(i+100, len(frame))])
			}
			c.receive()
			if want := frame[4:][:min(size, 508)]; len(heads) != 1 || !bytes.Equal(heads[0], want) {
				t.Errorf("%d bytes: admitted by %d heads, the first of %d bytes, want one of %d", size, len(heads), len(heads[0]), len(want))
			}
		})
	}
}

func TestIdleLimit(t *testing.T) {
	o := testOptions()
	o.IdleTimeout = time.Minute
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		c := r.pipe()
		time.Sleep(50 * time.Second)
		c.send(framed([]byte("a")))
		c.receive()
		began := time.Now()
		c.closed()
		if took := time.Since(began); took != time.Minute {
			t.Errorf("closed after %v, want the limit after the last answer", took)
		}
	})
}

func TestLoginLimit(t *testing.T) {
	bubble(t, testOptions(), &handler{serve: echo, strange: func() bool { return true }}, func(t *testing.T, r *rig) {
		c := r.pipe()
		began := time.Now()
		time.Sleep(20 * time.Second)
		c.send(framed([]byte("a")))
		c.receive()
		c.send(framed(make([]byte, 100<<10))[:50<<10])
		c.closed()
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("closed after %v, want 30s", took)
		}
	})
}

// TestMemoryPool: frames that the pool has no room for wait unread, the
// oldest of them goes on, and all are answered in the end.
func TestMemoryPool(t *testing.T) {
	o := testOptions()
	o.RequestMemory = 1 << 20
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		frame := framed(make([]byte, 600<<10))
		var all sync.WaitGroup
		for range 8 {
			c := r.pipe()
			all.Go(func() {
				go c.Write(frame)
				time.Sleep(time.Second) // answers wait, and with them the memory
				if got := len(c.receive()); got != 600<<10 {
					t.Errorf("got %d bytes", got)
				}
			})
		}
		synctest.Wait()
		if used, waiting := r.memory.members(); used > 1<<20 || waiting == 0 {
			t.Errorf("got %d bytes used and %d waiting", used, waiting)
		}
		all.Wait()
		synctest.Wait()
		if used, _ := r.memory.members(); used != 0 {
			t.Errorf("got %d bytes used in the end", used)
		}
	})
}

// TestDecodedFramesWeighMore: what becomes messages counts with what they take.
func TestDecodedFramesWeighMore(t *testing.T) {
	o := testOptions()
	o.RequestMemory = 256 << 20
	for _, c := range []struct {
		key  kafka.APIKey
		size int
		want int64
	}{
		{kafka.KeyProduce, 512 << 10, 512 << 10},
		{kafka.KeyFetch, 512 << 10, 8 << 20},
		{kafka.KeyFetch, 4 << 10, 60 << 10},
		{kafka.KeyFetch, headBytes, 0},
		{kafka.KeyMetadata, 512 << 10, 8 << 20},
		{kafka.KeyMetadata, 8 << 10, 128 << 10},
		{kafka.KeyMetadata, 4 << 10, 60 << 10},
		{kafka.KeyMetadata, headBytes, 0},
		{kafka.KeyProduce, 4 << 10, 0},
		{kafka.KeySASLAuthenticate, 512 << 10, 512 << 10},
	} {
		bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
			body := make([]byte, c.size)
			body[1] = byte(c.key)
			go r.pipe().Write(framed(body))
			synctest.Wait() // the answer waits, and with it the memory
			if used, _ := r.memory.members(); used != c.want {
				t.Errorf("%s: a frame of %d bytes counts as %d, want %d", c.key, len(body), used, c.want)
			}
		})
	}
}

// TestAnswersThatNobodyTakes: a request whose answer is not taken keeps its memory for
// as long as nobody waits for it, and then a second.
func TestAnswersThatNobodyTakes(t *testing.T) {
	const many, size = 12, 256 << 10 // of which 4 MiB are counted each, of 16
	bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
		body := make([]byte, size)
		body[1] = byte(kafka.KeyMetadata)
		go r.pipe().Write(framed(body))
		time.Sleep(20 * time.Second)
		if n := r.Connections(); n != 1 {
			t.Fatalf("%d connections, want the one whose memory nobody waits for", n)
		}
		for range many {
			go r.pipe().Write(framed(body))
		}
		synctest.Wait()
		began := time.Now()
		records := r.pipe()
		records.send(framed(make([]byte, 600<<10)))
		records.receive()
		if took := time.Since(began); took != 0 {
			t.Errorf("a Produce beside them took %v", took)
		}
		c := r.pipe()
		c.send(framed(body))
		if got := len(c.receive()); got != size {
			t.Errorf("got %d bytes", got)
		}
		if took := time.Since(began); took > many*takenIn {
			t.Errorf("a request behind %d whose answers nobody takes took %v", many, took)
		}
	})
}

// TestAnswersThatAreTakenSlowly: while others wait for its memory, a peer is given the
// time to take 64 KiB in a second.
func TestAnswersThatAreTakenSlowly(t *testing.T) {
	const size, step = 512 << 10, 80 << 10
	bubble(t, testOptions(), &handler{serve: echo}, func(t *testing.T, r *rig) {
		body := make([]byte, size)
		body[1] = byte(kafka.KeyMetadata)
		slow := r.pipe()
		go slow.Write(framed(body))
		time.Sleep(time.Second)
		for range 12 {
			go r.pipe().Write(framed(body))
		}
		for left := sizeBytes + size; left > 0; left -= min(left, step) {
			if _, err := io.ReadFull(slow, make([]byte, min(left, step))); err != nil {
				t.Fatalf("with %d bytes to come: %v", left, err)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestSmallFramesPassAFullPool: heartbeats do not wait behind large frames.
func TestSmallFramesPassAFullPool(t *testing.T) {
	o := testOptions()
	o.RequestMemory = 1 << 20
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		for range 8 {
			r.pipe().send(framed(make([]byte, 600<<10))[:256<<10])
		}
		c := r.pipe()
		c.send(framed([]byte("heartbeat")))
		if got := string(c.receive()); got != "heartbeat" {
			t.Errorf("got %q", got)
		}
	})
}

// TestFramesPassBegunOnes: a frame of 200 KiB is served at once while others are
// begun and stall. What is announced as large leaves room for it; and of the pool
// no more than half is lent in advance, however many there are.
func TestFramesPassBegunOnes(t *testing.T) {
	o := testOptions()
	o.RequestMemory = 4 << 20
	for name, begun := range map[string]struct{ number, size int }{"large": {40, 600 << 10}, "as large": {100, 200 << 10}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
				for range begun.number {
					r.pipe().send(framed(make([]byte, begun.size))[:1000])
				}
				synctest.Wait()
				began := time.Now()
				c := r.pipe()
				c.send(framed(make([]byte, 200<<10)))
				c.receive()
				if took := time.Since(began); took != 0 {
					t.Errorf("a frame of 200 KiB took %v", took)
				}
			})
		})
	}
}

// TestHurry: under pressure a frame may be as slow as lets it finish in 30 s.
func TestHurry(t *testing.T) {
	for size, want := range map[int]int{5 << 10: 48 << 10, 256 << 10: 48 << 10, 1 << 20: 1 << 20 / 10, 100 << 20: 160 << 10} {
		if got := hurryBytes(size); got != want {
			t.Errorf("a frame of %d bytes must gain %d, want %d", size, got, want)
		}
	}
}

// TestStalledFramesGiveWay: frames that hold memory and do not arrive lose it
// soon when others wait for it, and keep their 10 s when nobody does. Those that
// keep the pace stay.
func TestStalledFramesGiveWay(t *testing.T) {
	o := testOptions()
	o.RequestMemory = 1 << 20
	stalled := framed(make([]byte, 600<<10))[:1000]
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		paced, frame := r.pipe(), framed(make([]byte, 250<<10))
		var writing sync.WaitGroup
		defer writing.Wait()
		writing.Go(func() {
			for len(frame) > 0 {
				n := min(len(frame), 20<<10)
				paced.Write(frame[:n])
				frame = frame[n:]
				time.Sleep(time.Second)
			}
		})
		synctest.Wait() // it is lent all of its memory at once
		for range 4 {
			r.pipe().send(stalled)
		}
		synctest.Wait()
		began := time.Now()
		for range 4 { // the last of them finds no memory
			c := r.pipe()
			c.send(framed(make([]byte, 200<<10)))
			c.receive()
		}
		if took := time.Since(began); took > hurried+2*hurryEvery {
			t.Errorf("others waited %v", took)
		}
		if got := len(paced.receive()); got != 250<<10 {
			t.Errorf("the frame that kept the pace: %d bytes", got)
		}
	})
	bubble(t, o, &handler{serve: echo}, func(t *testing.T, r *rig) {
		began := time.Now()
		c := r.pipe()
		c.send(stalled)
		c.closed()
		if took := time.Since(began); took != paceWindow {
			t.Errorf("closed after %v, want %v", took, paceWindow)
		}
	})
}

// FuzzStream: however the bytes of a stream are cut, the frames are the same.
func FuzzStream(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04abcd\x00\x00\x00\x00\x00\x00\x00\x01x"), uint16(3))
	f.Add(append(framed(bytes.Repeat([]byte("y"), 700)), "\x00\x00\x12\x00rest"...), uint16(511))
	f.Add([]byte("\xff\xff\xff\xff"), uint16(1))
	f.Fuzz(func(t *testing.T, stream []byte, cut uint16) {
		want := splitFrames(stream)
		got := [][]byte{}
		var mu sync.Mutex
		h := &handler{serve: func(_ context.Context, r *Request) (Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, bytes.Clone(r.Frame))
			return Answer{Alone: true}, nil
		}}
		bubble(t, testOptions(), h, func(t *testing.T, r *rig) {
			c := r.pipe()
			for rest := stream; len(rest) > 0; {
				n := min(int(cut)+1, len(rest))
				if _, err := c.Write(rest[:n]); err != nil {
					break
				}
				rest = rest[n:]
			}
			c.Close()
			synctest.Wait()
		})
		if len(got) != len(want) {
			t.Fatalf("got %d frames, want %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("frame %d: got %x, want %x", i, got[i], want[i])
			}
		}
	})
}

// splitFrames is the plain way to cut a stream, up to what is refused.
func splitFrames(stream []byte) (all [][]byte) {
	r := bytes.NewReader(stream)
	for r.Len() >= 4 {
		var head [4]byte
		io.ReadFull(r, head[:])
		size := int(int32(uint32(head[0])<<24 | uint32(head[1])<<16 | uint32(head[2])<<8 | uint32(head[3])))
		if size < 0 || size > r.Len() || strings.HasPrefix(string(head[:]), "\x16\x03") {
			return all
		}
		body := make([]byte, size)
		io.ReadFull(r, body)
		all = append(all, body)
	}
	return all
}
