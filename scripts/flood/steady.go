package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

const (
	every  = 10 * time.Millisecond // from one request of the steady client to the next
	amount = 8 << 10               // bytes of a record
	topic  = "steady"
	// longest is how long the steady client waits for an answer.
	longest = 60 * time.Second
)

// waits are how long the steady client waited, each from when it was due to ask.
type waits struct {
	All     []time.Duration `json:"all"`
	Refused int             `json:"refused"` // answers with an error
}

// percentile is the wait that so many of a hundred are below.
func (w waits) percentile(p float64) time.Duration {
	if len(w.All) == 0 {
		return longest
	}
	all := slices.Sorted(slices.Values(w.All))
	return all[min(int(float64(len(all))*p/100), len(all)-1)]
}

// client is the steady client, a process.
type client struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

// ready is what the steady client says once it has its first answer.
const ready = "ready"

// startClient runs this program as the steady client of a target, and waits
// until it is served: attacks on the limits of connections must not keep it out.
func startClient(t *target) (*client, error) {
	kind := "sink"
	if t.http != "" {
		kind = "kaasd"
	}
	c := &client{cmd: exec.Command("/proc/self/exe", "steady", t.plain, kind)}
	c.cmd.Stderr = os.Stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdout = bufio.NewReader(stdout)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if line, err := c.stdout.ReadString('\n'); line != ready+"\n" {
		return nil, errors.Join(fmt.Errorf("the steady client is not served: it says %q", line), err, c.cmd.Wait())
	}
	return c, nil
}

// begin says that from now on the waits count.
func (c *client) begin() error {
	_, err := c.stdin.Write([]byte("b"))
	return err
}

// end gives the waits.
func (c *client) end() (w waits, err error) {
	c.stdin.Close()
	err = json.NewDecoder(c.stdout).Decode(&w)
	return w, errors.Join(err, c.cmd.Wait())
}

// steady is the process: it asks until its input ends, and prints the waits
// since the first byte came.
func steady(args []string, in io.Reader, out io.Writer) error {
	s, err := connect(args[0])
	if err != nil {
		return err
	}
	defer s.nc.Close()
	if args[1] == "kaasd" {
		if err := s.newTopic(topic, 1); err != nil {
			return err
		}
	}
	frame, err := produce(topic, record.NewBuilder(record.None).Add(time.Now().UnixMilli(), nil, make([]byte, amount)).Batch())
	if err != nil {
		return err
	}
	if _, err := s.ask(frame); err != nil {
		return fmt.Errorf("the steady client's first request: %w", err)
	}
	fmt.Fprintln(out, ready)
	w, err := s.produceAll(frame, heard(in))
	return errors.Join(err, json.NewEncoder(out).Encode(w))
}

// heard gives something when a byte comes, and is closed at the end.
func heard(in io.Reader) <-chan bool {
	came := make(chan bool)
	go func() {
		defer close(came)
		var one [1]byte
		for {
			if n, err := in.Read(one[:]); err != nil {
				return
			} else if n > 0 {
				came <- true
			}
		}
	}()
	return came
}

// session is one connection and what it says.
type session struct {
	nc     net.Conn
	reader *bufio.Reader
}

func connect(address string) (session, error) {
	nc, err := net.Dial("tcp", address)
	return session{nc: nc, reader: bufio.NewReader(nc)}, err
}

func (s session) produceAll(frame []byte, came <-chan bool) (w waits, err error) {
	counts := false
	for due := time.Now(); ; due = due.Add(every) {
		select {
		case _, more := <-came:
			if !more {
				return w, nil
			}
			counts = true
		default:
		}
		time.Sleep(time.Until(due))
		answer, err := s.ask(frame)
		if err != nil {
			return w, fmt.Errorf("the steady client, %d answers in: %w", len(w.All), err)
		}
		if counts {
			w.All = append(w.All, time.Since(due))
			w.Refused += refused(answer)
		}
	}
}

// refused is 1 when an answer to Produce has an error. That of the sink has
// none.
func refused(answer []byte) int {
	var resp message.ProduceResponse
	if len(answer) <= 4 || codec.Decode(answer[5:], produceVersion, true, &resp, largestFrame) == nil && resp.Responses[0].PartitionResponses[0].ErrorCode == kafka.NoError {
		return 0
	}
	return 1
}

// ask sends a frame and takes what comes back.
func (s session) ask(frame []byte) ([]byte, error) {
	if err := s.nc.SetDeadline(time.Now().Add(longest)); err != nil {
		return nil, err
	}
	if _, err := s.nc.Write(frame); err != nil {
		return nil, err
	}
	return readFrame(s.reader)
}

// readFrame reads an answer, without its size.
func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > largestFrame {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(r, answer)
	return answer, err
}

func (s session) newTopic(name string, partitions int32) error {
	frame, err := encode(kafka.KeyCreateTopics, 7, &message.CreateTopicsRequest{TimeoutMs: 30_000,
		Topics: []message.CreateTopicsTopic{{Name: name, NumPartitions: partitions, ReplicationFactor: 1}}})
	if err != nil {
		return err
	}
	_, err = s.ask(frame)
	return err
}

const produceVersion = 9

func produce(topic string, batch record.Batch) ([]byte, error) {
	return encode(kafka.KeyProduce, produceVersion, &message.ProduceRequest{Acks: -1, TimeoutMs: 30_000,
		TopicData: []message.ProduceTopic{{Name: topic, PartitionData: []message.ProducePartition{{Records: codec.Records{Bytes: batch}}}}}})
}

func encode(key kafka.APIKey, version int16, m codec.Message) ([]byte, error) {
	api, _ := message.Lookup(key)
	return codec.EncodeRequest(codec.RequestHeader{Key: key, Version: version, CorrelationID: 1, ClientID: "flood", HasClientID: true}, api.IsFlexible(version), m)
}
