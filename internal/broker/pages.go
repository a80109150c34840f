package broker

import (
	"context"
	"fmt"
	"time"

	"kaasd/internal/admin"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// pages are what the admin side asks. They may be asked while the data folder
// is being recovered.
func (b *Broker) pages() admin.Deps {
	return admin.Deps{
		Alive:          b.alive,
		Checks:         b.checks,
		Status:         b.status,
		Quotas:         b.quotaPage,
		Resolve:        b.quotas.Resolve,
		ResolveAddress: b.quotas.ResolveAddress,
		Reload:         func(context.Context) (string, error) { return b.ReloadFiles(credstore.TriggerHTTP) },
		Metrics:        b.reg,
	}
}

func (b *Broker) alive() error {
	if !b.opened.Load() {
		return nil
	}
	return b.store.Healthy()
}

func (b *Broker) checks() []admin.Check {
	credentials := admin.Check{Name: "credentials", OK: true, Aside: true}
	if s := b.credentials.Status(); s.Error != "" {
		credentials.OK, credentials.Detail = false, s.Error
	}
	all := []admin.Check{{Name: "listeners", OK: b.serving.Load()}, b.recoveryCheck(), b.storageCheck(), credentials}
	if b.certificates != nil {
		fault := b.certificates.Status().Error
		all = append(all, admin.Check{Name: "certificates", OK: fault == "", Aside: true, Detail: fault})
	}
	if b.gate != nil {
		fault := b.gate.Fault()
		all = append(all, admin.Check{Name: "http config", OK: fault == "", Aside: true, Detail: fault})
	}
	return all
}

// storageCheck fails when a restart would help. A disk that is full keeps
// nobody away: reading goes on.
func (b *Broker) storageCheck() admin.Check {
	c := admin.Check{Name: "storage", OK: true}
	if !b.opened.Load() {
		return c
	}
	if err := b.store.Healthy(); err != nil {
		c.OK, c.Detail = false, err.Error()
		return c
	}
	if free, reserve, err := b.store.Room(); err == nil && free < reserve {
		c.OK, c.Aside, c.Word = false, true, "full"
		c.Detail = fmt.Sprintf("writes are refused: %d bytes are free, log.disk.reserve=%d stays free", free, reserve)
	}
	return c
}

func (b *Broker) recoveryCheck() admin.Check {
	c := admin.Check{Name: "recovery", OK: b.opened.Load()}
	if r := b.recovery.Load(); r != nil && !c.OK {
		c.Detail = fmt.Sprintf("%d of %d partitions, reading %s", r.Done, r.Total, r.Reading)
	}
	return c
}

func (b *Broker) status() admin.Status {
	s := admin.Status{
		Version: b.cfg.Build.Version, Started: b.started.UTC(), NodeID: int32(b.cfg.NodeID), QuotaModel: b.cfg.Quota.Model,
		Data:        admin.Data{Dir: b.cfg.DataDir},
		Counts:      admin.Counts{Quotas: b.settings()},
		Credentials: credentialsPage(b.credentials.Status()),
		Listeners:   []admin.Listener{},
	}
	if b.certificates != nil {
		c := b.certificates.Status()
		s.Certificates = &admin.Certificates{NotAfter: c.NotAfter.UTC(), InForceSince: c.InForce.UTC(), Error: c.Error}
	}
	if b.gate != nil {
		c := b.gate.Status()
		s.HTTPConfig = &c
	}
	if !b.opened.Load() {
		return s
	}
	image := b.metadata.Image()
	s.ClusterID, s.Data.SizeBytes = b.store.ClusterID(), b.size()
	s.Counts.Connections, s.Counts.Topics, s.Counts.Partitions = b.server.Connections(), len(image.Topics()), image.Partitions()
	for _, l := range b.server.Listeners() {
		s.Listeners = append(s.Listeners, admin.Listener{Name: l.Name, Protocol: string(l.Protocol), Address: l.Address, Advertised: l.Advertised()})
	}
	return s
}

// sizes are the bytes of the logs of each topic.
func (b *Broker) sizes() map[string]int64 {
	sizes := make(map[string]int64)
	for _, t := range b.metadata.Image().Topics() {
		for p := range t.Partitions {
			tp := kafka.TopicPartition{Topic: t.Name, Partition: p}
			if log, err := b.store.Open(tp, t.ID, t.Settings.Log); err == nil {
				sizes[t.Name] += log.Size()
			}
		}
	}
	return sizes
}

func (b *Broker) size() int64 {
	var sum int64
	for _, n := range b.sizes() {
		sum += n
	}
	return sum
}

func credentialsPage(s credstore.Status) admin.Credentials {
	c := admin.Credentials{File: s.File, Resolved: s.Resolved, SHA256: s.SHA256, Users: s.Users, Error: s.Error}
	for _, at := range []struct {
		from time.Time
		to   **time.Time
	}{{s.LastGood, &c.LastGood}, {s.LastTry, &c.LastTry}} {
		if !at.from.IsZero() {
			utc := at.from.UTC()
			*at.to = &utc
		}
	}
	return c
}

func (b *Broker) quotaPage(f quota.StatusFilter, now time.Time) admin.Quotas {
	return admin.Quotas{AsOf: now, WindowSeconds: quota.RateWindow.Seconds(), Entities: b.quotas.Status(now, f)}
}

// settings is how many entities have a quota.
func (b *Broker) settings() int {
	all, err := b.quotas.Describe(quota.Filter{})
	if err != nil {
		return 0
	}
	return len(all)
}
