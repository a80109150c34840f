package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

func TestPercentile(t *testing.T) {
	var w waits
	for i := range 1000 {
		w.All = append(w.All, time.Duration(1000-i)*time.Millisecond)
	}
	for p, want := range map[float64]time.Duration{50: 501 * time.Millisecond, 99: 991 * time.Millisecond, 100: time.Second} {
		if got := w.percentile(p); got != want {
			t.Errorf("of %v %%: got %v, want %v", p, got, want)
		}
	}
	if got := (waits{}).percentile(99); got != longest {
		t.Errorf("without an answer: got %v, want the longest wait", got)
	}
}

// The sink answers every frame, a fetch with a megabyte, and lets no more in than
// it is told.
func TestSink(t *testing.T) {
	stop, stdin := io.Pipe()
	stdout, told := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- sink([]string{"2"}, stop, told) }()
	lines := make([]byte, 0, 100)
	for strings.Count(string(lines), "\n") < 3 {
		n, err := stdout.Read(lines[len(lines):cap(lines)])
		if err != nil {
			t.Fatal(err)
		}
		lines = lines[:len(lines)+n]
	}
	address, _, _ := strings.Cut(string(lines), "\n")
	s, err := connect(address)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[kafka.APIKey]int{kafka.KeyProduce: 4, kafka.KeyFetch: fetched} {
		answer, err := s.ask(sized(head(key, 9), make([]byte, 1000)))
		if err != nil || len(answer) != want || answer[3] != 1 {
			t.Errorf("%v: an answer of %d bytes, %v", key, len(answer), err)
		}
	}
	second, err := connect(address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.ask(sized(head(kafka.KeyProduce, 9))); err != nil {
		t.Error(err)
	}
	third, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := third.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("the third connection: %d bytes, %v", n, err)
	}
	for _, nc := range []net.Conn{s.nc, second.nc, third} {
		nc.Close()
	}
	stdin.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestReportFindsFaults(t *testing.T) {
	at := func(wait time.Duration, grown, held int64) figures {
		return figures{counts: counts{Held: held}, waits: waits{All: []time.Duration{wait}}, grown: grown}
	}
	r := report{options: options{times: 3, memory: 200 << 20}}
	r.add(outcome{attack: attack{name: "silence"}, sink: at(ms, 0, 10_000), broker: at(2*ms, 80_000_000, 10_000)})
	if r.perConnection != 8000 || len(r.faults) != 0 {
		t.Errorf("a connection costs %d bytes, faults %v", r.perConnection, r.faults)
	}
	r.add(outcome{attack: attack{name: "held"}, sink: at(ms, 0, 10_000), broker: at(3*ms, 250<<20, 10_000)})
	if len(r.faults) != 0 {
		t.Errorf("what is allowed: %v", r.faults)
	}
	r.add(outcome{attack: attack{name: "slow"}, sink: at(ms, 0, 0), broker: at(4*ms, 0, 0)})
	r.add(outcome{attack: attack{name: "large"}, sink: at(ms, 0, 0), broker: at(ms, 201<<20, 0)})
	if len(r.faults) != 2 || r.judge() == nil {
		t.Errorf("want two faults, got %v", r.faults)
	}
}

const ms = time.Millisecond

// What the attacks throw is what they say it is.
func TestBombs(t *testing.T) {
	hello := must(clientHello())
	if len(hello) < 100 || hello[0] != 0x16 {
		t.Errorf("a handshake begins with %x", hello[:min(len(hello), 5)])
	}
	for c, size := range map[record.Codec]int{record.Zstd: inflated, record.Snappy: 12 << 20} {
		if got := len(compressed(c, size, tooLate)); got > 1<<20 {
			t.Errorf("%s: %d bytes", c, got)
		}
	}
	for _, a := range attacks() {
		if a.begin == nil || a.does == "" || a.refuses == "" {
			t.Errorf("%s is not whole", a.name)
		}
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"--only", "silence,bombs", "--connections", "5"})
	if err != nil || len(o.only) != 2 || o.connections != 5 {
		t.Errorf("got %+v, %v", o, err)
	}
	if _, err := parse([]string{"--only", "prayer"}); err == nil {
		t.Error("an attack that does not exist was taken")
	}
}
