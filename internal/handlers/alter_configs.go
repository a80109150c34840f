package handlers

import (
	"go.uber.org/zap"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// AlterConfigs (key 33, KIP-133): v0-2, flexible from v2. It replaces all
// overrides of a resource: what is not sent is reset.
func (h *Handlers) alterConfigs(c *call, req *message.AlterConfigsRequest) (*message.AlterConfigsResponse, error) {
	if err := tooMany(len(req.Resources)); err != nil {
		return nil, err
	}
	var edits []configEdit
	for _, asked := range req.Resources {
		r := configResource{asked.ResourceType, asked.ResourceName}
		edits = append(edits, configEdit{resource: r, next: func(m *metadata.Image) (map[string]string, error) { return r.replace(m, asked.Configs) }})
	}
	faults := c.alterAll(edits, req.ValidateOnly)
	resp := &message.AlterConfigsResponse{Responses: []message.AlterConfigsResponseResource{}}
	for i, asked := range req.Resources {
		resp.Responses = append(resp.Responses, message.AlterConfigsResponseResource{
			ErrorCode: c.code(faults[i]), ErrorMessage: text(faults[i]), ResourceType: asked.ResourceType, ResourceName: asked.ResourceName,
		})
	}
	return resp, nil
}

func (r configResource) replace(m *metadata.Image, asked []message.AlterConfigsConfig) (map[string]string, error) {
	next := make(map[string]string, len(asked))
	for _, config := range asked {
		if config.Value == nil {
			return nil, kafka.Errorf(kafka.InvalidRequest, "config %q has no value", config.Name)
		}
		value, err := r.parse(m, config.Name, *config.Value)
		if err != nil {
			return nil, err
		}
		next[config.Name] = value
	}
	_, missing := r.overrides(m)
	return next, missing
}

// configEdit is what a request asks of one resource: next makes its new
// overrides of an image.
type configEdit struct {
	resource configResource
	next     func(m *metadata.Image) (map[string]string, error)
	// live, when set, makes the edit instead, of what is not in the metadata.
	live func() error
}

// altered is an edit that goes into the commit, for the log.
type altered struct {
	resource configResource
	old, new map[string]string
}

// alterAll makes the edits that can be made, in one commit, and says what is
// wrong with the others. A resource named twice has none of its edits made, and
// what the caller may not alter does not come into the commit.
func (c *call) alterAll(edits []configEdit, validateOnly bool) []error {
	faults, may := c.mayAlter(edits)
	var done []altered
	plan := func(d *metadata.Draft) error {
		for i, e := range edits {
			if e.live != nil || faults[i] != nil {
				continue
			}
			var a altered
			if a, faults[i] = alterOne(d, e); faults[i] == nil {
				done = append(done, a)
			}
		}
		return nil
	}
	switch {
	case !may:
		return alterLive(edits, faults)
	case validateOnly:
		_ = c.h.Metadata.Try(plan)
		return alterLive(edits, faults)
	}
	if _, err := c.update(plan); err != nil {
		return failed(faults, err)
	}
	for _, a := range done {
		c.h.log.Info("configs changed", append(c.who(), zap.Stringer("resource", a.resource), zap.Any("old", a.old), zap.Any("new", a.new))...)
	}
	return alterLive(edits, faults)
}

// mayAlter says what is wrong with edits whatever the metadata is, and whether
// any is left that goes into the commit.
func (c *call) mayAlter(edits []configEdit) (faults []error, any bool) {
	times := map[configResource]int{}
	for _, e := range edits {
		times[e.resource]++
	}
	faults = make([]error, len(edits))
	for i, e := range edits {
		switch n := times[e.resource]; {
		case n > 1:
			faults[i] = kafka.Errorf(kafka.InvalidRequest, "a resource may be named once, %q is named %d times", e.resource.name, n)
		case e.live == nil:
			faults[i] = c.mayAlterOne(e.resource)
			any = any || faults[i] == nil
		}
	}
	return faults, any
}

func (c *call) mayAlterOne(r configResource) error {
	switch r.kind {
	case configTopic, configBroker:
	default:
		return noConfigs(r.kind)
	}
	if err := c.allow(kafka.OpAlterConfigs, r.acl()); err != nil {
		return err
	}
	if r.kind == configBroker {
		return c.h.checkBroker(r.name, true)
	}
	return nil
}

// alterLive makes the edits of what is not in the metadata.
func alterLive(edits []configEdit, faults []error) []error {
	for i, e := range edits {
		if e.live != nil && faults[i] == nil {
			faults[i] = e.live()
		}
	}
	return faults
}

// failed gives those without a fault that of the commit.
func failed(faults []error, err error) []error {
	for i := range faults {
		if faults[i] == nil {
			faults[i] = err
		}
	}
	return faults
}

func alterOne(d *metadata.Draft, e configEdit) (altered, error) {
	r := e.resource
	next, err := e.next(&d.Image)
	if err != nil {
		return altered{}, err
	}
	old, err := r.overrides(&d.Image)
	if err != nil {
		return altered{}, err
	}
	return altered{r, old, next}, d.Add(r.set(&d.Image, next))
}
