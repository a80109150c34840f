package main

import (
	"strconv"
	"strings"

	"kaasd/internal/codec/message"
)

// client is who a connection says it is.
type client struct {
	user string // empty does not log in
	id   string
	noID bool // the client-id is null
}

// parseClient reads USER/CLIENT-ID. Without the slash the client-id is null,
// with nothing behind it empty; with a star at its end each connection has one
// of its own.
func parseClient(text string) client {
	user, id, has := strings.Cut(text, "/")
	return client{user: user, id: id, noID: !has}
}

// isMany says whether the client-id stands for one of each connection's own.
func (c client) isMany() bool { return strings.HasSuffix(c.id, "*") }

// one is the client of a connection.
func (c client) one(connection int) client {
	if c.isMany() {
		c.id = strings.TrimSuffix(c.id, "*") + strconv.Itoa(connection)
	}
	return c
}

// bucket is the clients that share a quota.
type bucket struct {
	name    string // as it was asked for
	clients []client
}

func parseBucket(text string) bucket {
	b := bucket{name: text}
	for _, c := range strings.Split(text, ",") {
		b.clients = append(b.clients, parseClient(c))
	}
	return b
}

// parseEntity reads TYPE=NAME,...; a type alone is its default.
func parseEntity(text string) []message.AlterClientQuotasEntity {
	var parts []message.AlterClientQuotasEntity
	for _, part := range strings.Split(text, ",") {
		kind, name, named := strings.Cut(part, "=")
		p := message.AlterClientQuotasEntity{EntityType: kind}
		if named {
			p.EntityName = &name
		}
		parts = append(parts, p)
	}
	return parts
}
