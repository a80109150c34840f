package handlers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"kaasd/internal/codec"
	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

func TestTable(t *testing.T) {
	r := newRig(t)
	if !slices.IsSortedFunc(r.routes.inOrder, func(a, b *route) int { return int(a.Key) - int(b.Key) }) {
		t.Error("the table is not in key order")
	}
	if got, want := len(r.routes.inOrder), len(message.APIs()); got != want {
		t.Errorf("%d APIs are served, %d can be decoded", got, want)
	}
	var lines []string
	for _, route := range r.routes.inOrder {
		lines = append(lines, fmt.Sprintf("%d:%d-%d", route.Key, route.listed, route.high))
	}
	want := "0:0-13 1:4-18 2:1-11 3:0-13 8:2-10 9:1-10 10:0-6 11:0-9 12:0-4 13:0-5 14:0-5 15:0-6 16:0-5 17:0-1 18:0-4 19:2-7 20:1-6 21:0-2 22:0-5 23:2-4 29:1-3 30:1-3 31:1-3 32:1-4 33:0-2 34:1-2 35:1-5 36:0-2 37:0-3 42:0-3 43:0-2 44:0-1 45:0-1 46:0-0 47:0-0 48:0-1 49:0-1 50:0-0 51:0-0 55:0-2 57:0-2 60:0-2 61:0-0 74:0-1 75:0-0"
	if got := strings.Join(lines, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestApiVersions(t *testing.T) {
	r := newRig(t)
	for version := range int16(5) {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			var resp message.ApiVersionsResponse
			r.connect(plainListener).get(kafka.KeyApiVersions, version, &message.ApiVersionsRequest{ClientSoftwareName: "go-test", ClientSoftwareVersion: "1.0"}, &resp)
			want := message.ApiVersionsResponseKey{ApiKey: kafka.KeyProduce, MinVersion: 0, MaxVersion: 13}
			if resp.ErrorCode != 0 || resp.ApiKeys[0] != want || len(resp.ApiKeys) != len(r.routes.inOrder) {
				t.Errorf("got %+v", resp)
			}
		})
	}
	for name, ok := range map[string]bool{"a": true, "apache-kafka-java": true, "1.2": true, "": false, "-a": false, "a.": false, "a b": false, "raw client!": false, "\u00e4": false} {
		t.Run("software "+name, func(t *testing.T) {
			for _, req := range []message.ApiVersionsRequest{{ClientSoftwareName: name, ClientSoftwareVersion: "1"}, {ClientSoftwareName: "a", ClientSoftwareVersion: name}} {
				var resp message.ApiVersionsResponse
				r.connect(plainListener).get(kafka.KeyApiVersions, 3, &req, &resp)
				if (resp.ErrorCode == 0) != ok || !ok && (resp.ErrorCode != kafka.InvalidRequest || len(resp.ApiKeys) != 0) {
					t.Errorf("got %+v", resp)
				}
			}
		})
	}
}

// Traps 4 and 5: the answer to a version above ours is in the layout of version
// 0 and names key 18 alone, whatever the body holds.
func TestApiVersionsOfAnotherAge(t *testing.T) {
	for _, version := range []int16{5, 6, 99, 32767, -1} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			c := newRig(t).connect(plainListener)
			got, err := c.exchange(versionsFrame(version, 77))
			want := []byte{0, 0, 0, 77, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4}
			if err != nil || !bytes.Equal(got, want) || c.last.Close {
				t.Errorf("got %x, %v, want %x", got, err, want)
			}
			c.get(kafka.KeyApiVersions, 4, &message.ApiVersionsRequest{ClientSoftwareName: "a", ClientSoftwareVersion: "1"}, &message.ApiVersionsResponse{})
		})
	}
	t.Run("a cut header", func(t *testing.T) {
		if _, err := newRig(t).connect(plainListener).exchange(versionsFrame(5, 1)[:10]); err == nil {
			t.Error("was answered")
		}
	})
}

func TestApiVersionsHeaderIsNeverFlexible(t *testing.T) {
	c := newRig(t).connect(plainListener)
	frame, err := c.exchange(c.frame(kafka.KeyApiVersions, 3, &message.ApiVersionsRequest{ClientSoftwareName: "a", ClientSoftwareVersion: "1"}))
	if err != nil || binary.BigEndian.Uint16(frame[4:]) != 0 || frame[6] != 46 { // error 0, then 45 keys
		t.Errorf("got %x, %v", frame[:8], err)
	}
}

func TestUnsupportedRequestsCloseTheConnection(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		key     kafka.APIKey
		version int16
	}{{93, 0}, {500, 0}, {-1, 0}, {4, 0}, {56, 0}, {127, 0}, {0, 2}, {1, 3}, {3, 14}, {8, 1}, {3, -1}, {32767, 3}} {
		t.Run(fmt.Sprintf("%d version %d", c.key, c.version), func(t *testing.T) {
			frame := binary.BigEndian.AppendUint16(nil, uint16(c.key))
			frame = binary.BigEndian.AppendUint16(frame, uint16(c.version))
			if _, err := r.connect(plainListener).exchange(append(frame, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0)); err == nil {
				t.Error("was answered")
			}
		})
	}
	if got := testutil.ToFloat64(r.metrics.unsupported); got != 12 {
		t.Errorf("%v were counted", got)
	}
}

