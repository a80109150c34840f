package handlers

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/auth"
	"kaasd/internal/codec/message"
	"kaasd/internal/credstore"
	"kaasd/internal/group"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/server"
	"kaasd/internal/storage"
	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

// rig is the handlers with real collaborators, in memory and without sockets.
// Nothing of it runs in the background, so that it lives in bubbles and under
// benchmarks, and the folder can be opened again.
type rig struct {
	*Handlers
	t        testing.TB
	store    *segment.Store
	groups   *group.Coordinator
	registry *prometheus.Registry
	lines    *observer.ObservedLogs
	users    *credstore.Snapshot
	closed   []func(server.Session) bool // what CloseSessions was asked
	journal  journal                     // of the kafka model
}

// journal keeps nothing, which can take long or fail.
type journal struct {
	takes time.Duration
	fails error
	kept  [][]quota.Setting
}

// Keep is called for what is altered together.
func (j *journal) Keep(_ context.Context, settings []quota.Setting) error {
	time.Sleep(j.takes)
	if j.fails == nil {
		j.kept = append(j.kept, settings)
	}
	return j.fails
}

// setup is what a test may choose of its rig.
type setup struct {
	Options
	windows     *quota.Windows // nil: the user model
	authorizer  auth.Authorizer
	superUsers  string // with any, ACLs are on
	properties  map[string]string
	credentials string
	flush       storage.Flush
	fs          vfs.FS        // what the store is on
	patience    time.Duration // of a new group with members that are still to come
}

func newRig(t testing.TB, choose ...func(*setup)) *rig {
	t.Helper()
	s := setup{Options: DefaultOptions(), authorizer: auth.Everyone{}, credentials: `{"users":[]}`,
		flush: storage.FlushInterval, fs: vfs.Memory()}
	s.NodeID, s.ClusterID = 1, "cluster-of-the-test-xx"
	s.SASL.SaltKey = []byte("0123456789abcdef")
	s.Mechanisms = []string{auth.ScramSHA512, auth.ScramSHA256, auth.Plain}
	for _, c := range choose {
		c(&s)
	}
	r := &rig{t: t, registry: prometheus.NewRegistry()}
	core, lines := observer.New(zap.DebugLevel)
	log := zap.New(core)
	r.lines = lines
	users, _, err := credstore.Parse([]byte(s.credentials))
	if err != nil {
		t.Fatal(err)
	}
	r.users = users
	meta := r.open(s, log)
	if s.superUsers != "" {
		s.authorizer = followACLs(t, s.superUsers, meta)
	}
	r.Handlers = New(s.Options, Collaborators{
		Metadata: meta, Store: r.store, Groups: r.groups, Authorizer: s.authorizer, Secrets: secretsOf{r, meta},
		Quotas:        r.newQuotas(s, log),
		Credentials:   func() *credstore.Snapshot { return r.users },
		CloseSessions: func(match func(server.Session) bool) { r.closed = append(r.closed, match) },
	}, log, r.registry)
	return r
}

func (r *rig) newQuotas(s setup, log *zap.Logger) *quota.Enforcer {
	if s.windows == nil {
		return quota.New(quota.UserModel(), quota.DefaultOptions(), log, r.registry)
	}
	quotas := quota.New(quota.KafkaModel(*s.windows), quota.DefaultOptions(), log, r.registry)
	quotas.Restore(nil, &r.journal)
	return quotas
}

func withKafkaModel(s *setup) {
	w := quota.DefaultWindows()
	s.windows = &w
}

// set alters quotas, as an answer does.
func (r *rig) set(entries ...message.AlterClientQuotasEntry) {
	r.t.Helper()
	req := &message.AlterClientQuotasRequest{Entries: entries}
	for _, result := range r.Quotas.Alter(r.t.Context(), time.Now(), alterations(req), false) {
		if result.Err != nil {
			r.t.Fatal(result.Err)
		}
	}
}

// open opens the store and the metadata in it.
func (r *rig) open(s setup, log *zap.Logger) *metadata.Store {
	r.t.Helper()
	o := segment.DefaultOptions()
	o.FS, o.Dir, o.NodeID, o.DiskReserve = s.fs, "/data", 1, 0
	store, err := segment.Open(o, log, r.registry)
	if err != nil {
		r.t.Fatal(err)
	}
	r.store = store
	metaLog, err := store.Open(metadata.LogPartition, metadata.LogID, metadata.LogConfig())
	if err != nil {
		r.t.Fatal(err)
	}
	mo := metadata.Options{NodeID: s.NodeID, Properties: s.properties, Flush: s.flush, FlushInterval: time.Second}
	meta, err := metadata.Open(r.t.Context(), metaLog, mo, log, r.registry)
	if err != nil {
		r.t.Fatal(err)
	}
	r.groups = r.openGroups(s, log)
	return meta
}

