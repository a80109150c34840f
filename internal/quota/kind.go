package quota

// Kind is what a quota counts. Each has a balance of its own.
type Kind uint8

// The kinds of quota.
const (
	Produce    Kind = iota // producer_byte_rate: bytes of requests
	Fetch                  // consumer_byte_rate: bytes of answers
	Request                // request_percentage: nanoseconds of work
	Mutation               // controller_mutation_rate: partitions made and deleted
	Connection             // connection_creation_rate: connections from an address

	kinds = 5
)

var kindNames = [kinds]string{"produce", "fetch", "request", "mutation", "connection"}

// String is the value of the label quota.
func (k Kind) String() string { return kindNames[k] }
