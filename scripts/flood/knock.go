package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
)

// connects opens and closes: one of eight as it should be, the others with a
// reset, which leaves nothing behind that would slow the attack down.
func connects(c *crew) {
	c.at(64, func(i int) {
		m := c.dial(c.either(i))
		switch {
		case m == nil:
		case i%8 > 0:
			m.abandon()
		default:
			m.leave()
		}
	})
}

// clinging opens connections and lets go of none; who is refused comes back at
// once.
func clinging(c *crew) {
	c.at(1000, func(i int) {
		if m := c.dial(c.either(i)); m != nil {
			m.hear()
			m.abandon()
		}
	})
}

// limitIPs gives every address a quota of connections.
func limitIPs(t *target) error {
	s, err := t.session()
	if err != nil {
		return err
	}
	defer s.nc.Close()
	frame, err := encode(kafka.KeyAlterClientQuotas, 1, &message.AlterClientQuotasRequest{Entries: []message.AlterClientQuotasEntry{{
		Entity: []message.AlterClientQuotasEntity{{EntityType: kafka.EntityIP}},
		Ops:    []message.AlterClientQuotasOp{{Key: kafka.ConnectionCreationRate, Value: 1}},
	}}})
	if err != nil {
		return err
	}
	answer, err := s.ask(frame)
	if err != nil {
		return err
	}
	var resp message.AlterClientQuotasResponse
	if err := codec.Decode(answer[5:], 1, true, &resp, len(answer)*16); err != nil {
		return err
	}
	if got := resp.Entries[0]; got.ErrorCode != kafka.NoError {
		return fmt.Errorf("set a quota: %v", got.ErrorCode)
	}
	return nil
}

// hellos sends what begins a handshake, waits for the first byte of the
// answer, which the server has calculated and signed, and leaves.
func hellos(c *crew) {
	hello := must(clientHello())
	c.at(256, func(int) {
		m := c.dial(c.tls)
		if m == nil {
			return
		}
		defer m.abandon()
		_ = m.SetReadDeadline(time.Now().Add(patience))
		if !m.say(hello) {
			return
		}
		if _, err := m.Read(make([]byte, 1)); err == nil {
			c.rounds.Add(1)
		}
	})
}

// clientHello records the first message of Go's own client.
func clientHello() ([]byte, error) {
	r := recorder{}
	err := tls.Client(&r, &tls.Config{ServerName: "localhost"}).Handshake()
	if r.Len() == 0 {
		return nil, errors.Join(errors.New("the client said nothing"), err)
	}
	return r.Bytes(), nil
}

// recorder is a connection that only takes.
type recorder struct {
	net.Conn
	bytes.Buffer
}

var errDeaf = errors.New("nothing to read")

func (r *recorder) Read([]byte) (int, error)    { return 0, errDeaf }
func (r *recorder) Write(b []byte) (int, error) { return r.Buffer.Write(b) }
func (r *recorder) Close() error                { return nil }

// logIns tries passwords: a proof that is wrong costs the broker as much as
// one that is right.
func logIns(c *crew) {
	shake := must(encode(kafka.KeySASLHandshake, 1, &message.SaslHandshakeRequest{Mechanism: mechanism.String()}))
	c.at(256, func(i int) {
		m := c.dial(c.sasl)
		if m == nil {
			return
		}
		defer m.abandon()
		name := user
		if i%2 == 1 {
			name = fmt.Sprintf("nobody-%d", i)
		}
		if !m.tell(shake) {
			return
		}
		reply, ok := m.authenticate("n,,n=" + name + ",r=" + nonce)
		if !ok {
			return
		}
		both, _, _ := bytes.Cut(reply, []byte(","))
		m.authenticate(fmt.Sprintf("c=biws,%s,p=%0128d", both, 0)) // not base64 of a proof, but of the right length
		c.rounds.Add(1)
	})
}

// tell says something and waits for the answer.
func (m *mark) tell(frame []byte) bool {
	if !m.say(frame) {
		return false
	}
	_, ok := m.answer()
	return ok
}

// authenticate sends a token and gives the broker's. The sink has none.
func (m *mark) authenticate(token string) ([]byte, bool) {
	if !m.say(must(encode(kafka.KeySASLAuthenticate, 1, &message.SaslAuthenticateRequest{AuthBytes: []byte(token)}))) {
		return nil, false
	}
	answer, ok := m.answer()
	if !ok || len(answer) < 5 {
		return nil, ok
	}
	reply, _ := tokenOf(answer) // what is refused has none
	return reply, true
}

// tokenOf is the token in an answer to SaslAuthenticate.
func tokenOf(answer []byte) ([]byte, error) {
	var resp message.SaslAuthenticateResponse
	if err := codec.Decode(answer[min(4, len(answer)):], 1, false, &resp, 16*len(answer)); err != nil {
		return nil, err
	}
	if resp.ErrorCode != kafka.NoError {
		return nil, fmt.Errorf("the log-in: %v", resp.ErrorCode)
	}
	return resp.AuthBytes, nil
}
