package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"kaasd/internal/kafka"
)

// quotaKey is one quota under its short name and Kafka's.
type quotaKey struct {
	short, key string
	heading    string
	parse      func(text string) (float64, error)
	format     func(v float64) string
}

// quotaKeys are all of Kafka's, in the order they are shown.
var quotaKeys = []quotaKey{
	{"produce", kafka.ProducerByteRate, "PRODUCE", parseByteRate, formatByteRate},
	{"fetch", kafka.ConsumerByteRate, "FETCH", parseByteRate, formatByteRate},
	{"request", kafka.RequestPercentage, "REQUEST", parsePercent, formatPercent},
	{"mutation", kafka.ControllerMutationRate, "MUTATION", parseCountRate, formatCountRate},
	{"connection", kafka.ConnectionCreationRate, "CONNECTION", parseCountRate, formatCountRate},
}

func findQuotaKey(name string) (quotaKey, error) {
	var known []string
	for _, k := range quotaKeys {
		if name == k.short || name == k.key {
			return k, nil
		}
		known = append(known, k.short, k.key)
	}
	return quotaKey{}, usagef("unknown quota key %q%s", name, didYouMean(name, known, "produce, fetch, request, mutation, connection"))
}

func parseByteRate(text string) (float64, error) {
	return parseSize(strings.TrimSuffix(text, "/s"))
}

func parsePercent(text string) (float64, error) {
	return parseNumber(strings.TrimSuffix(text, "%"), text, "a percentage (such as 50% or 50)")
}

func parseCountRate(text string) (float64, error) {
	return parseNumber(strings.TrimSuffix(text, "/s"), text, "a rate (such as 10 or 10/s)")
}

func parseNumber(number, text, what string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not %s", text, what)
	}
	return v, nil
}

func formatByteRate(v float64) string  { return formatSize(v) + "/s" }
func formatPercent(v float64) string   { return strconv.FormatFloat(v, 'f', -1, 64) + "%" }
func formatCountRate(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + "/s" }

// formatQuota writes the value of any key, also of one that is not known here.
func formatQuota(key string, v float64) string {
	for _, k := range quotaKeys {
		if k.key == key || k.short == key {
			return k.format(v)
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
