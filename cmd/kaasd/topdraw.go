package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"kaasd/internal/kafka"
)

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
