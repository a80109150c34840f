package handlers

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// begin serves a request that waits, in a bubble, and has its frame overwritten as
// soon as the server has it back. finish gives the answer.
func (p *peer) begin(key kafka.APIKey, version int16, req codec.Message) (finish func(resp codec.Message)) {
	p.t.Helper()
	frame := p.frame(key, version, req)
	r, served := &server.Request{Frame: frame, Received: time.Now()}, make(chan error, 1)
	var wire bytes.Buffer
	go func() {
		answer, err := p.session.Serve(p.ctx, r)
		if err == nil {
			_, err = answer.Payload.WriteTo(&wire)
			answer.Payload.Release()
		}
		served <- err
	}()
	synctest.Wait()
	if len(served) > 0 {
		p.t.Fatalf("%s does not wait", key)
	}
	if r.Frame != nil {
		p.t.Errorf("%s holds its frame while it waits", key)
	}
	copy(frame, bytes.Repeat([]byte{0xee}, len(frame)))
	return func(resp codec.Message) {
		if err := <-served; err != nil {
			p.t.Fatal(err)
		}
		p.read(wire.Bytes()[4:], key, version, resp)
	}
}

// TestMembersThatWaitDropTheirFrames: the memory of requests is for those that go on.
// What the group knows of the members is not in it.
func TestMembersThatWaitDropTheirFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		first, second := r.connect(plainListener), r.connect(plainListener)
		leader := first.newMember(9, reader("g", "")).MemberID
		asked := second.ask(kafka.KeyJoinGroup, 9, reader("g", "")).message.(*message.JoinGroupResponse)
		joining := second.begin(kafka.KeyJoinGroup, 9, reader("g", asked.MemberID))
		led := first.newMember(9, reader("g", leader))
		var joined message.JoinGroupResponse
		if joining(&joined); joined.ErrorCode != kafka.NoError || joined.GenerationID != led.GenerationID {
			t.Fatalf("%+v", joined)
		}
		if len(led.Members) != 2 {
			t.Fatalf("%+v", led)
		}
		for _, m := range led.Members {
			if want := reader("g", "").Protocols[0].Metadata; !bytes.Equal(m.Metadata, want) {
				t.Errorf("the group knows %s by %x, want %x", m.MemberID, m.Metadata, want)
			}
		}
		sync := &message.SyncGroupRequest{GroupID: "g", GenerationID: led.GenerationID, MemberID: joined.MemberID,
			ProtocolType: ptr("consumer"), ProtocolName: ptr("range")}
		syncing := second.begin(kafka.KeySyncGroup, 5, sync)
		sync.MemberID = leader
		sync.Assignments = []message.SyncGroupAssignment{{MemberID: joined.MemberID, Assignment: []byte("partition 7")}}
		first.ask(kafka.KeySyncGroup, 5, sync)
		var synced message.SyncGroupResponse
		if syncing(&synced); synced.ErrorCode != kafka.NoError || string(synced.Assignment) != "partition 7" {
			t.Errorf("%+v", synced)
		}
	})
}

// TestFetchesThatWaitGiveWay: beside large fetches that wait for ever others get
// memory, the fetches with what there is.
func TestFetchesThatWaitGiveWay(t *testing.T) {
	r := newRig(t)
	id := r.topic("orders", 2).ID
	address := r.listen(1 << 20)
	answered := make(chan error, 6)
	for range cap(answered) {
		req := fetchFrom("", id, 0, 0)
		req.MaxWaitMs, req.MinBytes, req.SessionEpoch = math.MaxInt32, 1, -1
		req.RackID = strings.Repeat("x", 30_000)
		for range 12_000 {
			req.ForgottenTopicsData = append(req.ForgottenTopicsData, message.FetchForgottenTopic{})
		}
		frame := r.connect(plainListener).frame(kafka.KeyFetch, 13, req)
		go func() { answered <- roundTrip(address, frame) }()
	}
	if err := <-answered; err != nil { // there is memory for four of them
		t.Fatal(err)
	}
	if err := roundTrip(address, r.connect(plainListener).frame(kafka.KeyProduce, 13, produceTo("", id, 1, -1, sized(600_000)))); err != nil {
		t.Error(err)
	}
}

// listen has the rig served by a server on loopback, and gives its address.
func (r *rig) listen(memory int64) string {
	r.t.Helper()
	o := server.DefaultOptions()
	o.RequestMemory = memory
	o.Listeners = []server.Listener{{Name: "PLAINTEXT", Protocol: server.Plaintext, Address: "127.0.0.1:0"}}
	s := server.New(o, r.Handlers, zap.NewNop(), prometheus.NewRegistry())
	if err := s.Listen(); err != nil {
		r.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r.t.Cleanup(func() {
		stop()
		<-done
	})
	return s.Listeners()[0].Address
}

// roundTrip sends a frame and takes its answer, on a connection of its own.
func roundTrip(address string, frame []byte) error {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(20 * time.Second)) // against a test that hangs
	if _, err := nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
		return err
	}
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, nc, int64(binary.BigEndian.Uint32(size[:])))
	return err
}

// TestFetchesDropTheirFrames: records may be on their way for long, and a peer that
// takes them slowly holds no memory that others wait for.
func TestFetchesDropTheirFrames(t *testing.T) {
	p := newRig(t).connect(plainListener)
	r := &server.Request{Frame: p.frame(kafka.KeyFetch, 12, &message.FetchRequest{ReplicaID: -1, SessionEpoch: -1}), Received: time.Now()}
	answer, err := p.session.Serve(p.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Payload.Release()
	if r.Frame != nil {
		t.Error("a Fetch holds its frame while it is answered")
	}
}
