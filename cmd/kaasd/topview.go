package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kaasd/internal/admin"
	"kaasd/internal/quota"
)

// topRow is one quota of one owner, between two moments.
type topRow struct {
	Quota    string   `json:"quota"`
	User     *string  `json:"user,omitempty"`
	ClientID *string  `json:"client_id,omitempty"`
	IP       *string  `json:"ip,omitempty"`
	Limit    *float64 `json:"limit"` // null: none any more
	Unit     string   `json:"unit"`
	Rate     float64  `json:"rate"`        // over the broker's window
	Use      float64  `json:"utilisation"` // rate by limit
	Throttle float64  `json:"throttle_seconds_per_second"`
	Requests float64  `json:"requests_per_second"`
	Muted    int64    `json:"muted_connections"`
}

// topCounts are the line above the table.
type topCounts struct {
	Connections int   `json:"connections"`
	Muted       int64 `json:"muted_connections"`
	Entities    int   `json:"entities"`
	Throttled   int   `json:"throttled_entities"`
}

// topView is what the screen shows, and what is pressed on it. It knows
// neither the terminal nor the clock.
type topView struct {
	last     *topSample
	rows     []topRow
	counts   topCounts
	fault    string // why the rows are old
	sort     string
	filter   string
	typing   bool // the keys go into the filter
	paused   bool
	limit    int
	interval time.Duration
}

// take makes the rows anew from what was seen now and before.
func (v *topView) take(now topSample) {
	v.rows, v.fault = []topRow{}, ""
	v.counts = topCounts{Connections: now.status.Counts.Connections}
	growth := topGrowth{}
	if v.last != nil {
		growth = topGrowth{quotasOf(v.last.quotas), now.quotas.AsOf.Sub(v.last.quotas.AsOf).Seconds()}
	}
	for _, e := range now.quotas.Entities {
		v.takeEntity(e, growth)
	}
	v.last = &now
}

func (v *topView) takeEntity(e quota.EntityStatus, growth topGrowth) {
	shown, throttled := false, e.MutedConnections > 0
	v.counts.Muted += e.MutedConnections
	for _, name := range sortedKeys(e.Quotas) {
		q := e.Quotas[name]
		idle := q.Requests == 0 && (q.Limit == nil || isDefault(e.Entity))
		if !q.Enforced || idle {
			continue
		}
		row := newTopRow(e.Entity, name, q)
		growth.fill(&row, ownerOf(e.Entity, name), q)
		v.rows = append(v.rows, row)
		shown, throttled = true, throttled || row.Throttle > 0
	}
	if shown {
		v.counts.Entities++
	}
	if throttled {
		v.counts.Throttled++
	}
}

// topGrowth tells how fast counters grow.
type topGrowth struct {
	before  map[topOwner]quota.QuotaStatus
	seconds float64 // since then
}

func (g topGrowth) fill(row *topRow, owner topOwner, q quota.QuotaStatus) {
	old, seen := g.before[owner]
	if !seen || g.seconds <= 0 {
		return
	}
	row.Throttle = grown(old.ThrottleSeconds, q.ThrottleSeconds) / g.seconds
	row.Requests = grown(float64(old.Requests), float64(q.Requests)) / g.seconds
}

// isDefault says whether an entity only holds the limit of others. It is
// charged itself when there are too many of them.
func isDefault(e quota.EntityName) bool { return e.UserDefault || e.ClientDefault || e.IPDefault }

func newTopRow(e quota.EntityName, name string, q quota.QuotaStatus) topRow {
	return topRow{Quota: name, User: ownerPart(e.User, e.UserDefault), ClientID: ownerPart(e.ClientID, e.ClientDefault),
		IP: ownerPart(e.IP, e.IPDefault), Limit: q.Limit,
		Unit: q.Unit, Rate: q.Rate, Use: q.Utilisation, Muted: q.MutedConnections}
}

// ownerPart is the name of a part, or the word for those without room of
// their own.
func ownerPart(name *string, others bool) *string {
	if others {
		return &otherOwners
	}
	return name
}

var otherOwners = "(others)"

// grown is how much a counter has grown; one that is less than before has
// begun anew.
func grown(before, now float64) float64 {
	if now < before {
		return now
	}
	return now - before
}

// topOwner is one quota of one owner.
type topOwner struct{ quota, entity string }

func ownerOf(e quota.EntityName, quota string) topOwner {
	part := func(name *string, others bool) string {
		if name == nil {
			return strconv.FormatBool(others)
		}
		return strconv.Quote(*name)
	}
	return topOwner{quota, part(e.User, e.UserDefault) + part(e.ClientID, e.ClientDefault) + part(e.IP, e.IPDefault)}
}

func quotasOf(q admin.Quotas) map[topOwner]quota.QuotaStatus {
	all := map[topOwner]quota.QuotaStatus{}
	for _, e := range q.Entities {
		for name, s := range e.Quotas {
			all[ownerOf(e.Entity, name)] = s
		}
	}
	return all
}

// topSorts are the orders, in the order in which a key goes through them.
var topSorts = []string{"use", "rate", "throttle", "user"}

func (v *topView) compare(x, y topRow) int {
	order := 0
	switch v.sort {
	case "use":
		order = cmp.Compare(y.Use, x.Use)
	case "rate": // bytes are not compared with partitions
		order = cmp.Or(byQuotaName(x, y), cmp.Compare(y.Rate, x.Rate))
	case "throttle":
		order = cmp.Compare(y.Throttle, x.Throttle)
	}
	return cmp.Or(order, cmp.Compare(nameCell(x.User), nameCell(y.User)), cmp.Compare(nameCell(x.ClientID), nameCell(y.ClientID)),
		cmp.Compare(nameCell(x.IP), nameCell(y.IP)), byQuotaName(x, y))
}

// byQuotaName orders quotas as they are shown elsewhere.
func byQuotaName(x, y topRow) int {
	place := func(r topRow) int {
		return slices.IndexFunc(quotaKeys, func(k quotaKey) bool { return k.short == r.Quota })
	}
	return cmp.Compare(place(x), place(y))
}

// shown are the rows that pass the filter, in order, no more than the limit.
func (v *topView) shown() []topRow {
	rows := slices.DeleteFunc(slices.Clone(v.rows), func(r topRow) bool {
		return !strings.Contains(strings.Join([]string{r.Quota, nameCell(r.User), nameCell(r.ClientID), nameCell(r.IP)}, " "), v.filter)
	})
	slices.SortStableFunc(rows, v.compare)
	return rows[:min(len(rows), v.limit)]
}

// nameCell is the name of an owner's part; a part that it lacks is a dash.
func nameCell(name *string) string {
	switch {
	case name == nil:
		return "-"
	case *name == "":
		return `""`
	}
	return *name
}
