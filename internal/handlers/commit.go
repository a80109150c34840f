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

// forAlter is the context for a change of quotas, which waits for others, and
// commits.
func (c *call) forAlter() context.Context {
	return quota.Waiting(c.ctx, func() func() {
		began := time.Now()
		return func() { c.committing += time.Since(began) }
	})
}
