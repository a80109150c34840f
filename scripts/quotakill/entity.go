package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// byDefault stands for the default, whose name is null.
const byDefault = "<default>"

// entity is who a quota is for; a part that it has not is empty.
type entity struct{ user, client, ip string }

func (e entity) String() string {
	var parts []string
	for _, p := range e.parts() {
		parts = append(parts, p[0]+"="+p[1])
	}
	return strings.Join(parts, ",")
}

// parts are type and name of each part it has.
func (e entity) parts() (all [][2]string) {
	for _, p := range [][2]string{{"user", e.user}, {"client-id", e.client}, {"ip", e.ip}} {
		if p[1] != "" {
			all = append(all, p)
		}
	}
	return all
}

// set is the part of an answer.
func (e *entity) set(kind string, name *string) error {
	part := map[string]*string{"user": &e.user, "client-id": &e.client, "ip": &e.ip}[kind]
	if part == nil {
		return fmt.Errorf("an entity of type %q", kind)
	}
	if *part = byDefault; name != nil {
		*part = *name
	}
	return nil
}

// values are the quotas of an entity.
type values map[string]float64

var (
	clientKeys = []string{"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
	ipKeys     = []string{"connection_creation_rate"}
)

func (e entity) keys() []string {
	if e.ip != "" {
		return ipKeys
	}
	return clientKeys
}

// change makes an entry that sets or removes some keys at random, and what the
// entity's values are with it. They are large: the clients that alter, and
// their address, fall under some of them.
func (e entity) change(old values) (kmsg.AlterClientQuotasRequestEntry, values) {
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	for _, p := range e.parts() {
		c := kmsg.NewAlterClientQuotasRequestEntryEntity()
		c.Type = p[0]
		if p[1] != byDefault {
			c.Name = kmsg.StringPtr(p[1])
		}
		entry.Entity = append(entry.Entity, c)
	}
	changed := values{}
	for k, v := range old {
		changed[k] = v
	}
	keys := e.keys()
	for _, i := range rand.Perm(len(keys))[:1+rand.IntN(len(keys))] {
		op := kmsg.NewAlterClientQuotasRequestEntryOp()
		op.Key, op.Remove = keys[i], rand.IntN(3) == 0
		if delete(changed, op.Key); !op.Remove {
			op.Value = float64(10_000 + rand.IntN(1_000_000))
			changed[op.Key] = op.Value
		}
		entry.Ops = append(entry.Ops, op)
	}
	return entry, changed
}
