package auth

import (
	"cmp"
	"crypto/hkdf"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"math/bits"
	"slices"
	"strings"

	"kaasd/internal/kafka"
)

// Looks is what the SCRAM credentials of one mechanism look like to who begins a
// log-in, and how many look so. Credentials of users that do not exist are made up
// after it: each look as often as among the real ones, so that none of them says
// that the user exists. What the most have would say so of all others. It is never
// changed; nil stands for no credentials.
type Looks struct {
	looks []look
	upTo  []uint64 // how many credentials have this look or one before it
}

// look is what a first answer shows. A name keeps its made-up look as long as the
// shares of the looks stay, over restarts too.
type look struct {
	iterations int
	salt       int // bytes; kafkaSalt: a number as Kafka's tools write it
}

// plainLook is that of credentials that kaasd makes.
var plainLook = look{kafka.ScramIterations, kafka.ScramSaltSize}

// Salts that Kafka's tools and Java clients make are no bytes by chance: they are
// the digits, to the base of 36, of a number of 130 bits (ScramFormatter), 25 or 26
// of them and seldom fewer.
const (
	kafkaSalt      = -1
	kafkaSaltBits  = 130
	kafkaSaltBase  = 36
	leastKafkaSalt = 18 // digits; one in 10^12 has fewer
	longestSalt    = 1024
)

// NewLooks counts how credentials look, which are all of one mechanism.
func NewLooks(all iter.Seq[kafka.ScramCredential]) *Looks {
	counts := map[look]uint64{}
	for c := range all {
		counts[look{c.Iterations, saltLook(c.Salt)}]++
	}
	l := &Looks{looks: slices.SortedFunc(maps.Keys(counts), func(a, b look) int {
		return cmp.Or(cmp.Compare(a.iterations, b.iterations), cmp.Compare(a.salt, b.salt))
	})}
	n := uint64(0)
	for _, k := range l.looks {
		n += counts[k]
		l.upTo = append(l.upTo, n)
	}
	return l
}

func saltLook(salt []byte) int {
	text := string(salt)
	if len(text) >= leastKafkaSalt && len(text) <= 26 && text[0] != '0' && strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyz") == "" {
		if n, ok := new(big.Int).SetString(text, kafkaSaltBase); ok && n.BitLen() <= kafkaSaltBits {
			return kafkaSalt
		}
	}
	return min(len(salt), longestSalt)
}

// pick is the look of which chance, even over all its values, is part.
func (l *Looks) pick(chance uint64) look {
	if l == nil || len(l.looks) == 0 {
		return plainLook
	}
	nth, _ := bits.Mul64(chance, l.upTo[len(l.upTo)-1])
	i, found := slices.BinarySearch(l.upTo, nth)
	if found { // upTo is how many there are, counted from 1
		i++
	}
	return l.looks[i]
}

// madeUp is the salt and the iterations of a name that is nobody's. They follow
// from the key, the mechanism, the name and the look alone: where the share of its
// look has changed, a name has a new salt with it, as after a change of password.
func (l *Looks) madeUp(key []byte, m kafka.ScramMechanism, name string) (salt []byte, iterations int) {
	seed := kafka.ScramSHA512.HMAC(key, m.String()+" "+name)
	k := l.pick(binary.BigEndian.Uint64(seed))
	size := k.salt
	if k.salt == kafkaSalt {
		size = (kafkaSaltBits + 7) / 8
	}
	salt, err := hkdf.Expand(sha512.New, seed, fmt.Sprintf("salt %d %d", k.iterations, k.salt), size)
	if err != nil {
		panic(err) // longer than 255 hashes
	}
	if k.salt == kafkaSalt {
		n := new(big.Int).SetBytes(salt)
		salt = []byte(n.Rsh(n, uint(8*size-kafkaSaltBits)).Text(kafkaSaltBase))
	}
	return salt, k.iterations
}
