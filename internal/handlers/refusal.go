package handlers

import (
	"fmt"

	"go.uber.org/zap"

	"kaasd/internal/kafka"
	"kaasd/internal/server"
)

// seldom gives the fields of a line about a subject: who asked, and how many lines
// there were no fields for since the last one. None where the principal has had so many
// of late, or one about the subject (server.Repeats): one request may ask for a million
// things.
func (c *call) seldom(r *server.Repeats, subject func() string) (fields []zap.Field, ok bool) {
	who := c.principal().Name
	if r.Full(who, c.now) {
		return nil, false
	}
	suppressed, ok := r.Allow(who, subject(), c.now)
	if !ok {
		return nil, false
	}
	fields = c.who()
	if suppressed > 0 {
		fields = append(fields, zap.Int("suppressed", suppressed))
	}
	return fields, true
}

// auditRefused writes the line of a change that was refused: what it was of, by name,
// and why. For the same reason it tells of the same thing once in 10 s.
func (c *call) auditRefused(change, of string, name func() string, err error) {
	code := kafka.CodeOf(err)
	fields, ok := c.seldom(&c.h.refusals, func() string { return fmt.Sprint(change, code, kafka.Label(name())) })
	if !ok {
		return
	}
	c.h.audit.Info(change, append(fields, zap.String(of, shortened(name(), maxAuditedText)),
		zap.Stringer("code", code), zap.String("error", shortened(kafka.MessageOf(err), maxAuditedText)))...)
}
