package broker_test

import (
	"bytes"
	"crypto/pbkdf2"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kaasd/internal/broker"
	"kaasd/internal/broker/brokertest"
	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/codec/record"
	"kaasd/internal/kafka"
)

// fact is something about Kafka 4.4.0 or its clients that nobody would guess.
type fact struct {
	name string
	// ids are recorded exchanges in which it shows, all of which say says,
	// part of a shape; TestRecorded holds our answers against them.
	ids, says string
	do        func(t *testing.T, b *brokertest.Broker) // what one exchange cannot show
}

// facts are those about keys that kaasd serves. What it answers other than
// Kafka is said with the fact.
var facts = []fact{
	{name: "librdkafka and kafka-go send bytes after the body", ids: "3.1-3 29.3-8 51.0-8 51.0-9"},
	{name: "tags that nobody knows are passed over", ids: "3.9-3", says: "Brokers=some"},
	{name: "ApiVersions above the list and below zero is 35 in layout 0 with key 18 alone",
		ids: "18.-1-1 18.6-1 18.6-2 18.7-1 18.7-2 18.127-1 18.127-2 18.32767-1 18.32767-2", says: "UNSUPPORTED_VERSION ApiKeys=some"},
	{name: "a version above the list has a header with tags", do: tooHighWithoutTags},
	{name: "a software name that is none is 42 in the layout of the request", ids: "18.3-4 18.3-6 18.3-7", says: "INVALID_REQUEST ApiKeys=empty"},
	{name: "ApiVersions 5, which asks for a cluster, is above our list", do: clusterCheckIsAboveTheList},
	{name: "franz-go commits by topic id in the classic protocol too", ids: "8.10-1 8.10-2 8.10-4", says: "ErrorCode=NONE"},
	{name: "franz-go and Java 4.4 fetch offsets by topic id", ids: "9.10-1 9.10-2 9.10-4 9.10-5", says: "ErrorCode=NONE"},
	{name: "success has an empty message where things are described", ids: "48.1-10 32.4-1 50.0-8 36.0-1 36.2-1", says: "ErrorMessage=empty"},
	{name: "success has no message where things are altered", ids: "49.1-11 44.1-5 60.2-1", says: "ErrorMessage=null"},
	{name: "errors of JoinGroup have an empty protocol up to version 6", ids: "11.0-2 11.1-2 11.2-2 11.3-2 11.4-1 11.5-1 11.6-1", says: "ProtocolName=empty"},
	{name: "errors of JoinGroup have no protocol from version 7 on", ids: "11.7-1 11.8-1 11.9-1", says: "ProtocolName=null"},
	{name: "records that are null: 87, and the connection stays", do: nullRecords},
	{name: "a failed batch of acks 0 ends the connection", ids: "0.9-12 0.9-13"},

	{name: "Java begins with version 0 and ends with another", do: javaLogin},
	{name: "kafka-python 2.0.2 sends bare tokens, whose success is a frame of nothing", do: bareTokens},
	{name: "librdkafka 2.0.2 repeats its nonce, and is let in here", do: repeatedNonce},
	{name: "a wrong password is 58, then the connection ends", ids: "36.0-2 36.0-6 36.1-9 36.2-6 36.2-12 36.2-14", says: "SASL_AUTHENTICATION_FAILED", do: wrongPasswordEnds},
	{name: "a token after success is 34", ids: "36.0-4 36.1-6 36.2-9", says: "ILLEGAL_SASL_STATE"},
	{name: "another key before the log-in, twice ApiVersions, a token without handshake: closed", ids: "3.1-4 18.0-4 36.1-5 17.1-12"},
	{name: "an authorization id that is not the user is 58, one that is is none", ids: "36.0-5 36.2-10", says: "SASL_AUTHENTICATION_FAILED"},
	{name: "an authorization id that is the user is taken", ids: "36.1-1 36.2-11", says: "ErrorCode=NONE"},

	{name: "the bit of append time is the client's to set", ids: "0.9-15", says: "ErrorCode=NONE"},
	{name: "a base offset other than 0 is 87", do: baseOffsets},
	{name: "compressed data that is none is 87 where it is looked at", do: compressedGarbage},
	{name: "sequences: repeated, ahead, of an old epoch", do: sequences},
	{name: "the first sequence of a producer may be any", do: firstSequence},
	{name: "old message sets, no batch, two and half a one are 87", ids: "0.3-4 0.7-10 0.7-11 0.7-12", says: "INVALID_RECORD"},
	{name: "zstd before version 7 is 76", ids: "0.6-3", says: "UNSUPPORTED_COMPRESSION_TYPE"},

	{name: "rates of bytes and connections are whole numbers", ids: "49.0-20 49.0-22 49.0-23 49.0-25 49.1-27 49.1-29 49.1-30 49.1-32", says: "INVALID_REQUEST"},
	{name: "percentages and rates of mutations need not be", ids: "49.0-21 49.0-24 49.1-28 49.1-31", says: "ErrorCode=NONE"},
	{name: "limits are finite and above zero",
		ids:  "49.0-15 49.0-16 49.0-17 49.0-18 49.0-19 49.0-26 49.0-27 49.0-28 49.0-29 49.0-30 49.1-22 49.1-23 49.1-24 49.1-33 49.1-34 49.1-35 49.1-36 49.1-37",
		says: "INVALID_REQUEST"},
	{name: "rates of bytes fit 64 bits, of connections 32", ids: "49.0-31 49.0-33 49.0-36 49.1-38 49.1-40 49.1-43 49.1-44", says: "INVALID_REQUEST"},
	{name: "2^63 is a rate of bytes", ids: "49.0-34 49.1-41", says: "ErrorCode=NONE"},
	{name: "an entity that is named twice has one result", ids: "49.1-19", says: "INVALID_REQUEST"},
	{name: "a key twice, or set and removed, is 42", ids: "49.0-13 49.0-14 49.1-20 49.1-21", says: "INVALID_REQUEST"},
	{name: "a type twice in an entity is taken", ids: "49.0-44 49.1-51", says: "ErrorCode=NONE"},
	{name: "removing what is not there, and doing nothing, succeed", ids: "49.0-40 49.0-50 49.1-47 49.1-57", says: "ErrorCode=NONE"},
	{name: "<default> is a user like others", do: defaultIsAName},
	{name: "a type that is not known is 35 in a description", ids: "48.0-21 48.1-28", says: "UNSUPPORTED_VERSION"},
	{name: "what cannot be described together is 42",
		ids: "48.0-10 48.0-22 48.0-23 48.0-24 48.1-18 48.1-29 48.1-30 48.1-31 48.1-32", says: "INVALID_REQUEST"},
	{name: "both mechanisms of a user are set at once here, 92 in Kafka", do: bothMechanisms},
	{name: "a config without a value is 40", ids: "19.7-18", says: "INVALID_CONFIG"},
	{name: "that a topic exists is told before what is wrong with it", ids: "19.7-26 19.7-27", says: "TOPIC_ALREADY_EXISTS"},
	{name: "ElectLeaders without topics is about all, and tells those that had no leader to elect", ids: "43.0-3 43.2-11", says: "ErrorCode=NONE"},
	{name: "Metadata 10 and 11 by id: 42, and nothing about the cluster", ids: "3.10-2 3.11-2", says: "Brokers=empty ClusterID=null ControllerID=negative"},
	{name: "a bad operation on configs is 42", ids: "44.1-11 44.1-12 44.1-13 44.1-14 44.1-15", says: "INVALID_REQUEST"},
}

