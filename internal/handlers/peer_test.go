package handlers

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"kaasd/internal/auth"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// peer is one connection to a rig.
type peer struct {
	t        testing.TB
	ctx      context.Context // of the connection
	session  server.Session
	clientID string
	next     int32
	last     server.Answer // what came with the last response
	reading  time.Duration // what it takes to read a request
}

func (r *rig) connect(l server.Listener) *peer {
	remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4711}
	session, err := r.Connect(server.Conn{ID: 1, Listener: l, Remote: remote, Local: remote})
	if err != nil {
		r.t.Fatal(err)
	}
	return &peer{t: r.t, ctx: r.t.Context(), clientID: "tester", session: session}
}

// connectAs is a connection of a user whose password ends with -secret.
func (r *rig) connectAs(user string) *peer {
	p := r.connect(saslListener)
	handshake(p, 1, auth.Plain)
	if resp := authenticate(p, 2, "\x00"+user+"\x00"+user+"-secret"); resp.ErrorCode != kafka.NoError {
		r.t.Fatalf("%s cannot log in: %s", user, resp.ErrorCode)
	}
	return p
}

// exchange sends a frame without its size and gives the answer's, or nil when
// there is none. The error is that of a connection that is closed.
func (p *peer) exchange(frame []byte) ([]byte, error) {
	p.t.Helper()
	if _, err := p.session.Admit(len(frame), head(frame)); err != nil {
		return nil, err
	}
	answer, err := p.session.Serve(p.ctx, &server.Request{Frame: frame, Received: time.Now(), Read: p.reading})
	p.last = answer
	if err != nil {
		return nil, err
	}
	if answer.Wait != nil {
		if err := answer.Wait(p.ctx); err != nil {
			return nil, err
		}
	}
	if answer.Payload == nil {
		return nil, nil
	}
	defer answer.Payload.Release()
	var wire bytes.Buffer
	if _, err := answer.Payload.WriteTo(&wire); err != nil {
		return nil, err
	}
	if got := binary.BigEndian.Uint32(wire.Bytes()); int(got) != wire.Len()-4 || answer.Payload.Size() != wire.Len() {
		p.t.Errorf("a frame of %d bytes says that it has %d", wire.Len(), got)
	}
	return wire.Bytes()[4:], nil
}

// head is what a frame is admitted by.
func head(frame []byte) []byte { return frame[:min(len(frame), 508)] }

// frame is a request as it comes from the wire, without its size.
func (p *peer) frame(key kafka.APIKey, version int16, req codec.Message) []byte {
	p.t.Helper()
	p.next++
	api, _ := message.Lookup(key)
	h := codec.RequestHeader{Key: key, Version: version, CorrelationID: p.next, ClientID: p.clientID, HasClientID: true}
	frame, err := codec.EncodeRequest(h, api.IsFlexible(version), req)
	if err != nil {
		p.t.Fatal(err)
	}
	return frame[4:]
}

// reply is an answer, taken apart.
type reply struct {
	server.Answer
	message codec.Message // nil: nothing was written
	size    int           // header and body, in bytes
	request int           // the same of the request
	at      time.Time
}

// muted is how long the connection is not read.
func (r reply) muted() time.Duration {
	if r.Mute == nil {
		return 0
	}
	return r.Mute.Remaining(r.at)
}

// muteOf is how long a connection is not read from now on.
func muteOf(a server.Answer) time.Duration { return reply{Answer: a, at: time.Now()}.muted() }

// ask sends a request and reads its answer, if there is one, whose commit is
// waited for.
func (p *peer) ask(key kafka.APIKey, version int16, req codec.Message) reply {
	p.t.Helper()
	r, err := p.try(key, version, req)
	if err != nil {
		p.t.Fatalf("%s v%d: %v", key, version, err)
	}
	return r
}

// try is ask for a request that may end the connection.
func (p *peer) try(key kafka.APIKey, version int16, req codec.Message) (reply, error) {
	p.t.Helper()
	frame := p.frame(key, version, req)
	answer, err := p.exchange(frame)
	r := reply{Answer: p.last, size: len(answer), request: len(frame), at: time.Now()}
	if err != nil || answer == nil {
		return r, err
	}
	api, _ := message.Lookup(key)
	r.message = api.NewResponse()
	p.read(answer, key, version, r.message)
	return r, nil
}

// get is ask for a request that must be answered, with the message read into
// resp.
func (p *peer) get(key kafka.APIKey, version int16, req, resp codec.Message) {
	p.t.Helper()
	frame, err := p.exchange(p.frame(key, version, req))
	if err != nil || frame == nil {
		p.t.Fatalf("%s v%d: answered %v, %v", key, version, frame != nil, err)
	}
	p.read(frame, key, version, resp)
}

func (p *peer) read(frame []byte, key kafka.APIKey, version int16, resp codec.Message) {
	p.t.Helper()
	api, _ := message.Lookup(key)
	h, body, err := codec.ParseResponseHeader(frame, api.FlexibleResponseHeader(version))
	if err != nil || h.CorrelationID != p.next {
		p.t.Fatalf("request %d got the answer header %+v: %v", p.next, h, err)
	}
	if err := codec.Decode(body, version, api.IsFlexible(version), resp, 1<<30); err != nil {
		p.t.Fatal(err)
	}
}

// produce appends one batch and gives what the answer says of it.
func (p *peer) produce(version int16, topic string, id kafka.TopicID, records []byte) message.ProduceResponsePartition {
	p.t.Helper()
	r := p.ask(kafka.KeyProduce, version, produceTo(topic, id, 0, -1, records))
	return r.message.(*message.ProduceResponse).Responses[0].PartitionResponses[0]
}

// fetched asks for the one partition of a request.
func (p *peer) fetched(version int16, req *message.FetchRequest) message.FetchResponsePartition {
	p.t.Helper()
	resp := p.ask(kafka.KeyFetch, version, req).message.(*message.FetchResponse)
	if resp.ErrorCode != kafka.NoError || len(resp.Responses) != 1 || len(resp.Responses[0].Partitions) != 1 {
		p.t.Fatalf("fetch v%d: %+v", version, resp)
	}
	return resp.Responses[0].Partitions[0]
}
