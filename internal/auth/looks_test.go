package auth

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kaasd/internal/kafka"
)

// shaped are so many credentials with the iterations and the salt.
func shaped(n, iterations int, salt []byte) []kafka.ScramCredential {
	return slices.Repeat([]kafka.ScramCredential{{Mechanism: kafka.ScramSHA512, Iterations: iterations, Salt: salt}}, n)
}

// madeOf is how ten thousand names that are nobody's look.
func madeOf(l *Looks) map[look]int {
	counts := map[look]int{}
	for i := range 10_000 {
		salt, iterations := l.madeUp(options.SaltKey, kafka.ScramSHA512, fmt.Sprint("nobody-", i))
		counts[look{iterations, saltLook(salt)}]++
	}
	return counts
}

var javasSalt = []byte("1h30pw309k699qbkkjxflpgadn")

// Names that are nobody's look as often as users do as each of them does.
func TestMadeUpCredentialsLookLikeThoseInForce(t *testing.T) {
	some := bytes.Repeat([]byte{200}, 16)
	for name, c := range map[string]struct {
		in   []kafka.ScramCredential
		want map[look]int
	}{
		"none":            {nil, map[look]int{{8192, 24}: 10_000}},
		"of Kafka":        {shaped(3, 4096, javasSalt), map[look]int{{4096, kafkaSalt}: 10_000}},
		"of kaasd":        {shaped(3, 8192, make([]byte, 24)), map[look]int{{8192, 24}: 10_000}},
		"of another":      {shaped(3, 5000, some), map[look]int{{5000, 16}: 10_000}},
		"without a salt":  {shaped(1, 5000, nil), map[look]int{{5000, 0}: 10_000}},
		"with a long one": {shaped(1, 5000, make([]byte, 2000)), map[look]int{{5000, longestSalt}: 10_000}},
		"mixed": {slices.Concat(shaped(70, 4096, javasSalt), shaped(20, 8192, make([]byte, 24)), shaped(9, 8192, some), shaped(1, 16384, javasSalt)),
			map[look]int{{4096, kafkaSalt}: 7000, {8192, 24}: 2000, {8192, 16}: 900, {16384, kafkaSalt}: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLooks(slices.Values(c.in))
			got := madeOf(l)
			for k, want := range c.want {
				if off := math.Abs(float64(got[k] - want)); off > 5*math.Sqrt(float64(want)) && off > 0 {
					t.Errorf("%d look like %v, want about %d", got[k], k, want)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("got %v", got)
			}
			if diff := cmp.Diff(got, madeOf(NewLooks(slices.Values(c.in)))); diff != "" {
				t.Errorf("another time: %s", diff)
			}
		})
	}
}

// Twenty thousand salts of the Java client of Kafka 4.4.0 had 23 digits 8 times, 24
// 321 times, 25 11422 and 26 8249 times; of the last each began with 1.
func TestMadeUpSaltsOfKafka(t *testing.T) {
	l := NewLooks(slices.Values(shaped(1, 4096, javasSalt)))
	sizes := map[int]float64{}
	for i := range 20_000 {
		salt, _ := l.madeUp(options.SaltKey, kafka.ScramSHA512, fmt.Sprint("nobody-", i))
		sizes[len(salt)]++
		if len(salt) == 26 && salt[0] != '1' {
			t.Fatalf("%s", salt)
		}
	}
	for size, want := range map[int]float64{24: 321, 25: 11422, 26: 8249} {
		if math.Abs(sizes[size]-want) > 7*math.Sqrt(want) { // both are drawn
			t.Errorf("%v salts of %d digits, want about %v", sizes[size], size, want)
		}
	}
}

// A new user changes few of the names that are nobody's; one whose look changes has
// a new salt, as after a change of password.
func TestMadeUpCredentialsStay(t *testing.T) {
	before := slices.Concat(shaped(50, 4096, javasSalt), shaped(50, 8192, make([]byte, 24)))
	old, next := NewLooks(slices.Values(before)), NewLooks(slices.Values(append(before, shaped(1, 4096, javasSalt)...)))
	moved := 0
	for i := range 10_000 {
		name := fmt.Sprint("nobody-", i)
		salt, iterations := old.madeUp(options.SaltKey, kafka.ScramSHA512, name)
		again, iterationsAgain := next.madeUp(options.SaltKey, kafka.ScramSHA512, name)
		if same := bytes.Equal(salt, again); same != (iterations == iterationsAgain) {
			t.Fatalf("%s: %d %q, then %d %q", name, iterations, salt, iterationsAgain, again)
		} else if !same {
			moved++
		}
	}
	if moved == 0 || moved > 100 { // 1/2 of 1/101 of them: 50
		t.Errorf("%d of 10000 changed with one user", moved)
	}
}

func TestSaltsOfKafkaAreKnown(t *testing.T) {
	for salt, want := range map[string]int{
		"ep0l7vl9leo3nwatui8znp87v":    kafkaSalt,
		"1h30pw309k699qbkkjxflpgadn":   kafkaSalt,
		"zh30pw309k699qbkkjxflpgadn":   26, // above 130 bits
		"0h30pw309k699qbkkjxflpgad":    25,
		"1h30pw309k699qbkkjxflpgadnxx": 28,
		"1h30pw309k699-bkkjxflpgadn":   26,
		"salt":                         4,
		"":                             0,
	} {
		if got := saltLook([]byte(salt)); got != want {
			t.Errorf("%q: got %d, want %d", salt, got, want)
		}
	}
}

// What is no number that Kafka's tools can have written is bytes by chance.
func TestLooksOfSalts(t *testing.T) {
	for salt, want := range map[string]int{
		string(javasSalt):            kafkaSalt,
		"pw309k699qbkkjxflp":         kafkaSalt, // of the fewest digits
		"pw309k699qbkkjxfl":          17,
		"0h30pw309k699qbkkjxflpgadn": 26, // numbers begin with another digit
		"2h30pw309k699qbkkjxflpgadn": 26, // more than 130 bits
		"1H30pw309k699qbkkjxflpgadn": 26,
		"1h30pw309k699qbkkjxflpgad-": 26,
		"":                           0,
	} {
		if got := saltLook([]byte(salt)); got != want {
			t.Errorf("%q looks like %d, want %d", salt, got, want)
		}
	}
}

// A name has a salt for each mechanism, and for each number of iterations.
func TestMadeUpSaltsDiffer(t *testing.T) {
	salts := map[string]bool{}
	for _, m := range kafka.ScramMechanisms {
		for _, iterations := range []int{4096, 8192} {
			salt, _ := NewLooks(slices.Values(shaped(1, iterations, make([]byte, 16)))).madeUp(options.SaltKey, m, "nobody")
			salts[string(salt)] = true
		}
	}
	if want := 2 * len(kafka.ScramMechanisms); len(salts) != want {
		t.Errorf("%d salts, want %d", len(salts), want)
	}
}
