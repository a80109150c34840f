package quota

import "github.com/prometheus/client_golang/prometheus"

// unit is how the entity metrics of one kind are called and scaled.
type unit struct {
	labelled bool    // with the label quota: others of the unit share the name
	per      float64 // units of the bucket in one of the metric
	limit    *prometheus.Desc
	charged  *prometheus.Desc

	// The names that dashboards for Kafka know; nil: there is none.
	kafkaPer             float64
	kafkaRate, kafkaWait *prometheus.Desc
}

var (
	ownedAlone = []string{"user", "client_id"}

	limitBytesDesc = prometheus.NewDesc("kaasd_quota_entity_limit_bytes_per_second", "Limit in force.", owned, nil)
	bytesDesc      = prometheus.NewDesc("kaasd_quota_entity_bytes_total", "Bytes charged.", owned, nil)

	// units are by kind; connections have no series of their entities, which are
	// addresses.
	units = [kinds]unit{
		Produce: {
			labelled: true, per: 1, limit: limitBytesDesc, charged: bytesDesc, kafkaPer: 1,
			kafkaRate: ownedDesc("kafka_server_produce_byte_rate", "Bytes per second."),
			kafkaWait: ownedDesc("kafka_server_produce_throttle_time", "Average throttle of the last minute, in milliseconds."),
		},
		Fetch: {
			labelled: true, per: 1, limit: limitBytesDesc, charged: bytesDesc, kafkaPer: 1,
			kafkaRate: ownedDesc("kafka_server_fetch_byte_rate", "Bytes per second."),
			kafkaWait: ownedDesc("kafka_server_fetch_throttle_time", "Average throttle of the last minute, in milliseconds."),
		},
		Request: {
			per: 1e9, kafkaPer: percent,
			limit:     ownedDesc("kaasd_quota_entity_request_limit_ratio", "Limit in force: request_percentage / 100."),
			charged:   ownedDesc("kaasd_quota_entity_request_seconds_total", "Handler time charged."),
			kafkaRate: ownedDesc("kafka_server_request_request_time", "Handler time, in percent of a thread."),
			kafkaWait: ownedDesc("kafka_server_request_throttle_time", "Average throttle of the last minute, in milliseconds."),
		},
		Mutation: {
			per:     1,
			limit:   ownedDesc("kaasd_quota_entity_mutation_limit_per_second", "Limit in force: partition changes."),
			charged: ownedDesc("kaasd_quota_entity_mutations_total", "Partition changes charged."),
		},
	}
)

func ownedDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, ownedAlone, nil)
}

func (u *unit) describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{u.limit, u.charged, u.kafkaRate, u.kafkaWait} {
		if d != nil {
			out <- d
		}
	}
}

func (u *unit) collect(out chan<- prometheus.Metric, k Kind, owner ownerLabels, line *seriesLine) {
	labels := []string{owner.user, owner.clientID}
	if u.labelled {
		labels = []string{k.String(), owner.user, owner.clientID}
	}
	if line.limit > 0 {
		gauge(out, u.limit, line.limit/u.per, labels...)
	}
	counter(out, u.charged, float64(line.units)/u.per, labels...)
}

// collectKafka exports the rates that are the exception among the metrics.
func (u *unit) collectKafka(out chan<- prometheus.Metric, owner ownerLabels, line *seriesLine) {
	if u.kafkaRate == nil {
		return
	}
	gauge(out, u.kafkaRate, line.rate/u.kafkaPer, owner.user, owner.clientID)
	average := 0.0
	if line.pauses.at > 0 {
		average = float64(line.pauses.sum) / float64(line.pauses.at) / 1e6
	}
	gauge(out, u.kafkaWait, average, owner.user, owner.clientID)
}