// TestFacts: each fact shows in what was recorded, and holds here.
func TestFacts(t *testing.T) {
	byID := map[string]*recorded{}
	for _, r := range recordings(t) {
		byID[r.ID] = r
	}
	for _, f := range facts {
		t.Run(f.name, func(t *testing.T) {
			for id := range strings.FieldsSeq(f.ids) {
				f.shows(t, byID[id], id)
			}
			if f.do != nil {
				f.do(t, brokertest.Start(t, kafkaModel, anyTime, withFile(t, recordedUsers)))
			}
			if f.ids == "" && f.do == nil {
				t.Error("nothing shows it")
			}
		})
	}
}

// shows: the exchange says it, and TestRecorded compares it.
func (f fact) shows(t *testing.T, r *recorded, id string) {
	t.Helper()
	if r == nil || differsFromRecorded(id) != "" {
		t.Errorf("%s is not compared", id)
		return
	}
	if f.says == "" {
		return
	}
	key, version, _ := codec.PeekKey(r.Request)
	lines := strings.Join(shapeOf(newScene(t, brokertest.Start(t), r, key, version).recorded).lines(), "\n")
	if !strings.Contains(lines, f.says) {
		t.Errorf("%s does not say %q:\n%s", id, f.says, lines)
	}
}

func tooHighWithoutTags(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.Plain)
	p.raw(sized(header(18, 6)))
	p.mustEnd()
}

