package kafka

// PrincipalUser is the only principal type kaasd authenticates.
const PrincipalUser = "User"

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
