package handlers

import (
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"
	"kaasd/internal/metadata"
)

// rootLogger is the one logger whose level can be set (KIP-412): there is one
// level for all of them. It holds until the next restart or reload, which take
// log.level.
const rootLogger = "root"

var rootLevel = &metadata.Property{Name: rootLogger, Type: metadata.String, Doc: "The level of the log: DEBUG, INFO, WARN or ERROR; until the next restart or reload."}

// levelEntries are the levels of the loggers. A log without a level that can
// change has none.
func (h *Handlers) levelEntries() []metadata.Entry {
	if h.LogLevel == nil {
		return nil
	}
	now := metadata.Value{Name: rootLogger, Text: h.LogLevel.Level().CapitalString(), Source: metadata.FromLogger}
	return []metadata.Entry{{Property: rootLevel, Value: now, Alterable: true, Synonyms: []metadata.Value{now}}}
}

// alterLoggers sets the level that the operations lead to.
func (c *call) alterLoggers(asked message.IncrementalAlterConfigsResource, validateOnly bool) error {
	if err := c.allow(kafka.OpAlterConfigs, kafka.Cluster); err != nil {
		return err
	}
	if err := c.h.checkBroker(asked.ResourceName, false); err != nil {
		return err
	}
	if c.h.LogLevel == nil {
		return noConfigs(configBrokerLogger)
	}
	old := c.h.LogLevel.Level()
	next := old
	for _, op := range asked.Configs {
		level, err := levelAsked(op)
		if err != nil {
			return err
		}
		next = level
	}
	if validateOnly || next == old {
		return nil
	}
	c.h.LogLevel.SetLevel(next)
	c.h.log.Warn("log level changed", append(c.who(), zap.Stringer("old", old), zap.Stringer("new", next))...)
	return nil
}

// levelAsked is what one operation asks for.
func levelAsked(op message.IncrementalAlterConfigsConfig) (zapcore.Level, error) {
	switch {
	case op.Name != rootLogger:
		return 0, kafka.Errorf(kafka.InvalidConfig, "there is no logger %q with a level of its own: %s is the level of all", op.Name, rootLogger)
	case op.ConfigOperation != configSet:
		return 0, kafka.Errorf(kafka.InvalidRequest, "the level of %s can be set (operation 0), not removed or added to", rootLogger)
	case op.Value == nil:
		return 0, kafka.Errorf(kafka.InvalidRequest, "logger %q is given no level", op.Name)
	}
	switch level := strings.ToUpper(strings.TrimSpace(*op.Value)); level {
	case "DEBUG", "INFO", "WARN", "ERROR":
		return zapcore.ParseLevel(level)
	}
	return 0, kafka.Errorf(kafka.InvalidConfig, "level %q of logger %s is not known: DEBUG, INFO, WARN and ERROR are", *op.Value, rootLogger)
}