// openGroups has a first rebalance wait for nobody, unless the test wants it to.
func (r *rig) openGroups(s setup, log *zap.Logger) *group.Coordinator {
	r.t.Helper()
	o := group.DefaultOptions()
	o.InitialDelay, o.Log = s.patience, group.LogConfig(s.flush)
	groupLog, err := r.store.Open(group.LogPartition, group.LogID, o.Log)
	if err != nil {
		r.t.Fatal(err)
	}
	groups, err := group.Open(r.t.Context(), groupLog, o, log, r.registry)
	if err != nil {
		r.t.Fatal(err)
	}
	return groups
}

// stop ends the store, so that another rig can have its folder.
func (r *rig) stop() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.store.Run(ctx); err != nil {
		r.t.Fatal(err)
	}
}

// onDisk has a rig keep its store in a place that outlives it.
func onDisk(fs vfs.FS) func(*setup) { return func(s *setup) { s.fs = fs } }

// secretsOf joins the metadata and the credentials file as the broker does.
type secretsOf struct {
	rig  *rig
	meta *metadata.Store
}

func (s secretsOf) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	if c, ok := s.meta.Image().Scram(user, m); ok {
		return c, true
	}
	return s.rig.users.Scram(user, m)
}

func (s secretsOf) Plain(user string) (func(string) bool, bool) { return s.rig.users.Plain(user) }

// followACLs is the authorizer that a broker has.
func followACLs(t testing.TB, superUsers string, meta *metadata.Store) auth.Authorizer {
	t.Helper()
	a, err := auth.NewStandard(superUsers, false)
	if err != nil {
		t.Fatal(err)
	}
	a.Use(auth.NewIndex(meta.Image().ACLs()))
	meta.Subscribe(func(_, next *metadata.Image) { a.Use(auth.NewIndex(next.ACLs())) })
	return a
}

var (
	plainListener = server.Listener{Name: "PLAINTEXT", Protocol: server.Plaintext, Address: "127.0.0.1:9092", Host: "inside", Port: 9092}
	saslListener  = server.Listener{Name: "OUTSIDE", Protocol: server.SASLPlaintext, Address: "127.0.0.1:9095", Host: "outside", Port: 19095}
)

// topic makes a topic, with pairs of configs.
func (r *rig) topic(name string, partitions int32, configs ...string) *metadata.Topic {
	r.t.Helper()
	c := metadata.TopicCreated{Name: name, ID: newTopicID(), Partitions: partitions, Configs: map[string]string{}}
	for i := 0; i < len(configs); i += 2 {
		c.Configs[configs[i]] = configs[i+1]
	}
	m := r.commit(c)
	t, _ := m.Topic(name)
	return t
}

// commit changes the metadata.
func (r *rig) commit(changes ...metadata.Change) *metadata.Image {
	r.t.Helper()
	m, err := r.Metadata.Commit(r.t.Context(), changes...)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// limit gives everybody a quota, in bytes per second; 0 is none.
func (r *rig) limit(produce, fetch float64) {
	limits := quota.Limits{}
	if produce > 0 {
		limits[kafka.ProducerByteRate] = produce
	}
	if fetch > 0 {
		limits[kafka.ConsumerByteRate] = fetch
	}
	r.Quotas.SetBase(map[string]quota.Limits{kafka.Anonymous.Name: limits})
}

// only allows what it lists, such as "ALTER_CONFIGS CLUSTER:kafka-cluster".
type only []string

func (list only) Authorize(_ auth.Caller, op kafka.Operation, r kafka.Resource) bool {
	for _, allowed := range list {
		if allowed == op.String()+" "+r.String() {
			return true
		}
	}
	return false
}

// Anywhere looks for the operation on any resource of the type.
func (list only) Anywhere(_ auth.Caller, op kafka.Operation, t kafka.ResourceType) bool {
	for _, allowed := range list {
		if strings.HasPrefix(allowed, op.String()+" "+t.String()+":") {
			return true
		}
	}
	return false
}

func ptr[T any](v T) *T { return &v }

func deref(s *string) string {
	if s == nil {
		return "(null)"
	}
	return *s
}
