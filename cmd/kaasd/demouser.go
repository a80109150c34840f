package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"

	"kaasd/internal/kafka"
)

// writeCredentials writes the embedded credentials file, with passwords made
// up for this run, and gives its path.
func (d *demo) writeCredentials() (string, error) {
	d.passwords = map[string]string{}
	var users []map[string]any
	for _, name := range []string{"alice", "bob", "carol"} {
		d.passwords[name] = rand.Text()
		entry, err := scramEntry(name, d.passwords[name])
		if err != nil {
			return "", err
		}
		if name == "alice" {
			entry["quotas"] = map[string]any{"producerMaxByteRatePerBroker": demoBase}
		}
		users = append(users, entry)
	}
	raw, err := json.Marshal(map[string]any{"version": 1, "users": users})
	if err != nil {
		return "", err
	}
	path := filepath.Join(d.dir, "credentials.json")
	return path, os.WriteFile(path, raw, 0o600)
}

// demoIterations is Kafka's least, so that the demo begins at once.
const demoIterations = 4096

func scramEntry(name, password string) (map[string]any, error) {
	salt := make([]byte, 24)
	rand.Read(salt)
	c, err := kafka.NewScramCredential(kafka.ScramSHA512, password, salt, demoIterations)
	if err != nil {
		return nil, err
	}
	text := base64.StdEncoding.EncodeToString
	return map[string]any{"username": name, "authType": "scram-sha-512", "scram": map[string]any{
		"salt": text(c.Salt), "storedKey": text(c.StoredKey), "serverKey": text(c.ServerKey), "iterations": c.Iterations,
	}}, nil
}
