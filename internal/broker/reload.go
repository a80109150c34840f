package broker

import (
	"errors"
	"strings"

	"kaasd/internal/credstore"
)

// Reload reads the credentials file again.
func (b *Broker) Reload(t credstore.Trigger) credstore.Result { return b.credentials.Reload(t) }

// ReloadFiles reads every file again that a running broker follows, and gives a
// line for each. The error says which were not usable, in the same words; their
// last good content stays in force.
func (b *Broker) ReloadFiles(t credstore.Trigger) (string, error) {
	var lines []string
	var faults []error
	for _, reload := range b.reloads() {
		line, failed := reload(t)
		lines = append(lines, line)
		if failed {
			faults = append(faults, errors.New(line))
		}
	}
	return strings.Join(lines, "\n"), errors.Join(faults...)
}

// reloads reads one file, or the files of one kind, each: what became of it, and
// whether it is not usable.
func (b *Broker) reloads() []func(credstore.Trigger) (line string, failed bool) {
	all := []func(credstore.Trigger) (string, bool){b.reloadCredentials}
	if b.certificates != nil {
		all = append(all, b.reloadCertificates)
	}
	if b.gate != nil {
		all = append(all, b.reloadGate)
	}
	return all
}

func (b *Broker) reloadCredentials(t credstore.Trigger) (string, bool) {
	r := b.Reload(t)
	return r.String(), r.Err != nil
}

func (b *Broker) reloadCertificates(t credstore.Trigger) (string, bool) {
	r := b.certificates.Reload(string(t))
	return r.String(), r.Err != nil
}

func (b *Broker) reloadGate(t credstore.Trigger) (string, bool) {
	line, err := b.gate.Reload(string(t))
	if err != nil {
		return err.Error(), true
	}
	return line, false
}
