package handlers

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"time"

	"kaasd/internal/auth"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// saslState is how far the log-in of a connection is.
//
//	start --ApiVersions--> asked --SaslHandshake--> tokens or raw --> done
//	start -----------------------SaslHandshake----> tokens or raw --> done
//	done ---SaslHandshake, where log-ins have an end---> tokens ----> done
type saslState uint8

const (
	saslStart  saslState = iota // nothing was asked yet
	saslAsked                   // ApiVersions was answered, once
	saslTokens                  // tokens come in SaslAuthenticate (handshake version 1)
	saslRaw                     // tokens come as frames without a header (version 0)
	saslDone
)

// saslExchange is a log-in under way.
type saslExchange struct {
	state     saslState
	mechanism string
	exchange  *auth.Exchange
	began     *credstore.Snapshot // the credentials when it began
}

// raw says whether the next frame is a token without a request header.
func (x *saslExchange) raw() bool { return x.state == saslRaw }

// mayAskVersions says whether ApiVersions is in order.
func (x *saslExchange) mayAskVersions(established bool) bool {
	return established && x.state != saslTokens || x.state == saslStart
}

// gate judges a request on a connection that is not logged in, or must do so
// again: nothing for one that is in order, else the answer that ends the
// connection, or an error to end it without one.
func (s *session) gate(c *call) (codec.Message, error) {
	switch key := c.header.Key; {
	case s.sasl.state == saslDone && key == kafka.KeySASLHandshake:
		return nil, nil
	case key == kafka.KeyApiVersions && s.sasl.mayAskVersions(false),
		key == kafka.KeySASLHandshake && s.sasl.state <= saslAsked,
		key == kafka.KeySASLAuthenticate && s.sasl.state == saslTokens:
		return nil, nil
	case key == kafka.KeyApiVersions && s.sasl.state == saslTokens:
		c.answer.Close = true
		return &message.ApiVersionsResponse{ErrorCode: c.code(errMidLogin)}, nil
	case key == kafka.KeySASLHandshake && s.sasl.state == saslTokens:
		c.answer.Close = true
		return &message.SaslHandshakeResponse{ErrorCode: c.code(errMidLogin), Mechanisms: s.h.Mechanisms}, nil
	}
	if s.sasl.state == saslDone {
		return nil, errExpired
	}
	return nil, fmt.Errorf("%s is not in order before the log-in", c.header.Key)
}

var errMidLogin = kafka.Errorf(kafka.IllegalSASLState, "a log-in is under way: the next request must be SaslAuthenticate")

// begin starts an exchange by a mechanism that is offered.
func (s *session) begin(mechanism string) error {
	if !slices.Contains(s.h.Mechanisms, mechanism) {
		return kafka.Errorf(kafka.UnsupportedSASLMechanism, "SASL mechanism %.64q is not offered here", mechanism)
	}
	o := s.h.SASL
	o.Gate = s.mayTry
	exchange, err := auth.NewExchange(mechanism, s.h.Secrets, o)
	if err != nil {
		return err
	}
	s.sasl.mechanism, s.sasl.exchange, s.sasl.began = mechanism, exchange, s.h.Credentials()
	return nil
}

// step takes one token of the exchange and keeps what comes of it.
func (s *session) step(token []byte) ([]byte, error) {
	reply, done, err := s.sasl.exchange.Step(token)
	if done {
		err = s.enter(s.sasl.exchange.Principal())
	}
	switch {
	case err != nil:
		s.countLogin(loginFailure)
		err = s.failed(err)
	case done:
		s.countLogin(loginSuccess)
		s.h.tries.Succeed(s.host, s.sasl.exchange.User(), time.Now())
		s.client = nil // that was anonymous
		s.sasl = saslExchange{state: saslDone, mechanism: s.sasl.mechanism}
	}
	return reply, err
}

// enter makes the session that of a user, unless it is another one's or the user
// was removed while the log-in was under way. The login is stored first: a
// removal that comes later finds it and closes the session.
func (s *session) enter(p kafka.Principal) error {
	if before := s.login.Load(); before != nil && before.principal != p {
		return errOtherUser
	}
	s.login.Store(&login{principal: p, sasl: true, at: time.Now()})
	if s.h.knows(p.Name) && !s.expelled(p.Name) {
		return nil
	}
	s.login.Store(nil)
	return auth.Refused()
}

var errOtherUser = kafka.Errorf(kafka.SASLAuthenticationFailed, "authentication failed: the connection belongs to another user (a new one is needed)")

// expelled says whether the credentials file has put a user out since the log-in
// began. Who has a credential of the Kafka API stays.
func (s *session) expelled(user string) bool {
	now := s.h.Credentials()
	return now != s.sasl.began && slices.Contains(credstore.Expelled(s.sasl.began, now), user) && !s.h.Metadata.Image().HasScram(user)
}

func (s *session) countLogin(result string) {
	s.h.metrics.logins.WithLabelValues(s.conn.Listener.Name, s.sasl.mechanism, result).Inc()
}

// rawToken answers a token that came without a header (handshake version 0).
// There are no error answers: a failure closes the connection, as late as one
// that is answered.
func (s *session) rawToken(token []byte) server.Answer {
	reply, err := s.step(token)
	if err != nil {
		return server.Answer{Alone: true, Delay: s.h.FailedLoginDelay, Close: true}
	}
	return server.Answer{Alone: true, Payload: rawReply(reply)}
}

// rawReply is a token with its size prefix.
type rawReply []byte

var _ server.Payload = rawReply(nil)

// Size is the bytes WriteTo will write.
func (r rawReply) Size() int { return 4 + len(r) }

// WriteTo writes the frame.
func (r rawReply) WriteTo(w io.Writer) (int64, error) {
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, r.Size()), uint32(len(r)))
	n, err := w.Write(append(frame, r...))
	return int64(n), err
}

// Release has nothing to give back.
func (r rawReply) Release() {}
