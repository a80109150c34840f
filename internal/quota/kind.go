package quota

// Kind is a direction of traffic that has a balance of its own.
type Kind uint8

// The kinds of quota that are enforced.
const (
	Produce Kind = iota // producer_byte_rate, bytes of requests
	Fetch               // consumer_byte_rate, bytes of answers

	kinds = 2
)

// String is the value of the label quota.
func (k Kind) String() string {
	if k == Produce {
		return "produce"
	}
	return "fetch"
}