func TestBodiesThatDoNotDecode(t *testing.T) {
	bomb := binary.BigEndian.AppendUint32(nil, 1<<31-1)
	for _, c := range []struct {
		name    string
		version int16
		body    []byte
	}{
		{"cut off", 1, []byte{0, 0, 0, 9}},
		{"an array bomb", 1, bomb},
		{"a tag bomb", 9, []byte{0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}},
		{"a negative string", 1, []byte{0, 0, 0, 1, 0xff, 0xfe}},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := newRig(t).connect(plainListener)
			frame := []byte{0, 3, 0, byte(c.version), 0, 0, 0, 1, 0xff, 0xff}
			if c.version >= 9 {
				frame = append(frame, 0)
			}
			if _, err := conn.exchange(append(frame, c.body...)); err == nil {
				t.Error("was answered")
			}
		})
	}
}

// panicking is a rig whose Metadata route does something else.
func panicking(t *testing.T, do func()) *rig {
	r := newRig(t)
	r.routes.find(kafka.KeyMetadata).handle = func(*call, []byte) (codec.Message, error) {
		do()
		return nil, nil
	}
	return r
}

func TestPanics(t *testing.T) {
	t.Run("in a handler", func(t *testing.T) {
		r := panicking(t, func() { panic("boom") })
		r.crash = func(any) { t.Error("the process ends") }
		got, err := r.connect(plainListener).try(kafka.KeyMetadata, 1, &message.MetadataRequest{})
		if got.message != nil || err == nil {
			t.Errorf("answered %v, %v", got.message, err)
		}
		if got := testutil.ToFloat64(r.metrics.errors.WithLabelValues("Metadata", "UNKNOWN_SERVER_ERROR")); got != 1 {
			t.Errorf("%v were counted", got)
		}
		logged := r.lines.FilterMessage("request panicked").All()
		if len(logged) != 1 || !strings.Contains(fmt.Sprint(logged[0].ContextMap()["stack"]), "mux_test.go") {
			t.Errorf("got %v", logged)
		}
	})
	t.Run("in the metadata", func(t *testing.T) {
		var crashed any
		r := panicking(t, nil)
		r.routes.find(kafka.KeyMetadata).handle = func(c *call, _ []byte) (codec.Message, error) {
			_ = r.Handlers.Metadata.Try(func(*metadata.Draft) error { panic("what is on disk?") })
			return nil, nil
		}
		r.crash = func(cause any) { crashed = cause }
		_, err := r.connect(plainListener).try(kafka.KeyMetadata, 1, &message.MetadataRequest{})
		if crashed != "what is on disk?" || err == nil {
			t.Errorf("crashed with %v, %v", crashed, err)
		}
	})
}

func TestRequestMetrics(t *testing.T) {
	r := newRig(t)
	c := r.connect(plainListener)
	c.get(kafka.KeyMetadata, 9, &message.MetadataRequest{Topics: named("x", "y", "a b")}, &message.MetadataResponse{})
	c.get(kafka.KeyDescribeCluster, 0, &message.DescribeClusterRequest{}, &message.DescribeClusterResponse{})
	var found []string
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "kaasd_request") {
			continue
		}
		for _, m := range f.GetMetric() {
			if v := m.GetCounter().GetValue(); v > 0 {
				found = append(found, fmt.Sprintf("%s %s %v", f.GetName(), m.GetLabel()[len(m.GetLabel())-1].GetValue(), v))
			}
			if n := m.GetHistogram().GetSampleCount(); n > 0 {
				found = append(found, fmt.Sprintf("%s %s %v", f.GetName(), m.GetLabel()[0].GetValue(), n))
			}
		}
	}
	expect := []string{
		"kaasd_request_duration_seconds DescribeCluster 1", "kaasd_request_duration_seconds Metadata 1",
		"kaasd_request_errors_total INVALID_TOPIC_EXCEPTION 1", "kaasd_request_errors_total UNKNOWN_TOPIC_OR_PARTITION 2",
		"kaasd_requests_total DescribeCluster 1", "kaasd_requests_total Metadata 1",
	}
	if diff := cmp.Diff(expect, found); diff != "" {
		t.Error(diff)
	}
}

// What a fetch waits for records is not in the time that requests take.
func TestRequestDurationIsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.topic("orders", 1).ID
		began := time.Now()
		r.connect(plainListener).ask(kafka.KeyFetch, 13, waiting(id, 0, time.Hour, 1))
		if got := time.Since(began); got != time.Hour {
			t.Fatalf("it waited for %v", got)
		}
		families, err := r.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if sum := m.GetHistogram().GetSampleSum(); f.GetName() == "kaasd_request_duration_seconds" && sum != 0 {
					t.Errorf("%v take %g s", m.GetLabel(), sum)
				}
			}
		}
		if n := r.metric("kaasd_request_duration_seconds", "api=Fetch"); n != 1 {
			t.Errorf("%g fetches are counted", n)
		}
	})
}

func TestQuotaClientFollowsTheClientID(t *testing.T) {
	r := newRig(t)
	s := r.connect(plainListener).session.(*session)
	a := s.quotaClient("a")
	if s.quotaClient("a") != a || s.quotaClient("") == a || s.quotaClient("a") == nil {
		t.Error("the quota client is not that of the client id")
	}
}
