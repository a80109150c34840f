package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const (
	maxAnswer   = 128 << 20 // bytes
	dialTimeout = 5 * time.Second
)

// mechanisms make a login out of a user and a password.
var mechanisms = map[string]func(user, password string) sasl.Mechanism{
	"PLAIN":         func(u, p string) sasl.Mechanism { return plain.Auth{User: u, Pass: p}.AsMechanism() },
	"SCRAM-SHA-256": func(u, p string) sasl.Mechanism { return scram.Auth{User: u, Pass: p}.AsSha256Mechanism() },
	"SCRAM-SHA-512": func(u, p string) sasl.Mechanism { return scram.Auth{User: u, Pass: p}.AsSha512Mechanism() },
}

// peer is one connection to the broker.
type peer struct {
	client client
	nc     net.Conn
	reader *bufio.Reader
	answer []byte // reused
}

// dial connects, and logs in when there is a user.
func (o options) dial(c client) (*peer, error) {
	d := net.Dialer{Timeout: dialTimeout}
	if o.from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(o.from)}
	}
	nc, err := d.Dial("tcp", o.address)
	if err != nil {
		return nil, fmt.Errorf("cannot reach %s: %w", o.address, err)
	}
	p := &peer{client: c, nc: nc, reader: bufio.NewReaderSize(nc, 4<<10)}
	if c.user == "" {
		return p, nil
	}
	if err := p.login(mechanisms[o.mechanism](c.user, o.password)); err != nil {
		nc.Close()
		return nil, fmt.Errorf("log in as %s: %w", c.user, err)
	}
	return p, nil
}

// login goes through SaslHandshake and SaslAuthenticate (KIP-43, KIP-152).
func (p *peer) login(m sasl.Mechanism) error {
	var taken message.SaslHandshakeResponse
	if err := p.call(kafka.KeySASLHandshake, 1, &message.SaslHandshakeRequest{Mechanism: m.Name()}, &taken); err != nil {
		return err
	}
	if taken.ErrorCode != kafka.NoError {
		return fmt.Errorf("%s: %v (the broker takes %q)", m.Name(), taken.ErrorCode, taken.Mechanisms)
	}
	session, token, err := m.Authenticate(context.Background(), "")
	for done := false; err == nil && !done; {
		var got message.SaslAuthenticateResponse
		if err := p.call(kafka.KeySASLAuthenticate, 1, &message.SaslAuthenticateRequest{AuthBytes: token}, &got); err != nil {
			return err
		}
		if got.ErrorCode != kafka.NoError {
			return fmt.Errorf("%v", got.ErrorCode)
		}
		done, token, err = session.Challenge(got.AuthBytes)
	}
	return err
}

// call makes one request and decodes its answer.
func (p *peer) call(key kafka.APIKey, version int16, request, response codec.Message) error {
	frame, err := p.client.encode(key, version, request)
	if err != nil {
		return err
	}
	if err := p.send(frame); err != nil {
		return err
	}
	answer, err := p.receive()
	if err != nil {
		return err
	}
	return decode(key, version, answer, response)
}

// encode makes the frame of a request.
func (c client) encode(key kafka.APIKey, version int16, request codec.Message) ([]byte, error) {
	api, _ := message.Lookup(key)
	h := codec.RequestHeader{Key: key, Version: version, CorrelationID: 1, ClientID: c.id, HasClientID: !c.noID}
	return codec.EncodeRequest(h, api.IsFlexible(version), request)
}

// decode reads an answer, without its size.
func decode(key kafka.APIKey, version int16, answer []byte, response codec.Message) error {
	api, _ := message.Lookup(key)
	_, body, err := codec.ParseResponseHeader(answer, api.FlexibleResponseHeader(version))
	if err != nil {
		return err
	}
	return codec.Decode(body, version, api.IsFlexible(version), response, maxAnswer)
}

func (p *peer) send(frame []byte) error {
	_, err := p.nc.Write(frame)
	return err
}

// receive reads one answer, without its size. It is valid until the next.
func (p *peer) receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.reader, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxAnswer {
		return nil, fmt.Errorf("answer of %d bytes", size)
	}
	if int(size) > cap(p.answer) {
		p.answer = make([]byte, size)
	}
	p.answer = p.answer[:size]
	_, err := io.ReadFull(p.reader, p.answer)
	return p.answer, err
}
