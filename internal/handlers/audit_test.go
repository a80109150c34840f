package handlers

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/quota"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests compare with")

// audited are the lines of the audit log since the last look, as JSON.
func (r *rig) audited() string {
	var all strings.Builder
	for _, line := range r.lines.TakeAll() {
		if line.LoggerName != "audit" {
			continue
		}
		fields, err := json.Marshal(line.ContextMap())
		if err != nil {
			r.t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s\n", line.Message, fields)
	}
	return all.String()
}

// TestQuotaAudit compares the audit log of alterations with testdata/audit.txt:
// one line per entry says who changed what from where, from which value to
// which, or why not.
func TestQuotaAudit(t *testing.T) {
	var got strings.Builder
	tell := func(r *rig, what string, p *peer, validateOnly bool, entries ...message.AlterClientQuotasEntry) {
		alter(p, validateOnly, entries...)
		fmt.Fprintf(&got, "%s\n----\n%s\n", what, r.audited())
	}
	const rate, percent, mutations, connections = kafka.ProducerByteRate, kafka.RequestPercentage, kafka.ControllerMutationRate, kafka.ConnectionCreationRate
	long := strings.Repeat("x", 300)

	r := newRig(t, withKafkaModel, withUsers)
	r.Quotas.SetBase(map[string]quota.Limits{"alice": {rate: 1000, kafka.ConsumerByteRate: 2000}})
	p := r.connectAs("alice")
	tell(r, "every kind of entity", p, false, entry("user=alice", rate, 5.0), entry("user", percent, 12.5), entry("client-id=c", rate, 6.0), entry("client-id", mutations, 0.5),
		entry("user=a client-id=c", rate, 7.0), entry("user client-id", rate, 8.0), entry("ip=1.2.3.4", connections, 9.0), entry("ip", connections, 10.0))
	tell(r, "changed, removed, as it was", p, false, entry("user", percent, 25.0, mutations, 3.0), entry("client-id=c", "-"+rate), entry("ip=1.2.3.4", connections, 9.0),
		entry("client-id=c user=a", rate, 8.0))
	tell(r, "only checked", p, true, entry("user=b", rate, 5.0), entry("user=b client-id", rate, 0.0))
	tell(r, "refused", p, false, entry("", rate, 5.0), entry("group=g", rate, 5.0), entry("user=", rate, 5.0), entry("user=a ip=1.2.3.4", rate, 5.0), entry("ip=1.2.3", rate, 5.0),
		entry("user=a", connections, 5.0), entry("user=b", "bogus", 5.0), entry("user=c", rate, -1.0), entry("user=d", rate, 1.5), entry("user=e", rate, 5.0, "-"+rate),
		entry("user=f", rate, 5.0), entry("user=f", rate, 5.0), entry("user=alice", "-"+kafka.ConsumerByteRate))
	tell(r, "names that are long, or not text", p, false, entry("user="+long, rate, 5.0), entry("client-id=\xff\x01\"", rate, 5.0),
		entry("user=default", rate, 5.0), entry("user=a,client-id", rate, 5.0))
	r.journal.fails = kafka.Hide(kafka.KafkaStorageError, os.ErrPermission)
	tell(r, "cannot be kept", p, false, entry("user=alice", rate, 6.0), entry("user=z", rate, 0.0))
	denied := newRig(t, withKafkaModel, withAuthorizer())
	tell(denied, "denied", denied.connect(plainListener), false, entry("user=a", rate, 5.0), entry("ip=1.2.3.4", "bogus", -1.0), entry("user=a", rate, 5.0))
	user, p := withBase(t)
	tell(user, "the user model", p, false, entry("user=alice", rate, 5.0), entry("client-id=c", rate, 5.0), entry("user=bob", "bogus", 1.0))

	golden := filepath.Join("testdata", "audit.txt")
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

// TestRefusalsInBulk: who is refused thousands of changes fills no log, neither with
// lines nor with names, and hides the line of nobody else.
func TestRefusalsInBulk(t *testing.T) {
	const many = 500
	long := strings.Repeat("x", 8000)
	name := func(i int) string { return fmt.Sprint(i, long) }
	scram, acls, quotas := &message.AlterUserScramCredentialsRequest{}, &message.CreateAclsRequest{}, []message.AlterClientQuotasEntry{}
	filters := &message.DeleteAclsRequest{}
	for i := range many {
		scram.Deletions = append(scram.Deletions, message.AlterUserScramCredentialsDeletion{Name: name(i), Mechanism: 1})
		acls.Creations = append(acls.Creations, message.CreateAclsCreation{ResourceType: 2, ResourceName: name(i), ResourcePatternType: 3, Principal: "User:a", Host: "*", Operation: 3, PermissionType: 3})
		filters.Filters = append(filters.Filters, message.DeleteAclsFilter{ResourceTypeFilter: 2, ResourceNameFilter: ptr(name(i)), PatternTypeFilter: 3, Operation: 3, PermissionType: 3})
		quotas = append(quotas, entry("user="+name(i), kafka.ProducerByteRate, 5.0))
	}
	for what, ask := range map[string]func(p *peer){
		"quotas":      func(p *peer) { alter(p, false, quotas...) },
		"credentials": func(p *peer) { p.ask(kafka.KeyAlterUserScramCredentials, 0, scram) },
		"ACLs":        func(p *peer) { p.ask(kafka.KeyCreateAcls, 2, acls) },
		"filters":     func(p *peer) { p.ask(kafka.KeyDeleteAcls, 2, filters) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, withACLs)
			ask(r.connectAs("alice"))
			first := r.audited()
			if lines := strings.Count(first, "\n"); lines == 0 || lines > 64 || len(first) > lines*4000 {
				t.Errorf("%d refusals are told in %d lines of %d bytes", many, lines, len(first))
			}
			alter(r.connect(plainListener), false, entry("user=a", kafka.ProducerByteRate, 5.0))
			if got := r.audited(); strings.Count(got, "\n") != 1 {
				t.Errorf("of somebody else is told %q", got)
			}
		})
	}
}
