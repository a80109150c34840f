package main

import (
	"fmt"
	"strings"
)

// settingsReference is docs/settings.md, made from the table of options.
func settingsReference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, o := range options() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", o.key, kindCell(o), defaultCell(o), liveCell(o), docCell(o))
	}
	return b.String()
}

const referenceHead = `# Settings

Every setting of ` + "`kaasd start`" + `. ` + "`kaasd config init`" + ` prints a file with all of them. (This page is made from the table of options in cmd/kaasd.)

The file key ` + "`quota.idle`" + ` is the flag ` + "`--quota-idle`" + ` and the variable ` + "`KAASD_QUOTA_IDLE`" + `; so for every key. Where Kafka has the
property, the variable of Kafka's images works too (` + "`KAFKA_`" + `, upper case, ` + "`.`" + ` becomes ` + "`_`" + `).

Strength: flag, ` + "`KAASD_`" + ` variable, ` + "`KAFKA_`" + ` variable, file, default. ` + "`kaasd config show`" + ` prints each value with the source that won;
` + "`kaasd config validate`" + ` checks them and reads the files that they name, as a start would, and starts nothing.
Both warn of what is valid and may not be meant, such as settings without effect, users whom no listener lets in, and passwords or pages in the clear.
The file is YAML with flat keys: ` + "`--config FILE`" + ` or ` + "`KAASD_CONFIG`" + ` names it, and ` + "`" + defaultConfigFile + "`" + ` is read if it exists.
What is a list below may be a list of YAML, too.
An unknown key or ` + "`KAASD_`" + ` variable is an error; a ` + "`KAFKA_`" + ` variable that names nothing here is listed once and ignored. Sizes are
` + "`1048576`, `1MiB` or `10MB`" + ` (decimal). There is no setting for a password or key: secrets live in files only.

Each listener has two settings of its own. ` + "`listener.name.NAME.max.connection.creation.rate`" + `, NAME in lower case, is what
` + "`max.connection.creation.rate`" + ` is for the broker. It is a file key and a variable (` + "`KAFKA_LISTENER_NAME_NAME_MAX_CONNECTION_CREATION_RATE`" + `), and no flag.
So is ` + "`listener.name.NAME.ssl.client.auth`" + `; without it, clients of a SASL_SSL listener are not asked for a certificate, as in Kafka.

The settings are read at the start. Of a changed file, ` + "`kill -HUP`" + ` takes what is marked live, and the log names what needs a restart. What
` + "`kafka-configs.sh --entity-type brokers`" + ` can alter is in force at once, and wins over what is said here. Files that settings name (credentials, certificates,
` + "`http.config.file`" + `) are read again by themselves when their content changes.

| key | value | default | live | meaning |
|---|---|---|---|---|
`

func kindCell(o option) string {
	if len(o.choices) > 0 {
		return strings.Join(o.choices, ", ")
	}
	return o.kind
}

func defaultCell(o option) string {
	if o.def == "" || o.def == "0" && o.unset != "" {
		return orElse(o.unset, "none")
	}
	return "`" + o.def + "`"
}

func liveCell(o option) string {
	if o.live {
		return "yes"
	}
	return ""
}

func docCell(o option) string {
	var also []string
	for _, name := range o.kafkaVariables() {
		also = append(also, "`"+name+"`")
	}
	if len(also) == 0 {
		return o.doc
	}
	return o.doc + " (" + strings.Join(also, ", ") + ")"
}