func clusterCheckIsAboveTheList(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.Plain)
	for _, r := range recordings(t) {
		if strings.HasPrefix(r.ID, "18.5-") {
			p.raw(sized(r.Request))
			if got := p.readFrame(); !bytes.HasPrefix(got[4:], []byte{0, byte(kafka.UnsupportedVersion)}) {
				t.Errorf("%s is answered %x", r.ID, got)
			}
			call[message.ApiVersionsResponse](p, 4, &message.ApiVersionsRequest{ClientSoftwareName: "a", ClientSoftwareVersion: "1"}) // as clients do then
		}
	}
}

func nullRecords(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.Plain)
	p.newTopic("t")
	if got := p.producedTo(7, produceRequest("t", 1, nil)); got.ErrorCode != kafka.InvalidRecord {
		t.Errorf("got %s", got.ErrorCode)
	}
	p.versions()
}

func javaLogin(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.SASL)
	first := p.versions()
	if code := p.logIn("admin", "admin-pw"); code != kafka.NoError {
		t.Fatalf("log in: %s", code)
	}
	second := call[message.ApiVersionsResponse](p, 4, &message.ApiVersionsRequest{ClientSoftwareName: "apache-kafka-java", ClientSoftwareVersion: "4.4.0"})
	if !slices.Equal(first.ApiKeys, second.ApiKeys) {
		t.Error("the lists differ")
	}
}

func bareTokens(t *testing.T, b *brokertest.Broker) {
	for password, ok := range map[string]bool{"admin-pw": true, "bad": false} {
		p := dial(t, b.SASL)
		call[message.SaslHandshakeResponse](p, 0, &message.SaslHandshakeRequest{Mechanism: "PLAIN"})
		p.raw(sized([]byte("admin\x00admin\x00" + password)))
		if !ok {
			p.mustEnd()
		} else if got := p.readFrame(); len(got) != 0 {
			t.Errorf("got %x", got)
		}
	}
}

func repeatedNonce(t *testing.T, b *brokertest.Broker) {
	who := account{"scram1", "x", kafka.ScramSHA256}
	dial(t, b.Plain).give(who)
	p := dial(t, b.SASL)
	call[message.SaslHandshakeResponse](p, 1, &message.SaslHandshakeRequest{Mechanism: "SCRAM-SHA-256"})
	first := call[message.SaslAuthenticateResponse](p, 1, &message.SaslAuthenticateRequest{AuthBytes: []byte("n,,n=scram1,r=mine")})
	last := lastWithNonceTwice(t, who, "mine", string(first.AuthBytes))
	if got := call[message.SaslAuthenticateResponse](p, 1, &message.SaslAuthenticateRequest{AuthBytes: []byte(last)}); got.ErrorCode != kafka.NoError {
		t.Errorf("got %s", got.ErrorCode)
	}
}

// lastWithNonceTwice is the last message of a SCRAM log-in (RFC 5802), with the
// client's nonce once more before the right one.
func lastWithNonceTwice(t *testing.T, who account, nonce, challenge string) string {
	t.Helper()
	fields := strings.Split(challenge, ",") // r=, s=, i=
	salt, err := base64.StdEncoding.DecodeString(fields[1][2:])
	if err != nil {
		t.Fatal(err)
	}
	iterations, err := strconv.Atoi(fields[2][2:])
	if err != nil {
		t.Fatal(err)
	}
	m := who.mechanism
	salted, err := pbkdf2.Key(m.Hash, who.password, salt, iterations, m.KeySize())
	if err != nil {
		t.Fatal(err)
	}
	last := "c=biws,r=" + nonce + fields[0][2:]
	key := m.HMAC(salted, "Client Key")
	signature := m.HMAC(m.Sum(key), "n="+who.name+",r="+nonce+","+challenge+","+last)
	for i := range key {
		key[i] ^= signature[i]
	}
	return last + ",p=" + base64.StdEncoding.EncodeToString(key)
}

