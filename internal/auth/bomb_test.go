package auth

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"kaasd/internal/kafka"
)

// Whatever the largest token holds, taking it apart makes no more memory than a
// few times its size.
func TestTokensMakeLittleMemory(t *testing.T) {
	const size = 512 << 10
	secrets := users{"n": "p"}
	for _, mechanism := range []string{Plain, ScramSHA256, ScramSHA512} {
		for name, token := range map[string][]byte{
			"zeros":      make([]byte, size),
			"a name":     []byte("\x00" + strings.Repeat("n", size) + "\x00p"),
			"a password": []byte("\x00n\x00" + strings.Repeat("p", size)),
			"commas":     bytes.Repeat([]byte(","), size),
			"attributes": []byte("n,,n=a,r=b" + strings.Repeat(",x=", size/3)),
			"escapes":    []byte("n,,n=" + strings.Repeat("=2C", size/3) + ",r=b"),
			"equals":     []byte("n,,n=" + strings.Repeat("=", size) + ",r=b"),
			"a nonce":    []byte("n,,n=a,r=" + strings.Repeat("r", size)),
		} {
			e, err := NewExchange(mechanism, secrets, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, done, err := e.Step(token)
			runtime.ReadMemStats(&after)
			if cost := after.TotalAlloc - before.TotalAlloc; cost > 8*size {
				t.Errorf("%s, %s: %d bytes made of %d", mechanism, name, cost, len(token))
			}
			if done || err != nil && kafka.CodeOf(err) != kafka.SASLAuthenticationFailed {
				t.Errorf("%s, %s: done %t, %v", mechanism, name, done, err)
			}
		}
	}
}

// The first message of who may have no password is kept until the second one comes,
// which it need not. So it has a bound, below the one on frames before a log-in.
func TestFirstMessagesHaveABound(t *testing.T) {
	for _, mechanism := range []string{ScramSHA256, ScramSHA512} {
		for name, part := range map[string]string{"a name": "n,,n=%,r=b", "a nonce": "n,,n=a,r=%", "an extension": "n,,n=a,r=b,x=%", "an identity": "n,a=%,n=%,r=b"} {
			parts := strings.Count(part, "%")
			for _, over := range []int{0, parts} {
				each := (maxFirst - len(part) + parts) / parts
				e, err := NewExchange(mechanism, users{"a": "p"}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = e.Step([]byte(strings.ReplaceAll(part, "%", strings.Repeat("v", each+over/parts))))
				if refused := err != nil; refused != (over > 0) {
					t.Errorf("%s, %s of %d bytes: %v", mechanism, name, each+over/parts, err)
				}
			}
		}
	}
}
