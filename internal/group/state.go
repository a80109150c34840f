package group

// State is where a group stands, by Kafka's names.
type State uint8

// The states of a group of the classic protocol.
const (
	Empty               State = iota // no members; there may be offsets
	PreparingRebalance               // members are joining
	CompletingRebalance              // members wait for the leader's assignment
	Stable                           // everybody has an assignment
	Dead                             // removed
)

var stateNames = [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}

// String is Kafka's name of the state.
func (s State) String() string { return stateNames[s] }
