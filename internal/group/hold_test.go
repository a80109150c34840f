package group

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// newMember is the id of a group's only member.
func newMember(c *Coordinator, name string) string {
	answer := c.Join(time.Now(), name, consumer(""))
	<-answer.Done()
	return answer.Value().MemberID
}

// TestLongWaitsAreTold: the log hears once of each group whose members are held
// for longer than a session, and of all groups once in a while.
func TestLongWaitsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, nil)
		core, lines := observer.New(zap.WarnLevel)
		c.logger = zap.New(core)
		ids := map[string]string{}
		for _, name := range []string{"a", "b"} {
			ids[name] = newMember(c, name)
		}
		for _, step := range []struct {
			group string
			wait  time.Duration
			told  int // lines in all
		}{
			{"a", 10 * time.Second, 0}, // not longer than the session
			{"a", 11 * time.Second, 1},
			{"a", time.Minute, 1},
			{"b", time.Minute, 1}, // too soon after the last line
		} {
			c.Hold(time.Now(), step.group, ids[step.group], step.wait).Release(time.Now())
			if got := lines.Len(); got != step.told {
				t.Errorf("%s for %v: %d lines, want %d", step.group, step.wait, got, step.told)
			}
		}
		time.Sleep(tellEvery / 2)
		for _, name := range []string{"a", "b"} {
			c.Hold(time.Now(), name, ids[name], time.Hour) // and they stay
		}
		time.Sleep(tellEvery / 2)
		for _, name := range []string{"a", "b", "b"} {
			c.Hold(time.Now(), name, ids[name], time.Hour).Release(time.Now())
		}
		all := lines.All()
		if len(all) != 2 || all[0].ContextMap()["group"] != "a" || all[1].ContextMap()["group"] != "b" {
			t.Errorf("the log was told %v", all)
		}
	})
}

// TestHoldOfNobody: who is no member is not held, and a hold that outlives its
// member or its group does nothing.
func TestHoldOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, nil)
		id := newMember(c, "g")
		for _, who := range []struct{ group, member string }{{"other", id}, {"g", "other"}, {"g", ""}} {
			if h := c.Hold(time.Now(), who.group, who.member, time.Hour); h != nil {
				t.Errorf("%q of %q is held", who.member, who.group)
			}
		}
		of := c.Hold(time.Now(), "g", id, time.Second)
		if _, err := c.Leave(time.Now(), "g", []Leave{{MemberID: id}}); err != nil {
			t.Fatal(err)
		}
		of.Release(time.Now())
		next := newMember(c, "g")
		of = c.Hold(time.Now(), "g", next, time.Second)
		if _, err := c.Leave(time.Now(), "g", []Leave{{MemberID: next}}); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), time.Now(), "g"); err != nil {
			t.Fatal(err)
		}
		of.Release(time.Now())
		if d, ok := c.Describe("g"); ok {
			t.Errorf("the group is back: %+v", d)
		}
	})
}
