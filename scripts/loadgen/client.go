package main

import "strings"

// client is who a connection says it is.
type client struct {
	user string // empty does not log in
	id   string
	noID bool // the client-id is null
}

// parseClient reads USER/CLIENT-ID. Without the slash the client-id is null,
// with nothing behind it empty.
func parseClient(text string) client {
	user, id, has := strings.Cut(text, "/")
	return client{user: user, id: id, noID: !has}
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
