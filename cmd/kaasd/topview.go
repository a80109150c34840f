package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"kaasd/internal/admin"
	"kaasd/internal/kafka"
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
	before := map[topOwner]quota.QuotaStatus{}
	var span float64
	if v.last != nil {
		span = now.quotas.AsOf.Sub(v.last.quotas.AsOf).Seconds()
		before = quotasOf(v.last.quotas)
	}
	for _, e := range now.quotas.Entities {
		rows, throttled := len(v.rows), e.MutedConnections > 0
		v.counts.Muted += e.MutedConnections
		for _, name := range sortedKeys(e.Quotas) {
			q := e.Quotas[name]
			row := newTopRow(e.Entity, name, q)
			if old, seen := before[ownerOf(e.Entity, name)]; seen && span > 0 {
				row.Throttle = grown(old.ThrottleSeconds, q.ThrottleSeconds) / span
				row.Requests = grown(float64(old.Requests), float64(q.Requests)) / span
			}
			throttled = throttled || row.Throttle > 0
			idle := q.Requests == 0 && (q.Limit == nil || isDefault(e.Entity))
			if q.Enforced && !idle {
				v.rows = append(v.rows, row)
			}
		}
		if len(v.rows) > rows {
			v.counts.Entities++
		}
		if throttled {
			v.counts.Throttled++
		}
	}
	v.last = &now
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

// topTable has a column for addresses only when an address is shown.
func topTable(rows []topRow) [][]string {
	withIP := slices.ContainsFunc(rows, func(r topRow) bool { return r.IP != nil })
	head := []string{"QUOTA", "USER", "CLIENT-ID", "LIMIT", "RATE", "USE ", "THROTTLE/S", "REQ/S", "MUTED"}
	if withIP {
		head = slices.Insert(head, 3, "IP")
	}
	cells := [][]string{head}
	for _, r := range rows {
		row := []string{r.Quota, nameCell(r.User), nameCell(r.ClientID), "none", roughQuota(r.Quota, r.Rate), "  - ",
			seconds(r.Throttle), "-", strconv.FormatInt(r.Muted, 10)}
		if r.Limit != nil {
			row[3], row[5] = formatQuota(r.Quota, *r.Limit), fmt.Sprintf("%3.0f%%", 100*r.Use)
		}
		if r.Quota != "request" { // every request of a client, whatever its quota
			row[7] = roughNumber(r.Requests)
		}
		if withIP {
			row = slices.Insert(row, 3, nameCell(r.IP))
		}
		cells = append(cells, row)
	}
	return cells
}

func seconds(v float64) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + " s"
}

// roughNumber is a measured number as people say it: 0, 1.1, 12.
func roughNumber(v float64) string {
	if v < 9.95 {
		return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// roughQuota is a measured rate in the words of its quota.
func roughQuota(name string, v float64) string {
	switch k, err := findQuotaKey(name); {
	case err != nil:
		return roughNumber(v)
	case k.key == kafka.ProducerByteRate || k.key == kafka.ConsumerByteRate:
		return roughSize(v) + "/s"
	case k.key == kafka.RequestPercentage:
		return roughNumber(v) + "%"
	}
	return roughNumber(v) + "/s"
}

// lines are the screen, exactly height of them when there is room for three,
// none wider than width.
func (v *topView) lines(width, height int) []string {
	var b strings.Builder
	table(&b, "", topTable(v.shown()))
	body := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	lines := append([]string{v.headline(width)}, body...)
	room := max(height-1, 2)
	lines = lines[:min(len(lines), room)]
	for len(lines) < room {
		lines = append(lines, "")
	}
	lines = append(lines, v.footline())
	for i, line := range lines {
		lines[i] = cutTo(line, width)
	}
	return lines
}

func cutTo(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width])
}

func (v *topView) headline(width int) string {
	left, right := "waiting for the first answer", "every "+v.interval.String()
	if s := v.last; s != nil {
		up := s.quotas.AsOf.Sub(s.status.Started)
		left = fmt.Sprintf("kaasd %s  up %s  %s, %d muted  %d of %s throttled", s.status.Version, upText(up),
			counted(v.counts.Connections, "connection", "connections"), v.counts.Muted, v.counts.Throttled, counted(v.counts.Entities, "entity", "entities"))
	}
	if v.paused {
		right = "paused"
	}
	if v.fault != "" {
		left, right = v.fault, ""
	}
	gap := max(width-utf8.RuneCountInString(left)-len(right), 2)
	return strings.TrimRight(printable(left)+strings.Repeat(" ", gap)+right, " ")
}

// upText is a duration in its two largest units: 3h12m, 2d4h, 12s.
func upText(d time.Duration) string {
	switch d = d.Truncate(time.Second); {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d/time.Hour%24)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d/time.Minute%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d/time.Second%60)
	}
	return d.String()
}

func (v *topView) footline() string {
	if v.typing {
		return "filter: " + printable(v.filter) + "_   Enter keeps it, Esc drops it"
	}
	pause, filter := "p pause", "/ filter"
	if v.paused {
		pause = "p go on"
	}
	if v.filter != "" {
		filter += ": " + printable(v.filter)
	}
	return "s sort: " + v.sort + "   " + filter + "   " + pause + "   q quit"
}

// press takes what one read from the keyboard has given, and says whether it
// ends the screen. An arrow and its like come as several bytes from escape on.
func (v *topView) press(keys string) (quit bool) {
	if len(keys) > 1 && keys[0] == keyEscape {
		return false
	}
	for _, key := range keys {
		switch {
		case key == keyInterrupt:
			return true
		case v.typing:
			v.typed(key)
		case key == 'q':
			return true
		default:
			v.command(key)
		}
	}
	return false
}

const (
	keyInterrupt = 3 // Ctrl-C
	keyEnter     = '\r'
	keyEscape    = 27
	keyBackspace = 127
)

func (v *topView) command(key rune) {
	switch key {
	case 's':
		v.sort = topSorts[(slices.Index(topSorts, v.sort)+1)%len(topSorts)]
	case 'p':
		v.paused = !v.paused
	case '/':
		v.typing = true
	case keyEscape:
		v.filter = ""
	}
}

func (v *topView) typed(key rune) {
	switch {
	case key == keyEnter || key == '\n':
		v.typing = false
	case key == keyEscape:
		v.typing, v.filter = false, ""
	case key == keyBackspace || key == '\b':
		_, last := utf8.DecodeLastRuneInString(v.filter)
		v.filter = v.filter[:len(v.filter)-last]
	case key >= ' ' && key != utf8.RuneError:
		v.filter += string(key)
	}
}