func wrongPasswordEnds(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.SASL)
	if code := p.logIn("admin", "bad"); code != kafka.SASLAuthenticationFailed {
		t.Errorf("got %s", code)
	}
	p.mustEnd()
}

func baseOffsets(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.Plain)
	p.newTopic("t")
	bad := batch(10)
	bad[7] = 77
	if got, _ := p.produce("t", bad); got.ErrorCode != kafka.InvalidRecord {
		t.Errorf("got %s", got.ErrorCode)
	}
}

// compressedGarbage: the recorded batches say that they are compressed and are
// not. Kafka answers -1 to both.
func compressedGarbage(t *testing.T, _ *brokertest.Broker) {
	b := brokertest.Start(t, anyTime, func(c *broker.Config) { c.Properties["log.validate.records"] = "true" })
	dial(t, b.Plain).newTopic("raw-t")
	for id, want := range map[string]kafka.Code{"0.9-5": kafka.InvalidRecord, "0.9-14": kafka.InvalidRecord} {
		if got := resend(t, dial(t, b.Plain), id); got.ErrorCode != want {
			t.Errorf("%s: %s", id, got.ErrorCode)
		}
	}
}

// resend sends a recorded Produce and gives the answer of its partition.
func resend(t *testing.T, p *peer, id string) message.ProduceResponsePartition {
	t.Helper()
	all := recordings(t)
	r := all[slices.IndexFunc(all, func(r *recorded) bool { return r.ID == id })]
	key, version, _ := codec.PeekKey(r.Request)
	p.raw(sized(r.Request))
	_, body, err := codec.ParseResponseHeader(p.readFrame(), version >= 9)
	if err != nil || key != kafka.KeyProduce {
		t.Fatal(err, key)
	}
	var resp message.ProduceResponse
	if err := codec.Decode(body, version, version >= 9, &resp, 1<<20); err != nil {
		t.Fatal(err)
	}
	return resp.Responses[0].PartitionResponses[0]
}

// sequences are those that one producer of the recordings sent.
func sequences(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.Plain)
	call[message.CreateTopicsResponse](p, 7, &message.CreateTopicsRequest{TimeoutMs: 1000, Topics: []message.CreateTopicsTopic{{Name: "raw-t", NumPartitions: 2, ReplicationFactor: 1}}})
	for _, step := range []struct {
		id     string
		code   kafka.Code
		offset int64
	}{
		{"0.9-17", kafka.NoError, 0},                  // epoch 0, sequence 0
		{"0.9-18", kafka.NoError, 1},                  // sequence 1
		{"0.9-19", kafka.NoError, 0},                  // sequence 0 again
		{"0.9-9", kafka.OutOfOrderSequenceNumber, -1}, // sequence 5
		{"0.9-20", kafka.NoError, 2},                  // epoch 1
		{"0.9-10", kafka.InvalidProducerEpoch, -1},    // epoch 0
	} {
		if got := resend(t, p, step.id); got.ErrorCode != step.code || got.BaseOffset != step.offset {
			t.Errorf("%s: %s at %d, want %s at %d", step.id, got.ErrorCode, got.BaseOffset, step.code, step.offset)
		}
	}
}

func firstSequence(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.Plain)
	p.newTopic("t")
	p.mustProduce("t", record.NewBuilder(record.None).Producer(4711, 0, 4).Add(time.Now().UnixMilli(), nil, []byte("v")).Batch())
}

func defaultIsAName(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.Plain)
	p.alterEntity(entityOf(named(kafka.EntityUser, "<default>")), set(kafka.ProducerByteRate, 100))
	all := p.describeAll(1, false).Entries
	if len(all) != 1 || text(all[0].Entity[0].EntityName) != "<default>" {
		t.Errorf("got %+v", all)
	}
}

func bothMechanisms(t *testing.T, b *brokertest.Broker) {
	p := dial(t, b.Plain)
	req := &message.AlterUserScramCredentialsRequest{}
	for _, m := range []kafka.ScramMechanism{kafka.ScramSHA256, kafka.ScramSHA512} {
		req.Upsertions = append(req.Upsertions, message.AlterUserScramCredentialsUpsertion{
			Name: "u", Mechanism: int8(m), Iterations: 4096, Salt: []byte("salt"), SaltedPassword: make([]byte, m.KeySize())})
	}
	p.alterScram(req)
}
