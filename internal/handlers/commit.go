package handlers

import (
	"context"
	"time"

	"kaasd/internal/metadata"
	"kaasd/internal/quota"
)

// update commits what plan adds to the metadata. The plan is work of the
// request, the wait for others and for the disk is not.
func (c *call) update(plan func(*metadata.Draft) error) (*metadata.Image, error) {
	began, planned := time.Now(), time.Duration(0)
	image, err := c.h.Metadata.Update(c.ctx, func(d *metadata.Draft) error {
		at := time.Now()
		err := plan(d)
		planned = time.Since(at)
		return err
	})
	c.committing += time.Since(began) - planned
	return image, err
}

// Committing says that the request whose context this is waits for a commit
// until done is called. It is for those who commit on behalf of a request
// without knowing it, such as the journal of the quotas.
func Committing(ctx context.Context) (done func()) {
	c, ok := ctx.Value(committer{}).(*call)
	if !ok {
		return func() {}
	}
	began := time.Now()
	return func() { c.committing += time.Since(began) }
}

// committer is the key of the call in the contexts it gives to others.
type committer struct{}

// forAlter is the context for a change of quotas, which waits for others, and
// commits.
func (c *call) forAlter() context.Context {
	ctx := context.WithValue(c.ctx, committer{}, c)
	return quota.Waiting(ctx, func() func() { return Committing(ctx) })
}
