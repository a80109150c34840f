package kafka

// ScramMechanism is a SCRAM variant by its number in the protocol (KIP-554).
type ScramMechanism int8

// The SCRAM mechanisms.
const (
	ScramUnknown ScramMechanism = 0
	ScramSHA256  ScramMechanism = 1
	ScramSHA512  ScramMechanism = 2
)

// String is the mechanism's SASL name.
func (m ScramMechanism) String() string {
	switch m {
	case ScramSHA256:
		return "SCRAM-SHA-256"
	case ScramSHA512:
		return "SCRAM-SHA-512"
	}
	return "UNKNOWN"
}

// ScramCredential is what a broker keeps of a password (RFC 5802): enough to
// verify a login, not enough to log in.
type ScramCredential struct {
	Mechanism  ScramMechanism
	Salt       []byte
	StoredKey  []byte // H(ClientKey)
	ServerKey  []byte
	Iterations int
}
