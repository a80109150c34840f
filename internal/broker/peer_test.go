package broker_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// patience is the deadline of everything that must happen. It is generous:
// what is waited for comes at once on an idle machine.
const patience = 30 * time.Second

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	late := time.After(patience)
	for !holds() {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// peer is a client that says exactly what it is told to, by hand.
type peer struct {
	t testing.TB
	net.Conn
	clientID    string
	anonymous   bool // no client id at all
	correlation int32
	asked       []asked // what is still to be answered, in order
}

type asked struct {
	api         message.API
	version     int16
	correlation int32
}

func dial(t testing.TB, address string) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &peer{t: t, Conn: conn, clientID: "peer"}
}

// apiOf finds the API by the type of its request or response.
func apiOf(t testing.TB, m codec.Message) message.API {
	t.Helper()
	for _, api := range message.APIs() {
		if kind := reflect.TypeOf(m); kind == reflect.TypeOf(api.NewRequest()) || kind == reflect.TypeOf(api.NewResponse()) {
			return api
		}
	}
	t.Fatalf("%T is no message of an API", m)
	return message.API{}
}

// send writes a request and does not wait for its answer. It gives the bytes
// that a quota charges for it: the frame without its size.
func (p *peer) send(version int16, m codec.Message) int {
	p.t.Helper()
	frame := p.frame(version, m)
	api := apiOf(p.t, m)
	p.asked = append(p.asked, asked{api: api, version: version, correlation: p.correlation})
	p.raw(frame)
	return len(frame) - 4
}

// frame makes the bytes of the next request.
func (p *peer) frame(version int16, m codec.Message) []byte {
	p.t.Helper()
	p.correlation++
	api := apiOf(p.t, m)
	h := codec.RequestHeader{Key: api.Key, Version: version, CorrelationID: p.correlation, ClientID: p.clientID, HasClientID: !p.anonymous}
	frame, err := codec.EncodeRequest(h, api.IsFlexible(version), m)
	if err != nil {
		p.t.Fatalf("encode %T version %d: %v", m, version, err)
	}
	return frame
}

// frameOf makes the bytes of the next request around a body.
func (p *peer) frameOf(api message.API, version int16, body []byte) []byte {
	p.t.Helper()
	p.correlation++
	h := codec.RequestHeader{Key: api.Key, Version: version, CorrelationID: p.correlation, ClientID: p.clientID, HasClientID: !p.anonymous}
	head, err := codec.EncodeRequest(h, api.IsFlexible(version), noFields{})
	if err != nil {
		p.t.Fatalf("encode a header: %v", err)
	}
	if api.IsFlexible(version) {
		head = head[:len(head)-1] // the tags of the empty body
	}
	frame := append(head, body...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// noFields is the message of an empty body.
type noFields struct{}

func (noFields) Fields(*codec.Cursor) {}

func (p *peer) raw(b []byte) {
	p.t.Helper()
	if err := p.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.Write(b); err != nil {
		p.t.Fatalf("write: %v", err)
	}
}

// forget says that the request that was sent last is not answered (acks=0).
func (p *peer) forget() { p.asked = p.asked[:len(p.asked)-1] }

// read takes the answer to the oldest request that has none.
func (p *peer) read(m codec.Message) {
	p.t.Helper()
	next := p.asked[0]
	p.asked = p.asked[1:]
	if want := reflect.TypeOf(next.api.NewResponse()); reflect.TypeOf(m) != want {
		p.t.Fatalf("the next answer is a %v, not a %T", want, m)
	}
	body := p.answer(next.correlation)
	if next.api.FlexibleResponseHeader(next.version) {
		if body[0] != 0 {
			p.t.Fatalf("the header of the answer has %d tags", body[0])
		}
		body = body[1:]
	}
	if err := codec.Decode(body, next.version, next.api.IsFlexible(next.version), m, math.MaxInt); err != nil {
		p.t.Fatalf("decode %T: %v", m, err)
	}
}

// answer takes one frame and gives what follows the correlation id.
func (p *peer) answer(correlation int32) []byte {
	p.t.Helper()
	frame := p.readFrame()
	if len(frame) < 4 {
		p.t.Fatalf("the answer has %d bytes", len(frame))
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != correlation {
		p.t.Fatalf("got the answer to request %d, want that to %d", got, correlation)
	}
	return frame[4:]
}

func (p *peer) readFrame() []byte {
	p.t.Helper()
	frame, err := p.frameOrEnd()
	if err != nil {
		p.t.Fatalf("read an answer: %v", err)
	}
	return frame
}

// frameOrEnd takes one frame from a connection that may end.
func (p *peer) frameOrEnd() ([]byte, error) {
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(p, size[:]); err != nil {
		return nil, fmt.Errorf("the size: %w", err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(p, frame); err != nil {
		return nil, fmt.Errorf("%d bytes: %w", len(frame), err)
	}
	return frame, nil
}

// ended says that the broker closes the connection without another byte.
func (p *peer) ended() error {
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	var one [1]byte
	switch n, err := p.Read(one[:]); {
	case n > 0:
		return fmt.Errorf("got byte %#x, want the end of the connection", one[0])
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the connection was still open after %v", patience)
	default:
		return err
	}
}

// mustEnd fails the test unless the broker closes the connection.
func (p *peer) mustEnd() {
	p.t.Helper()
	if err := p.ended(); err != nil {
		p.t.Error(err)
	}
}

// call sends a request and waits for its answer.
func call[Resp any, M interface {
	*Resp
	codec.Message
}](p *peer, version int16, req codec.Message) *Resp {
	p.t.Helper()
	p.send(version, req)
	var resp Resp
	p.read(M(&resp))
	return &resp
}

func ptr[T any](v T) *T { return &v }

// versions asks for the APIs, the request that is always in order.
func (p *peer) versions() *message.ApiVersionsResponse {
	p.t.Helper()
	return call[message.ApiVersionsResponse](p, 0, &message.ApiVersionsRequest{})
}

// flexibleVersions asks for the APIs in a version that tells features too.
func (p *peer) flexibleVersions() *message.ApiVersionsResponse {
	p.t.Helper()
	return call[message.ApiVersionsResponse](p, 4, &message.ApiVersionsRequest{ClientSoftwareName: "peer", ClientSoftwareVersion: "1"})
}

// newTopic makes a topic of one partition and gives its id.
func (p *peer) newTopic(name string, configs ...message.CreateTopicsConfig) kafka.TopicID {
	p.t.Helper()
	resp := call[message.CreateTopicsResponse](p, 7, &message.CreateTopicsRequest{
		Topics:    []message.CreateTopicsTopic{{Name: name, NumPartitions: 1, ReplicationFactor: 1, Configs: configs}},
		TimeoutMs: 30_000,
	})
	if got := resp.Topics[0]; got.ErrorCode != kafka.NoError {
		p.t.Fatalf("create topic %s: %s", name, got.ErrorCode)
	}
	return resp.Topics[0].TopicID
}

// isReset says whether a connection was closed before everything sent to it was
// read.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// drain says no more, and takes whatever comes until the broker closes.
func (p *peer) drain() {
	p.t.Helper()
	_ = p.Conn.(*net.TCPConn).CloseWrite()
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, p); err != nil && !isReset(err) {
		p.t.Fatalf("read to the end: %v", err)
	}
}
