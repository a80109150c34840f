package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// option is one setting. Everything that is known of it is said here once.
type option struct {
	key     string // in the file; flag and variables follow from it
	kind    string // what its value is, for the help and the reference
	between string // of a list: what stands between its words; empty: a comma
	def     string // the default, as it would be written
	unset   string // in words, what holds when it is empty
	choices []string
	live    bool     // a change is taken without a restart
	kafka   bool     // Kafka has the property: its container variable works too
	also    []string // further variables, by their full names
	doc     string
	put     func(s *settings, text string) error
}

// The kinds of values.
const (
	kindText     = "text"
	kindList     = "list"
	kindInt      = "whole number"
	kindSize     = "size"
	kindDuration = "duration"
	kindBool     = "boolean"
	kindChoice   = "choice"
	kindMs       = "milliseconds"
)

// flag is the option's name on the command line, without the dashes.
func (o option) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(o.key) }

// variable is the option's own environment variable.
func (o option) variable() string {
	return "KAASD_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(o.key))
}

// kafkaVariables are the variables Kafka's images know the option by.
func (o option) kafkaVariables() []string {
	if !o.kafka {
		return o.also
	}
	name := strings.NewReplacer(".", "_", "_", "__", "-", "___").Replace(o.key)
	return append([]string{"KAFKA_" + strings.ToUpper(name)}, o.also...)
}

// textOption is any text.
func textOption(key, def string, into func(*settings) *string) option {
	return option{key: key, kind: kindText, def: def, put: func(s *settings, text string) error {
		*into(s) = text
		return nil
	}}
}

// listOption is words between commas.
func listOption(key, def string, into func(*settings) *[]string) option {
	return option{key: key, kind: kindList, def: def, put: func(s *settings, text string) error {
		*into(s) = splitList(text, ",")
		return nil
	}}
}

// join is the text of what a file gives: one value, or the words of a list.
func (o option) join(p pair) (string, error) {
	if p.list && o.kind != kindList {
		return "", fmt.Errorf("holds a list, and takes one value (%s)", o.kind)
	}
	return strings.Join(p.words, orElse(o.between, ",")), nil
}

func splitList(text, separator string) []string {
	var words []string
	for word := range strings.SplitSeq(text, separator) {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// choiceOption is one of several words.
func choiceOption(key, def string, choices []string, into func(*settings) *string) option {
	return option{key: key, kind: kindChoice, def: def, choices: choices, put: func(s *settings, text string) error {
		if !slices.Contains(choices, text) {
			return fmt.Errorf("%q is not one of %s", text, strings.Join(choices, ", "))
		}
		*into(s) = text
		return nil
	}}
}

func boolOption(key, def string, into func(*settings) *bool) option {
	return option{key: key, kind: kindBool, def: def, put: func(s *settings, text string) error {
		v, err := parseBool(text)
		*into(s) = v
		return err
	}}
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is not true or false", text)
}

// intOption is a whole number from least to most.
func intOption[T int | int32 | int64](key, def string, least, most int64, into func(*settings) *T) option {
	return option{key: key, kind: kindInt, def: def, put: func(s *settings, text string) error {
		v, err := parseInt(text, least, most)
		*into(s) = T(v)
		return err
	}}
}

func parseInt(text string, least, most int64) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	outside := errors.Is(err, strconv.ErrRange)
	if err != nil && !outside {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	if outside || v < least || v > most {
		return 0, fmt.Errorf("%s is not between %d and %d", text, least, most)
	}
	return v, nil
}

// sizeOption is a number of bytes from least to most.
func sizeOption[T int | int64](key, def string, least, most int64, into func(*settings) *T) option {
	return option{key: key, kind: kindSize, def: def, put: func(s *settings, text string) error {
		v, err := parseSize(text)
		if err != nil {
			return err
		}
		if v != float64(int64(v)) || int64(v) < least || int64(v) > most {
			return fmt.Errorf("%q is not a whole number of bytes between %d and %d", text, least, most)
		}
		*into(s) = T(v)
		return nil
	}}
}

// durationOption is a time such as 30s; least is the shortest allowed.
func durationOption(key, def string, least time.Duration, into func(*settings) *time.Duration) option {
	return option{key: key, kind: kindDuration, def: def, put: func(s *settings, text string) error {
		v, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration (such as 500ms, 30s or 1h)", text)
		}
		if v < least {
			return fmt.Errorf("%q is shorter than %v", text, least)
		}
		*into(s) = v
		return nil
	}}
}

// msOption is one of Kafka's times, a whole number of milliseconds.
func msOption(key, def string, least int64, into func(*settings) *time.Duration) option {
	return option{key: key, kind: kindMs, def: def, put: func(s *settings, text string) error {
		v, err := parseInt(text, least, int64(1<<63-1)/int64(time.Millisecond))
		*into(s) = time.Duration(v) * time.Millisecond
		return err
	}}
}

// The rest of an option is said after its kind.

func (o option) says(doc string) option { o.doc = doc; return o }

// asList is for a text whose words its own reader takes apart.
func (o option) asList() option { o.kind = kindList; return o }

func (o option) ofKafka(also ...string) option { o.kafka, o.also = true, also; return o }

func (o option) knownAs(also ...string) option { o.also = also; return o }

func (o option) liveToo() option { o.live = true; return o }

func (o option) orElse(words string) option { o.unset = words; return o }
