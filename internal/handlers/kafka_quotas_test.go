package handlers

import (
	"maps"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

// Entities come back as they were sent: their parts in the same order, their
// names byte for byte, one answer for each in the order of first appearance.
func TestAlterEchoesEntities(t *testing.T) {
	p := newRig(t, withKafkaModel).connect(plainListener)
	const rate = kafka.ProducerByteRate
	got := alter(p, false, entry("client-id=c user=u", rate, 5.0), entry("user client-id", rate, 5.0), entry("client-id=<default> user", rate, 5.0),
		entry("ip=0:0:0:0:0:0:0:1", kafka.ConnectionCreationRate, 5.0), entry("ip=::1", kafka.ConnectionCreationRate, 5.0), entry("user=\xff\x00", rate, 5.0),
		entry("user=b", rate, -5.0), entry("user=u client-id=c", rate, 6.0))
	want := []string{"client-id=c user=u 42", "user=(null) client-id=(null) 0", "client-id=<default> user=(null) 0", "ip=0:0:0:0:0:0:0:1 0", "ip=::1 0",
		"user=\xff\x00 0", "user=b 42"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	all := described(describe(p, false))
	want = []string{"user=\xff\x00 producer_byte_rate=5", "user=(null)client-id=<default> producer_byte_rate=5", "user=(null)client-id=(null) producer_byte_rate=5",
		"ip=0:0:0:0:0:0:0:1 connection_creation_rate=5", "ip=::1 connection_creation_rate=5"}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// What is altered is kept before it is answered, all entries of a request
// together; what is only checked is not.
func TestAlterIsKept(t *testing.T) {
	r := newRig(t, withKafkaModel)
	p := r.connect(plainListener)
	alter(p, true, entry("user=a", kafka.ProducerByteRate, 5.0))
	if len(r.journal.kept) != 0 {
		t.Errorf("a check is kept: %v", r.journal.kept)
	}
	alter(p, false, entry("user=a", kafka.ProducerByteRate, 5.0), entry("user=b", kafka.ProducerByteRate, -5.0), entry("client-id", kafka.ControllerMutationRate, 0.5))
	alter(p, false, entry("user=a", "-"+kafka.ProducerByteRate))
	want := [][]quota.Setting{
		{{Entity: kafka.UserEntity("a"), Limits: quota.Limits{kafka.ProducerByteRate: 5}},
			{Entity: kafka.Entity{ClientID: kafka.EntityName{Present: true, Default: true}}, Limits: quota.Limits{kafka.ControllerMutationRate: 0.5}}},
		{{Entity: kafka.UserEntity("a"), Limits: quota.Limits{}}},
	}
	if diff := cmp.Diff(want, r.journal.kept, cmp.Comparer(sameSetting)); diff != "" {
		t.Error(diff)
	}
}

func sameSetting(a, b quota.Setting) bool {
	return a.Entity == b.Entity && a.Address == b.Address && maps.Equal(a.Limits, b.Limits)
}

// When nothing can be kept, every entry that was good says so, and the limits
// are what they were.
func TestAlterThatCannotBeKept(t *testing.T) {
	r := newRig(t, withKafkaModel)
	p := r.connect(plainListener)
	alter(p, false, entry("user=a", kafka.ProducerByteRate, 5.0))
	before := described(describe(p, false))
	r.journal.fails = kafka.Hide(kafka.KafkaStorageError, os.ErrPermission)
	got := alter(p, false, entry("user=a", kafka.ProducerByteRate, 6.0), entry("user=b", kafka.ProducerByteRate, -5.0), entry("user=c", kafka.ProducerByteRate, 5.0))
	if diff := cmp.Diff([]string{"user=a 56", "user=b 42", "user=c 56"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, described(describe(p, false))); diff != "" {
		t.Error(diff)
	}
	r.journal.fails = nil
	if diff := cmp.Diff([]string{"user=a 0"}, alter(p, false, entry("user=a", kafka.ProducerByteRate, 6.0))); diff != "" {
		t.Error(diff)
	}
}

// T5 and T6: permission is asked for before anything is looked at.
func TestKafkaQuotasNeedPermission(t *testing.T) {
	p := newRig(t, withKafkaModel, withAuthorizer()).connect(plainListener)
	resp := describe(p, false, "group=x", "user:exact")
	if resp.ErrorCode != kafka.ClusterAuthorizationFailed || resp.ErrorMessage != nil || resp.Entries != nil {
		t.Errorf("got %+v", resp)
	}
	got := alter(p, false, entry("user=a", "bogus", 1.0), entry("ip=nowhere"), entry("user=a", "bogus", 1.0))
	if diff := cmp.Diff([]string{"user=a 31", "ip=nowhere 31", "user=a 31"}, got); diff != "" {
		t.Error(diff)
	}
}

// An entry is echoed in both versions.
func TestAlterByVersion(t *testing.T) {
	for v := int16(0); v <= 1; v++ {
		p := newRig(t, withKafkaModel).connect(plainListener)
		var resp message.AlterClientQuotasResponse
		p.get(kafka.KeyAlterClientQuotas, v, &message.AlterClientQuotasRequest{Entries: []message.AlterClientQuotasEntry{entry("user client-id=c", kafka.RequestPercentage, 0.5)}}, &resp)
		want := message.AlterClientQuotasResponse{Entries: []message.AlterClientQuotasResponseEntry{{
			Entity: []message.AlterClientQuotasResponseEntity{{EntityType: "user"}, {EntityType: "client-id", EntityName: ptr("c")}}}}}
		if diff := cmp.Diff(want, resp); diff != "" {
			t.Errorf("v%d: %s", v, diff)
		}
		var all message.DescribeClientQuotasResponse
		p.get(kafka.KeyDescribeClientQuotas, v, &message.DescribeClientQuotasRequest{Components: []message.DescribeClientQuotasComponent{component("user:default")}}, &all)
		if diff := cmp.Diff([]string{"user=(null)client-id=c request_percentage=0.5"}, described(&all)); diff != "" {
			t.Errorf("v%d: %s", v, diff)
		}
	}
}
