package handlers

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"kaasd/internal/auth"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/quota"
	"kaasd/internal/server"
	"kaasd/internal/storage"
	"kaasd/internal/storage/segment"
	"kaasd/internal/storage/vfs"
)

// house is the handlers with real collaborators, in memory.
type house struct {
	*Handlers
	t        *testing.T
	store    *segment.Store
	registry *prometheus.Registry
	lines    *observer.ObservedLogs
	users    *credstore.Snapshot
	closed   []func(server.Session) bool // what CloseSessions was asked
	stop     func()                      // lets another house have its store
}

// secretsOf joins the metadata and the credentials file as the broker does.
type secretsOf struct {
	house *house
	meta  *metadata.Store
}

func (s secretsOf) Scram(user string, m kafka.ScramMechanism) (kafka.ScramCredential, bool) {
	if c, ok := s.meta.Image().Scram(user, m); ok {
		return c, true
	}
	return s.house.users.Scram(user, m)
}

func (s secretsOf) Plain(user string) (func(string) bool, bool) { return s.house.users.Plain(user) }

// setup is what a test may choose of its house.
type setup struct {
	Options
	authorizer  auth.Authorizer
	superUsers  string // with any, ACLs are on
	properties  map[string]string
	credentials string
	flush       storage.Flush
	fs          vfs.FS // what the store is on
}

func newHouse(t *testing.T, choose ...func(*setup)) *house {
	t.Helper()
	s := setup{Options: DefaultOptions(), authorizer: auth.Everyone{}, credentials: `{"users":[]}`, fs: vfs.Memory()}
	s.NodeID, s.ClusterID = 1, "cluster-of-the-test-xx"
	s.SASL.SaltKey = []byte("0123456789abcdef")
	s.Mechanisms = []string{auth.ScramSHA512, auth.ScramSHA256, auth.Plain}
	for _, c := range choose {
		c(&s)
	}
	r := &house{t: t, registry: prometheus.NewRegistry()}
	core, lines := observer.New(zap.DebugLevel)
	log := zap.New(core)
	r.lines = lines
	users, _, err := credstore.Parse([]byte(s.credentials))
	if err != nil {
		t.Fatal(err)
	}
	r.users = users
	r.store, r.stop = openStore(t, s.fs, log)
	metaLog, err := r.store.Open(metadata.LogPartition, metadata.LogID, metadata.LogConfig())
	if err != nil {
		t.Fatal(err)
	}
	o := metadata.Options{NodeID: s.NodeID, Properties: s.properties, Flush: s.flush, FlushInterval: time.Second}
	meta, err := metadata.Open(t.Context(), metaLog, o, log, r.registry)
	if err != nil {
		t.Fatal(err)
	}
	if s.superUsers != "" {
		s.authorizer = followACLs(t, s.superUsers, meta)
	}
	quotas := quota.New(quota.UserModel(), quota.DefaultOptions(), log, r.registry)
	r.Handlers = New(s.Options, Collaborators{
		Metadata: meta, Store: r.store, Quotas: quotas, Authorizer: s.authorizer, Secrets: secretsOf{r, meta},
		Credentials:   func() *credstore.Snapshot { return r.users },
		CloseSessions: func(match func(server.Session) bool) { r.closed = append(r.closed, match) },
	}, log, r.registry)
	return r
}

// followACLs is the authorizer that a broker has.
func followACLs(t *testing.T, superUsers string, meta *metadata.Store) auth.Authorizer {
	t.Helper()
	a, err := auth.NewStandard(superUsers, false)
	if err != nil {
		t.Fatal(err)
	}
	a.Use(auth.NewIndex(meta.Image().ACLs()))
	meta.Subscribe(func(_, next *metadata.Image) { a.Use(auth.NewIndex(next.ACLs())) })
	return a
}

// openStore opens a store in memory, which runs as long as the test, or until
// it is stopped.
func openStore(t *testing.T, fs vfs.FS, log *zap.Logger) (*segment.Store, func()) {
	t.Helper()
	o := segment.DefaultOptions()
	o.FS, o.Dir, o.NodeID = fs, "/data", 1
	store, err := segment.Open(o, log, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- store.Run(ctx) }()
	end := sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return store, end
}

