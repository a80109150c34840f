package kafka

// PrincipalUser is the only principal type kaasd authenticates.
const PrincipalUser = "User"

// MaxName is the longest name that somebody or something may be known by, in bytes: of
// those who log in or show a certificate, of entities with quotas and in ACLs. Sessions,
// buckets and lines of the log carry it.
const MaxName = 4096

// Principal is who a connection speaks for.
type Principal struct {
	Type string // "User"
	Name string // byte for byte as authenticated
}

// Anonymous is the principal of a connection without authentication.
var Anonymous = Principal{Type: PrincipalUser, Name: "ANONYMOUS"}

// User is the principal of a named user.
func User(name string) Principal { return Principal{Type: PrincipalUser, Name: name} }

// String is Kafka's notation, such as User:alice.
func (p Principal) String() string { return p.Type + ":" + p.Name }
