package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"kaasd/internal/admin"
	"kaasd/internal/auth"
	"kaasd/internal/broker"
	"kaasd/internal/certificate"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
	"kaasd/internal/storage"
)

// settings is what the options are put into: the broker's configuration, and
// what stays at the front door.
type settings struct {
	broker.Config
	logFormat   string // auto, console, json
	listeners   string
	advertised  string
	protocolMap string
	dropped     []string // entries of listeners that are not for clients
}

const defaultCredentials = "/etc/kaasd/credentials.json"

// options is the table, in the order of the reference.
func options() []option {
	all := slices.Concat(listenerOptions(), tlsOptions(), accessOptions(), networkOptions(), storageOptions(), quotaOptions(), httpOptions(), processOptions())
	return append(all, propertyOptions(all)...)
}

func listenerOptions() []option {
	return []option{
		textOption("listeners", "PLAINTEXT://localhost:9092", func(s *settings) *string { return &s.listeners }).asList().ofKafka().
			says("where clients connect: NAME://host:port, comma-separated; PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
		textOption("advertised.listeners", "", func(s *settings) *string { return &s.advertised }).asList().ofKafka().
			orElse("the listener's own host, localhost for a wildcard; over TLS the name that the client asked for, if the certificate holds it").
			says("where clients are told to come back, one entry for each listener that needs one"),
		textOption("listener.security.protocol.map", "", func(s *settings) *string { return &s.protocolMap }).asList().ofKafka().
			orElse("names are protocols").
			says("the protocol of each listener name, in Kafka's syntax NAME:PROTOCOL"),
		listOption("sasl.enabled.mechanisms", "SCRAM-SHA-512", func(s *settings) *[]string { return &s.SASLMechanisms }).ofKafka().
			says("how clients may log in: SCRAM-SHA-512, SCRAM-SHA-256, PLAIN"),
		msOption("connections.max.reauth.ms", "0", 0, func(s *settings) *time.Duration { return &s.SessionLifetime }).ofKafka().
			says("how long a SASL log-in lasts until the client must log in again on its connection; 0 for ever"),
	}
}

func tlsOptions() []option {
	return []option{
		listOption("tls.cert.file", "", func(s *settings) *[]string { return &s.TLS.Files.Certs }).orElse("none").
			says("PEM, the certificate of TLS listeners with its chain; several between commas, chosen by the name clients ask for; the content is read again when it changes"),
		listOption("tls.key.file", "", func(s *settings) *[]string { return &s.TLS.Files.Keys }).orElse("none").
			says("PEM, the private key of each certificate, not encrypted; the content is read again when it changes"),
		textOption("tls.client.ca.file", "", func(s *settings) *string { return &s.TLS.Files.ClientCA }).orElse("none").
			says("PEM, the authorities whose client certificates count; the content is read again when it changes"),
		choiceOption("tls.min.version", "1.2", []string{"1.2", "1.3"}, func(s *settings) *string { return &s.TLS.MinVersion }).
			says("the oldest version of TLS that is spoken"),
		clientAuthOption("ssl.client.auth", func(s *settings, auth certificate.ClientAuth) { s.TLS.ClientAuth = auth }).
			says("whether clients of SSL listeners show a certificate; requested: who shows none is User:ANONYMOUS"),
		mappingOption().
			says("how the user's name comes from the subject of a client certificate: RULE:pattern/replacement/ or DEFAULT, in Kafka's syntax, the first that matches"),
	}
}

func mappingOption() option {
	o := option{key: "ssl.principal.mapping.rules", kind: kindList, def: "DEFAULT", put: func(s *settings, text string) error {
		rules, err := auth.ParseMappingRules(text)
		s.TLS.Names = rules
		return err
	}}
	return o.ofKafka()
}

func clientAuthOption(key string, into func(*settings, certificate.ClientAuth)) option {
	choices := []string{string(certificate.None), string(certificate.Requested), string(certificate.Required)}
	var chosen string
	o := choiceOption(key, choices[0], choices, func(*settings) *string { return &chosen })
	put := o.put
	o.put = func(s *settings, text string) error {
		err := put(s, text)
		if err == nil {
			into(s, certificate.ClientAuth(text))
		}
		return err
	}
	return o.ofKafka()
}

func accessOptions() []option {
	credentials := textOption("credentials.file", "", func(s *settings) *string { return &s.CredentialsFile }).
		orElse(defaultCredentials + " if it exists").
		says("the users, their keys and base quotas; the content is read again when it changes")
	return []option{
		credentials,
		superUsersOption(),
		authorizerOption(),
		boolOption("allow.everyone.if.no.acl.found", "false", func(s *settings) *bool { return &s.Access.AllowEveryoneIfNoACL }).ofKafka().
			says("with an authorizer: what no rule speaks of is allowed"),
	}
}

func superUsersOption() option {
	o := option{key: "super.users", kind: kindList, between: ";", put: func(s *settings, text string) error {
		s.Access.SuperUsers = nil
		for _, principal := range splitList(text, ";") {
			if name, ok := strings.CutPrefix(principal, "User:"); !ok || name == "" {
				return fmt.Errorf("%q is not a principal (User:NAME, with ; between several)", principal)
			}
			s.Access.SuperUsers = append(s.Access.SuperUsers, principal)
		}
		return nil
	}}
	return o.ofKafka().orElse("none").says("who may do everything: User:a;User:b")
}

// standardAuthorizer is the name of Kafka's own authorizer.
const standardAuthorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

func authorizerOption() option {
	o := option{key: "authorizer.class.name", kind: kindText, put: func(s *settings, text string) error {
		switch text {
		case "", "acl", standardAuthorizer:
			s.Access.Enabled = text != ""
			return nil
		}
		return fmt.Errorf("%q is no authorizer of kaasd (acl, or %s)", text, standardAuthorizer)
	}}
	return o.ofKafka().orElse("everybody who may connect may do everything").
		says("acl, or the name of Kafka's StandardAuthorizer: super users may do everything, the others what ACLs allow")
}

func networkOptions() []option {
	return []option{
		sizeOption("socket.request.max.bytes", "104857600", 1024, math.MaxInt32, func(s *settings) *int { return &s.Network.MaxRequest }).ofKafka().
			says("the largest request after log-in"),
		sizeOption("queued.max.request.bytes", "64MiB", 1<<20, math.MaxInt64, func(s *settings) *int64 { return &s.Network.RequestMemory }).ofKafka().
			says("memory for requests until they are answered, and what they are answered with; who does not fit waits"),
		intOption("max.connections", "2147483647", 1, math.MaxInt32, func(s *settings) *int { return &s.Network.MaxConnections }).ofKafka().
			says("open connections at once; the default is as many as half of memory.limit has room for, at 8 KiB each, or 32 KiB where a listener has TLS; never more than descriptors allow"),
		intOption("max.connections.per.ip", "2147483647", 1, math.MaxInt32, func(s *settings) *int { return &s.Network.MaxConnectionsPerIP }).ofKafka().
			says("open connections at once from one address"),
		intOption("max.failed.logins.per.ip", strconv.Itoa(auth.AddressTries), 0, math.MaxInt32, func(s *settings) *int { return &s.Network.FailedLoginsPerIP }).
			says("log-ins from one address that may fail in a minute, to listeners and to the pages each; then names that have not logged in from there within a day are held back, until there is room for one more (after 0.3 s at 200, 20 s at 3); 0 is no limit"),
		idleOption().ofKafka().
			says("a connection that is silent for so long is closed; -1 never; a muted one is not idle"),
		msOption("connections.write.timeout.ms", "30000", 1, func(s *settings) *time.Duration { return &s.Network.WriteTimeout }).
			says("a peer that takes no bytes of its answer for so long is closed"),
	}
}

// idleOption takes a negative number as Kafka does: for no limit.
func idleOption() option {
	o := msOption("connections.max.idle.ms", "600000", math.MinInt32, func(s *settings) *time.Duration { return &s.Network.IdleTimeout })
	put := o.put
	o.put = func(s *settings, text string) error {
		err := put(s, text)
		s.Network.IdleTimeout = max(0, s.Network.IdleTimeout)
		return err
	}
	return o
}

func storageOptions() []option {
	nodeID := option{key: "node.id", kind: kindInt, def: "1", put: func(s *settings, text string) error {
		v, err := parseInt(text, 0, math.MaxInt32)
		s.NodeID = kafka.BrokerID(v)
		return err
	}}
	flush := option{key: "log.flush", kind: kindChoice, def: "interval", choices: []string{"os", "interval", "always"}, put: putFlush}
	return []option{
		nodeID.ofKafka("KAFKA_BROKER_ID").says("the number of this broker"),
		textOption("cluster.id", "", func(s *settings) *string { return &s.ClusterID }).knownAs("CLUSTER_ID").
			orElse("made once, kept in the data folder").says("the name of the cluster"),
		dataDirOption(),
		flush.says("when a record counts as stored: os (the kernel has it), interval (synced every log.flush.interval.ms), always (synced before the answer)"),
		msOption("log.flush.interval.ms", "1000", 1, func(s *settings) *time.Duration { return &s.Storage.FlushInterval }).ofKafka().
			says("with log.flush=interval: how often logs are synced"),
		intOption("log.flush.threads", "16", 1, 1024, func(s *settings) *int { return &s.Storage.FlushThreads }).
			says("syncs at once"),
		sizeOption("log.disk.reserve", "256MiB", 0, math.MaxInt64, func(s *settings) *int64 { return &s.Storage.DiskReserve }).
			says("free space below which records are refused and reading goes on"),
	}
}

func dataDirOption() option {
	o := option{key: "data.dir", kind: kindText, def: "./kaasd-data", put: func(s *settings, text string) error {
		if dirs := splitList(text, ","); len(dirs) > 1 {
			return fmt.Errorf("%q names %d folders (kaasd keeps everything in one)", text, len(dirs))
		}
		if text == "" {
			return fmt.Errorf("a folder is needed (%s keeps everything in memory)", broker.InMemory)
		}
		s.DataDir = text
		return nil
	}}
	return o.knownAs("KAFKA_LOG_DIRS").says("the folder of everything durable; :memory: keeps nothing on disk")
}

func putFlush(s *settings, text string) error {
	modes := map[string]storage.Flush{"os": storage.FlushOS, "interval": storage.FlushInterval, "always": storage.FlushAlways}
	mode, ok := modes[text]
	if !ok {
		return fmt.Errorf("%q is not one of os, interval, always", text)
	}
	s.Storage.Flush = mode
	return nil
}

func quotaOptions() []option {
	return []option{
		choiceOption("quota.model", "user", []string{"user", "kafka"}, func(s *settings) *string { return &s.Quota.Model }).
			says("whose rules quotas follow; user: quotas of named users, what is altered over the Kafka API lives until the restart; kafka: all that Apache Kafka has, durable"),
		windowsOption("quota.window.num", func(s *settings) *int { return &s.Quota.Windows.Num }).
			says("with quota.model=kafka: a full bucket holds one window less than this of its rate, one at least"),
		secondsOption("quota.window.size.seconds", func(s *settings) *time.Duration { return &s.Quota.Windows.Size }).
			says("with quota.model=kafka: how long a window is, and the longest mute of a request quota"),
		windowsOption("controller.quota.window.num", func(s *settings) *int { return &s.Quota.Windows.MutationNum }).
			says("with quota.model=kafka: how many windows of its rate a full bucket of partition changes holds"),
		secondsOption("controller.quota.window.size.seconds", func(s *settings) *time.Duration { return &s.Quota.Windows.MutationSize }).
			says("with quota.model=kafka: how long such a window is"),
		durationOption("quota.idle", "1h", time.Second, func(s *settings) *time.Duration { return &s.Quota.Idle }).
			says("a bucket that nobody used for so long is forgotten"),
		intOption("metrics.max.entities", "500", 0, 100_000, func(s *settings) *int { return &s.Quota.MaxEntities }).
			says("own series for at most so many quota entities, the rest share one"),
		boolOption("metrics.kafka.names", "true", func(s *settings) *bool { return &s.Quota.KafkaNames }).
			says("also export rates and throttle times under kafka_server_ names, for dashboards that look for them"),
	}
}

func windowsOption(key string, into func(*settings) *int) option {
	return intOption(key, "11", 1, math.MaxInt32, into).ofKafka()
}

// secondsOption is one of Kafka's times, a whole number of seconds.
func secondsOption(key string, into func(*settings) *time.Duration) option {
	o := option{key: key, kind: kindInt, def: "1", put: func(s *settings, text string) error {
		v, err := parseInt(text, 1, math.MaxInt32)
		*into(s) = time.Duration(v) * time.Second
		return err
	}}
	return o.ofKafka()
}

func httpOptions() []option {
	return []option{
		textOption("http.listen", "localhost:9404", func(s *settings) *string { return &s.HTTP.Listen }).
			orElse("off").says("where metrics, health and quota pages are; empty turns them off"),
		textOption("http.config.file", "", func(s *settings) *string { return &s.HTTP.File }).orElse("none").
			says("TLS and passwords of the pages, in the format of Prometheus' exporters (tls_server_config, basic_auth_users); the content is read again when it changes"),
		intOption("http.max.connections", strconv.Itoa(admin.MaxConnections), 1, 10_000, func(s *settings) *int { return &s.HTTP.MaxConnections }).
			says("open connections to the pages at once, 1 to 10000; for one more, one of the address that has most is closed, the longest without a request first"),
		boolOption("http.enable.lifecycle", "false", func(s *settings) *bool { return &s.HTTP.Lifecycle }).
			says("POST /-/reload reads the credentials file, the certificates and http.config.file again"),
		boolOption("http.enable.pprof", "false", func(s *settings) *bool { return &s.HTTP.Pprof }).
			says("Go's profiles under /debug/pprof/"),
	}
}

func processOptions() []option {
	return []option{
		memoryOption().
			orElse("the container's limit, else a quarter of the RAM").
			says("the memory to live in, 32MiB at least; 0 finds it out"),
		choiceOption("log.level", "info", []string{"debug", "info", "warn", "error"}, func(s *settings) *string { return &s.LogLevel }).liveToo().
			says("what is logged"),
		choiceOption("log.format", "auto", []string{"auto", "console", "json"}, func(s *settings) *string { return &s.logFormat }).
			says("auto: console on a terminal, else JSON lines"),
		durationOption("shutdown.delay", "0s", 0, func(s *settings) *time.Duration { return &s.ShutdownDelay }).
			says("after SIGTERM: unready but serving for so long, for load balancers"),
		durationOption("shutdown.timeout", "30s", time.Millisecond, func(s *settings) *time.Duration { return &s.ShutdownTimeout }).
			says("then what is still open is cut and the exit code is 1"),
	}
}

// leastMemory is what a broker without clients lives in, in bytes.
const leastMemory = 32 << 20

// memoryOption refuses what would keep the garbage collector busy for ever.
func memoryOption() option {
	o := sizeOption("memory.limit", "0", 0, math.MaxInt64, func(s *settings) *int64 { return &s.MemoryLimit })
	put := o.put
	o.put = func(s *settings, text string) error {
		if err := put(s, text); err != nil {
			return err
		}
		if s.MemoryLimit > 0 && s.MemoryLimit < leastMemory {
			return fmt.Errorf("%q is below %s, the least to live in (0 finds out what there is)", text, formatSize(leastMemory))
		}
		return nil
	}
	return o
}

// propertyOptions are the rest of the broker's properties, from the table of
// the metadata room.
func propertyOptions(others []option) []option {
	taken := map[string]bool{"log.dirs": true} // data.dir
	for _, o := range others {
		taken[o.key] = true
	}
	var all []option
	for _, p := range metadata.BrokerProperties {
		if !taken[p.Name] {
			all = append(all, propertyOption(p))
		}
	}
	return all
}

func propertyOption(p *metadata.Property) option {
	kinds := map[metadata.Type]string{metadata.Boolean: kindBool, metadata.Int: kindInt, metadata.Long: kindInt, metadata.List: kindList}
	o := option{key: p.Name, kind: orElse(kinds[p.Type], kindText), def: p.Default, unset: "none", put: func(s *settings, text string) error {
		v, err := p.Parse(text)
		if err != nil {
			return errors.New(strings.TrimPrefix(kafka.MessageOf(err), p.Name+"="))
		}
		s.Properties[p.Name] = v
		return nil
	}}
	doc := strings.TrimSuffix(p.Doc, ".")
	if p.Dynamic {
		doc += "; what is altered over the Kafka API wins"
	}
	return o.ofKafka().says(doc)
}
