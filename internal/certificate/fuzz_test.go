package certificate

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"testing"

	"kaasd/internal/certificate/certificatetest"
)

// FuzzSet: whatever stands in the files, they make a set that can be used, or an
// error.
func FuzzSet(f *testing.F) {
	ca := certificatetest.NewAuthority(f, "ca")
	cert, key := ca.Issue(f, pkix.Name{CommonName: "kafka"}, []string{"kafka.example"}).Write(f, f.TempDir())
	good := content{}
	for _, path := range []string{cert, key} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		good[path] = data
	}
	f.Add(good[cert], good[key], good[cert])
	f.Add(good[key], good[cert], []byte{})
	f.Add(append(good[cert], good[cert]...), good[key], []byte("no PEM"))
	f.Add([]byte{}, good[key], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no DER")}))
	f.Fuzz(func(t *testing.T, cert, key, authorities []byte) {
		files := Files{Certs: []string{"cert"}, Keys: []string{"key"}}
		if len(authorities) > 0 {
			files.ClientCA = "ca"
		}
		s, err := parse(files, content{"cert": cert, "key": key, "ca": authorities}, tls.VersionTLS12)
		if err != nil {
			return
		}
		if s.configs[None] == nil || len(s.pairs) != 1 || s.pairs[0].TLS.Leaf == nil || s.pairs[0].End.IsZero() {
			t.Errorf("a set that cannot be used: %+v", s)
		}
		if (s.configs[Required] != nil) != (s.authorities.Count() > 0) {
			t.Errorf("%d authorities, and a configuration that asks for certificates: %t", s.authorities.Count(), s.configs[Required] != nil)
		}
	})
}