var (
	plainListener = server.Listener{Name: "PLAINTEXT", Protocol: server.Plaintext, Address: "127.0.0.1:9092", Host: "inside", Port: 9092}
	saslListener  = server.Listener{Name: "OUTSIDE", Protocol: server.SASLPlaintext, Address: "127.0.0.1:9095", Host: "outside", Port: 19095}
)

// caller is one connection to a house.
type caller struct {
	t        *testing.T
	session  server.Session
	clientID string
	next     int32
	last     server.Answer // what came with the last response
}

func (r *house) connect(l server.Listener) *caller {
	remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4711}
	return &caller{t: r.t, clientID: "tester", session: r.Connect(server.Conn{ID: 1, Listener: l, Remote: remote, Local: remote})}
}

// exchange sends a frame without its size and gives the answer's, or nil when
// there is none. The error is that of a connection that is closed.
func (c *caller) exchange(frame []byte) ([]byte, error) {
	c.t.Helper()
	if _, err := c.session.Admit(len(frame), frame[:min(len(frame), 16)]); err != nil {
		return nil, err
	}
	answer, err := c.session.Serve(c.t.Context(), &server.Request{Frame: frame, Received: time.Now()})
	c.last = answer
	if err != nil {
		return nil, err
	}
	if answer.Wait != nil {
		if err := answer.Wait(c.t.Context()); err != nil {
			return nil, err
		}
	}
	if answer.Payload == nil {
		return nil, nil
	}
	defer answer.Payload.Release()
	var wire bytes.Buffer
	if _, err := answer.Payload.WriteTo(&wire); err != nil {
		return nil, err
	}
	if got := binary.BigEndian.Uint32(wire.Bytes()); int(got) != wire.Len()-4 || answer.Payload.Size() != wire.Len() {
		c.t.Errorf("a frame of %d bytes says that it has %d", wire.Len(), got)
	}
	return wire.Bytes()[4:], nil
}

// frame is a request as it comes from the wire, without its size.
func (c *caller) frame(key kafka.APIKey, version int16, req codec.Message) []byte {
	c.t.Helper()
	c.next++
	api, _ := message.Lookup(key)
	h := codec.RequestHeader{Key: key, Version: version, CorrelationID: c.next, ClientID: c.clientID, HasClientID: true}
	frame, err := codec.EncodeRequest(h, api.IsFlexible(version), req)
	if err != nil {
		c.t.Fatal(err)
	}
	return frame[4:]
}

// try sends a request and reads the answer into resp. It says whether there was
// one.
func (c *caller) try(key kafka.APIKey, version int16, req, resp codec.Message) (bool, error) {
	c.t.Helper()
	frame, err := c.exchange(c.frame(key, version, req))
	if err != nil || frame == nil {
		return false, err
	}
	api, _ := message.Lookup(key)
	header, body, err := codec.ParseResponseHeader(frame, api.FlexibleResponseHeader(version))
	if err != nil {
		c.t.Fatal(err)
	}
	if header.CorrelationID != c.next {
		c.t.Errorf("request %d got the answer of %d", c.next, header.CorrelationID)
	}
	if err := codec.Decode(body, version, api.IsFlexible(version), resp, 1<<30); err != nil {
		c.t.Fatal(err)
	}
	return true, nil
}

// ask is try for a request that must be answered.
func (c *caller) ask(key kafka.APIKey, version int16, req, resp codec.Message) {
	c.t.Helper()
	answered, err := c.try(key, version, req, resp)
	if err != nil || !answered {
		c.t.Fatalf("%s %d: answered %v, %v", key, version, answered, err)
	}
}

// topic makes a topic.
func (r *house) topic(name string, partitions int32, configs map[string]string) *metadata.Topic {
	r.t.Helper()
	m, err := r.Metadata.Commit(r.t.Context(), metadata.TopicCreated{Name: name, ID: newTopicID(), Partitions: partitions, Configs: configs})
	if err != nil {
		r.t.Fatal(err)
	}
	t, _ := m.Topic(name)
	return t
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
