package main

import (
	"io"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// newLogger writes to w: lines for people, or JSON.
func newLogger(w io.Writer, level zapcore.LevelEnabler, console, colour bool) *zap.Logger {
	encoder := zapcore.NewJSONEncoder(jsonLines())
	if console {
		encoder = zapcore.NewConsoleEncoder(consoleLines(colour))
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(seen{w})), level))
}

func jsonLines() zapcore.EncoderConfig {
	return zapcore.EncoderConfig{
		TimeKey: "ts", LevelKey: "level", NameKey: "logger", MessageKey: "msg", StacktraceKey: "stack",
		LineEnding:     zapcore.DefaultLineEnding,
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeTime:     encodeUTC,
		EncodeDuration: encodeRounded,
	}
}

func consoleLines(colour bool) zapcore.EncoderConfig {
	c := jsonLines()
	c.NameKey = ""
	c.ConsoleSeparator = "  "
	c.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	c.EncodeLevel = func(l zapcore.Level, enc zapcore.PrimitiveArrayEncoder) {
		enc.AppendString(levelWord(l, colour))
	}
	return c
}

func encodeUTC(t time.Time, enc zapcore.PrimitiveArrayEncoder) {
	enc.AppendString(t.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
}

// encodeRounded leaves three digits or so: 38ms, 1.204s.
func encodeRounded(d time.Duration, enc zapcore.PrimitiveArrayEncoder) {
	unit := time.Microsecond
	if d >= 10*time.Millisecond {
		unit = time.Millisecond
	}
	enc.AppendString(d.Round(unit).String())
}

// levelWord is five wide, so that messages stand below each other.
func levelWord(l zapcore.Level, colour bool) string {
	word := l.String() + strings.Repeat(" ", max(0, 5-len(l.String())))
	codes := map[zapcore.Level]string{zapcore.DebugLevel: "35", zapcore.InfoLevel: "34", zapcore.WarnLevel: "33"}
	if !colour {
		return word
	}
	code, ok := codes[l]
	if !ok {
		code = "31"
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

// logger is the one of a command that runs a broker.
func (a *app) logger(format string, level zapcore.LevelEnabler) (log *zap.Logger, console bool) {
	terminal := isTerminal(a.err)
	console = format == "console" || format == "auto" && terminal
	return newLogger(a.err, level, console, terminal && a.colours()), console
}

// colours says whether anybody asked for none (no-color.org).
func (a *app) colours() bool { return !a.noColor && a.variables()["NO_COLOR"] == "" }

func isTerminal(stream any) bool {
	if s, ok := stream.(*stdout); ok {
		stream = s.to
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
