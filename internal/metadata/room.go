package metadata

import "kaasd/internal/kafka"

// entries are a sort of entries that has a bound of its own. Whoever has the right
// to make SCRAM credentials or ACLs could make any number of them, and all are in
// memory. Quotas have a bound of the same kind where they are judged.
type entries int

const (
	scramEntries entries = iota
	aclEntries
	sorts
)

// bounds are how many bytes the entries of a sort may count together. Each counts
// those of its names and salt, and around, which its structures and its places in
// maps and the index of ACLs come to.
var bounds = [sorts]struct {
	most, around int
	full         string // what a client is told who wants more
}{
	scramEntries: {16 << 20, 512, "all SCRAM credentials set through the API would take more than %d bytes (%d each, and the user's name and the salt): remove some, or put users into the credentials file"},
	aclEntries:   {24 << 20, 768, "all ACLs would take more than %d bytes (%d each, and the names in it): delete some, or let one with a prefix or * stand for many"},
}

// entryChange is a change of one entry that counts.
type entryChange interface {
	// adds is how many bytes more the entries of the sort take with the change;
	// below zero where they take less.
	adds(m *Image) (sort entries, bytes int)
	// checkSize says what is too long in an entry that is not there yet.
	checkSize(m *Image) error
}

// checkRoom says why there is no room for changes together: never where they add
// nothing, as what replaces and what deletes, however much is there already.
func (m *Image) checkRoom(changes []Change) error {
	var more [sorts]int
	for _, c := range changes {
		e, counts := c.(entryChange)
		if !counts {
			continue
		}
		if err := e.checkSize(m); err != nil {
			return err
		}
		sort, bytes := e.adds(m)
		more[sort] += bytes
	}
	for sort, bytes := range more {
		if b := bounds[sort]; bytes > 0 && m.held[sort]+bytes > b.most {
			return kafka.Errorf(kafka.PolicyViolation, b.full, b.most, b.around)
		}
	}
	return nil
}

// hold counts what a change adds. It comes before the change is made.
func (d *Draft) hold(c entryChange) {
	sort, bytes := c.adds(&d.Image)
	d.held[sort] += bytes
}
