package handlers

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"go.uber.org/zap"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// The frame limits, in bytes. Produce alone may use Options.MaxRequest.
const (
	maxLoginFrame = 512 << 10 // sasl.server.max.receive.size
	maxFrame      = 8 << 20
)

// Admit judges a frame before it is read. What a connection asks for the first
// time waits where too many new ones join a debt.
func (s *session) Admit(size int, head []byte) (server.Mute, error) {
	key, version, ok := codec.PeekKey(head)
	if err := s.judge(size, key, ok); err != nil {
		return nil, err
	}
	if ok && s.Established() {
		if mute := s.join(key, version, head); mute != nil {
			return s.hold(mute), nil // a nil *Mute is not a nil Mute
		}
	}
	return nil, nil
}

// judge holds a frame's size against the limit of its key.
func (s *session) judge(size int, key kafka.APIKey, ok bool) error {
	limit := s.h.MaxRequest
	switch {
	case !s.Established():
		limit = min(limit, maxLoginFrame)
	case !ok || key != kafka.KeyProduce:
		limit = min(limit, maxFrame)
	}
	if size > limit {
		return fmt.Errorf("a frame of %d bytes is above the limit of %d", size, limit)
	}
	if !ok && !s.sasl.raw() {
		return fmt.Errorf("a frame of %d bytes holds no request header", size)
	}
	return nil
}

// Serve answers one frame.
func (s *session) Serve(ctx context.Context, r *server.Request) (answer server.Answer, err error) {
	if s.sasl.raw() {
		defer func() { s.owe(time.Since(r.Received) + r.Read) }()
		return s.rawToken(r.Frame), nil
	}
	defer s.forget()
	if err := s.meet(); err != nil {
		return server.Answer{}, err
	}
	key, version, ok := codec.PeekKey(r.Frame)
	if !ok {
		return server.Answer{}, fmt.Errorf("a frame of %d bytes holds no request header", len(r.Frame))
	}
	route := s.h.routes.find(key)
	if route == nil || !route.serves(version) {
		return s.unsupported(ctx, key, version, r)
	}
	header, body, err := codec.ParseHeader(r.Frame, route.IsFlexible(version))
	if err != nil {
		return server.Answer{}, fmt.Errorf("%s %d: %w", key, version, err)
	}
	return s.answer(s.newCall(ctx, header, r, route), body)
}

// newCall is the call of a request.
func (s *session) newCall(ctx context.Context, header codec.RequestHeader, r *server.Request, route *route) *call {
	s.call = call{
		session: s, ctx: ctx, header: header, size: len(r.Frame), now: r.Received, request: r, route: route, login: !s.Established(),
		image: s.h.Metadata.Image(), answer: server.Answer{Alone: header.Key != kafka.KeyProduce},
	}
	return &s.call
}

// forget drops the call: a connection at rest must not hold on to what was in
// force when it last asked, the metadata, a limit and all that came after it.
func (s *session) forget() { s.call = call{} }

// answer has the route's method answer a call. A panic on the way closes the
// connection, unless it comes from where what is on disk is decided.
func (s *session) answer(c *call, body []byte) (answer server.Answer, err error) {
	defer func() {
		c.passTurn()
		if p := recover(); p != nil {
			err = s.survive(c, p)
		}
	}()
	if c.login || c.mustRenew() {
		if early, err := s.gate(c); early != nil || err != nil {
			return s.seal(c, early, err)
		}
	}
	response, err := c.route.handle(c, body)
	return s.seal(c, response, err)
}

// seal makes the answer of a response and counts it.
func (s *session) seal(c *call, response codec.Message, err error) (server.Answer, error) {
	if err == nil {
		err = c.finish(response)
	}
	now := time.Now()
	c.oweWork(now)
	if err != nil {
		c.giveBack()
		return server.Answer{}, fmt.Errorf("%s %d: %w", c.route.Name, c.header.Version, err)
	}
	c.route.answered.Inc()
	c.route.duration.Observe((now.Sub(c.now) - c.parked).Seconds())
	return c.answer, nil
}

// unsupported closes the connection, as Kafka does, unless the request is an
// ApiVersions of another age: that is told which versions there are, in the
// layout of version 0, and its body is not looked at (KIP-511). A negative version
// has the header of old.
func (s *session) unsupported(ctx context.Context, key kafka.APIKey, version int16, r *server.Request) (server.Answer, error) {
	s.h.metrics.unsupported.Inc()
	if key != kafka.KeyApiVersions || !s.sasl.mayAskVersions(s.Established()) || s.expired(r.Received) {
		return server.Answer{}, fmt.Errorf("%s version %d is not served", key, version)
	}
	route := s.h.routes.find(key)
	header, _, err := codec.ParseHeader(r.Frame, route.IsFlexible(version))
	if err != nil {
		return server.Answer{}, fmt.Errorf("%s %d: %w", key, version, err)
	}
	header.Version = 0
	return s.seal(s.newCall(ctx, header, r, route), &message.ApiVersionsResponse{
		ErrorCode: kafka.UnsupportedVersion,
		ApiKeys:   []message.ApiVersionsResponseKey{{ApiKey: key, MinVersion: route.listed, MaxVersion: route.high}},
	}, nil)
}

// durable are the rooms whose panics must not be survived.
var durable = []string{"kaasd/internal/storage", "kaasd/internal/metadata", "kaasd/internal/group"}

// survive makes an error of a panic.
func (s *session) survive(c *call, cause any) error {
	s.h.metrics.errors.WithLabelValues(c.route.Name, kafka.UnknownServerError.String()).Inc()
	s.h.log.Error("request panicked", append(s.who(), zap.String("api", c.route.Name), zap.Any("error", cause), zap.ByteString("stack", debug.Stack()))...)
	if fromDurable() {
		s.h.crash(cause)
	}
	c.giveBack()
	return fmt.Errorf("%s %d: panic: %v", c.route.Name, c.header.Version, cause)
}

// fromDurable says whether the panic being recovered went through a room that
// decides what is on disk.
func fromDurable() bool {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		frame, more := frames.Next()
		for _, room := range durable {
			if strings.HasPrefix(frame.Function, room) {
				return true
			}
		}
		if !more {
			return false
		}
	}
}
