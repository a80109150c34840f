package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"kaasd/internal/kafka"
)

// entityFlags name the owner of a quota.
type entityFlags struct {
	names    map[string]*string // by entity type
	defaults map[string]*bool
}

// entityTypes are in the order in which a pair is named.
var entityTypes = []string{kafka.EntityUser, kafka.EntityClientID, kafka.EntityIP}

func (f *entityFlags) add(c *cobra.Command) {
	f.names = map[string]*string{
		kafka.EntityUser:     c.Flags().String("user", "", "the quota of this user"),
		kafka.EntityClientID: c.Flags().String("client-id", "", "the quota of this client id; with --user: of the pair"),
		kafka.EntityIP:       c.Flags().String("ip", "", "the quota of this address"),
	}
	f.defaults = map[string]*bool{
		kafka.EntityUser:     c.Flags().Bool("user-default", false, "the quota of users without their own"),
		kafka.EntityClientID: c.Flags().Bool("client-default", false, "the quota of client ids without their own"),
		kafka.EntityIP:       c.Flags().Bool("ip-default", false, "the quota of addresses without their own"),
	}
}

func defaultFlag(kind string) string {
	return map[string]string{kafka.EntityUser: "user-default", kafka.EntityClientID: "client-default", kafka.EntityIP: "ip-default"}[kind]
}

// entity is what the flags name; empty when none was given.
func (f *entityFlags) entity(c *cobra.Command) (kadm.ClientQuotaEntity, error) {
	var e kadm.ClientQuotaEntity
	for _, kind := range entityTypes {
		named := c.Flags().Changed(kind)
		switch {
		case named && *f.defaults[kind]:
			return nil, usagef("--%s and --%s exclude each other", kind, defaultFlag(kind))
		case named:
			e = append(e, kadm.ClientQuotaEntityComponent{Type: kind, Name: f.names[kind]})
		case *f.defaults[kind]:
			e = append(e, kadm.ClientQuotaEntityComponent{Type: kind})
		}
	}
	if len(e) > 1 && e[len(e)-1].Type == kafka.EntityIP {
		return nil, usagef("an address goes with no user and no client id: it has quotas of its own")
	}
	return e, nil
}

// oneEntity insists on an entity.
func (f *entityFlags) oneEntity(c *cobra.Command) (kadm.ClientQuotaEntity, error) {
	e, err := f.entity(c)
	if err == nil && len(e) == 0 {
		err = usagef("whose quota? (--user, --client-id, --ip, --user-default, --client-default or --ip-default)")
	}
	return e, err
}

// entityText is "user alice", "user alice, client-id c1", "user-default". Types
// that are not known here come last.
func entityText(e kadm.ClientQuotaEntity) string {
	e = slices.Clone(e)
	slices.SortStableFunc(e, func(x, y kadm.ClientQuotaEntityComponent) int { return typeRank(x.Type) - typeRank(y.Type) })
	var parts []string
	for _, c := range e {
		parts = append(parts, partText(c))
	}
	return strings.Join(parts, ", ")
}

func typeRank(kind string) int {
	if i := slices.Index(entityTypes, kind); i >= 0 {
		return i
	}
	return len(entityTypes)
}

func partText(c kadm.ClientQuotaEntityComponent) string {
	switch {
	case c.Name == nil:
		return strings.TrimSuffix(c.Type, "-id") + "-default"
	case strings.Contains(*c.Name, ", client-"): // would look like a pair
		return c.Type + " " + strconv.Quote(*c.Name)
	}
	return c.Type + " " + *c.Name
}

// entityFlagsText is how the entity is named on the command line.
func entityFlagsText(e kadm.ClientQuotaEntity) string {
	var parts []string
	for _, c := range e {
		if c.Name == nil {
			parts = append(parts, "--"+defaultFlag(c.Type))
			continue
		}
		parts = append(parts, "--"+c.Type+" "+shellText(*c.Name))
	}
	return strings.Join(parts, " ")
}

// component is one part of an entity in JSON; a null name is the default.
type component struct {
	Type string  `json:"type"`
	Name *string `json:"name"`
}

func components(e kadm.ClientQuotaEntity) []component {
	var all []component
	for _, c := range e {
		all = append(all, component{c.Type, c.Name})
	}
	return all
}

// exactly asks for one entity and no other, as kafka-configs.sh does.
func exactly(e kadm.ClientQuotaEntity) []kadm.DescribeClientQuotaComponent {
	var all []kadm.DescribeClientQuotaComponent
	for _, c := range e {
		d := kadm.DescribeClientQuotaComponent{Type: c.Type, MatchName: c.Name}
		if c.Name == nil {
			d.MatchType = 1
		}
		all = append(all, d)
	}
	return all
}
