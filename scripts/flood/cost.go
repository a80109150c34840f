package main

import (
	"bytes"
	"crypto/pbkdf2"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"kaasd/internal/codec/message"
	"kaasd/internal/kafka"

	"golang.org/x/sync/errgroup"
)

const (
	password  = "a right password" // of user
	mechanism = kafka.ScramSHA512
	nonce     = "abcdefghijklmnop" // of the client
)

// visit is a connection that a client makes, and what it does there.
type visit struct {
	name, address string
	does          func(session) error
}

// cost prints the processor time of the broker for each of several kinds of
// connections, a line a round, and fails when the median of a SCRAM log-in is
// more than allowed above that of a connection on which nothing is said.
func cost(args []string) error {
	flags := flag.NewFlagSet("flood cost", flag.ContinueOnError)
	binary := flags.String("kaasd", "dist/kaasd", "the `binary` to log in to")
	times := flags.Int("times", 2000, "connections of each kind in a round")
	rounds := flags.Int("rounds", 5, "how often")
	atOnce := flags.Int("at-once", 8, "clients at the same time")
	allowed := flags.Duration("allowed", 200*time.Microsecond, "processor time for a log-in")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "flood")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	broker, err := startBroker(options{kaasd: *binary, limit: "0"}, dir, attack{})
	if err != nil {
		return err
	}
	defer broker.stop()
	visits, err := broker.visits()
	if err != nil {
		return err
	}
	var above []time.Duration
	for range *rounds {
		var each []time.Duration
		for _, v := range visits {
			d, err := broker.spends(*times, *atOnce, v)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			each = append(each, d)
			fmt.Printf("%s %v, ", v.name, d.Round(time.Microsecond))
		}
		login := each[len(each)-1] - each[0]
		fmt.Printf("a log-in %v\n", login.Round(time.Microsecond))
		above = append(above, login)
	}
	slices.Sort(above)
	if median := above[len(above)/2]; median > *allowed {
		return fmt.Errorf("a log-in costs the broker %v, more than %v", median, *allowed)
	}
	return broker.stop()
}

// visits are the kinds, the first with nothing, the last with a log-in.
func (t *target) visits() ([]visit, error) {
	shake, err := encode(kafka.KeySASLHandshake, 1, &message.SaslHandshakeRequest{Mechanism: mechanism.String()})
	if err != nil {
		return nil, err
	}
	versions, err := encode(kafka.KeyApiVersions, 2, &message.ApiVersionsRequest{})
	if err != nil {
		return nil, err
	}
	s, err := connect(t.sasl)
	if err != nil {
		return nil, err
	}
	defer s.nc.Close()
	proofs, err := s.learn(shake)
	if err != nil {
		return nil, err
	}
	return []visit{
		{"a connection", t.sasl, func(session) error { return nil }},
		{"with three times ApiVersions", t.plain, func(s session) error {
			for range 3 {
				if _, err := s.ask(versions); err != nil {
					return err
				}
			}
			return nil
		}},
		{"with a log-in", t.sasl, func(s session) error { return proofs.logIn(s, shake) }},
	}, nil
}

// spends is the broker's processor time for each of n connections, of so many at once.
func (t *target) spends(n, atOnce int, v visit) (time.Duration, error) {
	before, err := t.processor()
	if err != nil {
		return 0, err
	}
	var next atomic.Int64
	var all errgroup.Group
	for range atOnce {
		all.Go(func() error {
			for next.Add(1) <= int64(n) {
				s, err := connect(v.address)
				if err != nil {
					return err
				}
				err = v.does(s)
				s.nc.Close()
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return 0, err
	}
	after, err := t.processor()
	return (after - before) / time.Duration(n), err
}

// processor is the time that the threads of the process have run.
func (t *target) processor() (sum time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", t.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// proofs has what a client keeps of its password (RFC 5802), so that logging in
// costs it little.
type proofs struct{ clientKey, storedKey []byte }

// learn begins a log-in and leaves it there: the broker has told the salt.
func (s session) learn(shake []byte) (p proofs, err error) {
	if _, err := s.ask(shake); err != nil {
		return p, err
	}
	first, err := s.token("n,,n=" + user + ",r=" + nonce)
	if err != nil {
		return p, err
	}
	parts := strings.Split(string(first), ",") // r=nonce,s=salt,i=iterations
	if len(parts) != 3 {
		return p, fmt.Errorf("the broker says %q", first)
	}
	salt, err := base64.StdEncoding.DecodeString(parts[1][2:])
	if err != nil {
		return p, err
	}
	iterations, err := strconv.Atoi(parts[2][2:])
	if err != nil {
		return p, err
	}
	salted, err := pbkdf2.Key(mechanism.Hash, password, salt, iterations, mechanism.KeySize())
	if err != nil {
		return p, err
	}
	p.clientKey = mechanism.HMAC(salted, "Client Key")
	p.storedKey = mechanism.Sum(p.clientKey)
	return p, nil
}

// logIn is one whole log-in.
func (p proofs) logIn(s session, shake []byte) error {
	if _, err := s.ask(shake); err != nil {
		return err
	}
	bare := "n=" + user + ",r=" + nonce
	first, err := s.token("n,," + bare)
	if err != nil {
		return err
	}
	both, _, _ := bytes.Cut(first, []byte(","))
	final := "c=biws," + string(both)
	proof := mechanism.HMAC(p.storedKey, bare+","+string(first)+","+final)
	for i := range proof {
		proof[i] ^= p.clientKey[i]
	}
	_, err = s.token(final + ",p=" + base64.StdEncoding.EncodeToString(proof))
	return err
}

// token sends a token of SASL and gives the broker's.
func (s session) token(text string) ([]byte, error) {
	frame, err := encode(kafka.KeySASLAuthenticate, 1, &message.SaslAuthenticateRequest{AuthBytes: []byte(text)})
	if err != nil {
		return nil, err
	}
	answer, err := s.ask(frame)
	if err != nil {
		return nil, err
	}
	return tokenOf(answer)
}
