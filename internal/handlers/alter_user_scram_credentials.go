package handlers

import (
	"bytes"
	"slices"
	"strings"

	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/server"
)

// AlterUserScramCredentials (key 51, KIP-554): v0, flexible. The client salts
// and hashes the password; what is kept are the keys derived from that, on disk
// and in force for log-ins before the answer. The sessions of a user who can no
// longer log in end. Every user, done or refused, is one line of the audit log.
//
// A credential set here stands beside the entry of the credentials file and, for
// its mechanism, over it, until it is removed here. What the file gives cannot be
// removed here (91).
//
// Differs from Kafka: both mechanisms of a user may be altered in one request,
// as the KIP says (Kafka: 92); the same one twice is 92. An empty salted password
// is 93 (Kafka: -1).
func (h *Handlers) alterUserScramCredentials(c *call, req *message.AlterUserScramCredentialsRequest) (*message.AlterUserScramCredentialsResponse, error) {
	if err := tooMany(len(req.Deletions) + len(req.Upsertions)); err != nil {
		return nil, err
	}
	edits := scramEdits(req)
	if err := c.allow(kafka.OpAlter, kafka.Cluster); err != nil {
		for _, e := range edits {
			e.err = err
		}
		slices.SortFunc(edits, func(a, b *scramEdit) int { return strings.Compare(a.user, b.user) })
	} else {
		c.alterScrams(edits)
	}
	resp := &message.AlterUserScramCredentialsResponse{Results: []message.AlterUserScramCredentialsResponseResult{}}
	for _, e := range edits {
		c.auditScram(e)
		resp.Results = append(resp.Results, message.AlterUserScramCredentialsResponseResult{
			User: e.user, ErrorCode: c.code(e.err), ErrorMessage: text(e.err),
		})
	}
	return resp, nil
}

// scramEdit is what a request asks for one user, and what became of it: all of
// it is done, or nothing.
type scramEdit struct {
	user    string
	deleted []kafka.ScramMechanism
	set     []kafka.ScramCredential
	err     error // the first fault
}

// scramEdits brings a request together by user, in the order they are first
// named, deletions before upsertions.
func scramEdits(req *message.AlterUserScramCredentialsRequest) []*scramEdit {
	var edits []*scramEdit
	byUser := map[string]*scramEdit{}
	of := func(user string) *scramEdit {
		e, ok := byUser[user]
		if !ok {
			e = &scramEdit{user: user}
			byUser[user], edits = e, append(edits, e)
		}
		return e
	}
	for _, asked := range req.Deletions {
		of(asked.Name).remove(kafka.ScramMechanism(asked.Mechanism))
	}
	for i := range req.Upsertions {
		of(req.Upsertions[i].Name).upsert(&req.Upsertions[i])
	}
	return edits
}

func (e *scramEdit) remove(m kafka.ScramMechanism) {
	if e.check(m) {
		e.deleted = append(e.deleted, m)
	}
}

func (e *scramEdit) upsert(asked *message.AlterUserScramCredentialsUpsertion) {
	m := kafka.ScramMechanism(asked.Mechanism)
	switch {
	case !e.check(m):
	case asked.Iterations < kafka.MinScramIterations || asked.Iterations > kafka.MaxScramIterations:
		e.err = kafka.Errorf(kafka.UnacceptableCredential, "%d iterations are outside %d to %d",
			asked.Iterations, kafka.MinScramIterations, kafka.MaxScramIterations)
	case len(asked.SaltedPassword) == 0:
		e.err = kafka.Errorf(kafka.UnacceptableCredential, "the salted password is empty")
	default:
		e.set = append(e.set, kafka.SaltedScramCredential(m, asked.SaltedPassword, bytes.Clone(asked.Salt), int(asked.Iterations)))
	}
}

// check judges what deletions and upsertions have in common. The first fault of
// a user stays.
func (e *scramEdit) check(m kafka.ScramMechanism) bool {
	switch {
	case e.err != nil:
		return false
	case e.user == "":
		e.err = kafka.Errorf(kafka.UnacceptableCredential, "the user name is empty")
	case !slices.Contains(kafka.ScramMechanisms, m):
		e.err = kafka.Errorf(kafka.UnsupportedSASLMechanism, "SCRAM mechanism %d is not known: 1 (SCRAM-SHA-256) and 2 (SCRAM-SHA-512) are", m)
	case e.alters(m):
		e.err = kafka.Errorf(kafka.DuplicateResource, "the %s credential of user %q is altered more than once", m, e.user)
	}
	return e.err == nil
}

func (e *scramEdit) alters(m kafka.ScramMechanism) bool {
	return slices.Contains(e.deleted, m) || slices.ContainsFunc(e.set, func(c kafka.ScramCredential) bool { return c.Mechanism == m })
}

// alterScrams makes the edits that can be made, in one commit.
func (c *call) alterScrams(edits []*scramEdit) {
	_, err := c.update(func(d *metadata.Draft) error {
		for _, e := range edits {
			if e.err == nil {
				e.err = c.addScrams(d, e)
			}
		}
		return nil
	})
	lost := map[string]bool{}
	for _, e := range edits {
		if e.err == nil {
			e.err = err
		}
		if e.err == nil && len(e.deleted) > 0 && !c.h.knows(e.user) {
			lost[e.user] = true
		}
	}
	c.expel(lost)
}

// addScrams adds the changes of one user to a draft, after it has seen that all
// of them fit.
func (c *call) addScrams(d *metadata.Draft, e *scramEdit) error {
	for _, m := range e.deleted {
		if _, ok := d.Scram(e.user, m); ok {
			continue
		}
		if _, ok := c.h.Credentials().Scram(e.user, m); ok {
			return kafka.Errorf(kafka.ResourceNotFound, "the %s credential of user %q is in the credentials file: it can only be removed there", m, e.user)
		}
		return kafka.Errorf(kafka.ResourceNotFound, "user %q has no %s credential", e.user, m)
	}
	var changes []metadata.Change
	for _, m := range e.deleted {
		changes = append(changes, metadata.ScramCredentialRemoved{User: metadata.Name(e.user), Mechanism: m})
	}
	for _, credential := range e.set {
		changes = append(changes, metadata.NewScramCredentialSet(e.user, credential))
	}
	return d.Add(changes...)
}

// knows says whether a user can log in in any way.
func (h *Handlers) knows(user string) bool {
	for _, m := range kafka.ScramMechanisms {
		if _, ok := h.Secrets.Scram(user, m); ok {
			return true
		}
	}
	_, ok := h.Secrets.Plain(user)
	return ok
}

// expel ends the sessions of users. If one of them is asking, its connection
// ends with the answer.
func (c *call) expel(users map[string]bool) {
	if len(users) == 0 {
		return
	}
	if user, ok := LoggedIn(c.session); ok && users[user] {
		c.answer.Close = true
	}
	c.h.CloseSessions(func(s server.Session) bool {
		user, ok := LoggedIn(s)
		return ok && users[user] && s != server.Session(c.session)
	})
}

// auditScram writes the line that tells whose credentials were changed by whom,
// or why not.
func (c *call) auditScram(e *scramEdit) {
	name := "user " + e.user
	if e.err != nil {
		c.auditRefused("SCRAM credential change refused", "entity", func() string { return name }, e.err)
		return
	}
	c.h.audit.Info("SCRAM credentials changed", append(c.who(), zap.String("entity", name), zap.Stringers("removed", e.deleted), zap.Stringers("set", e.set))...)
}
