package message

import "math"

// NoOperations stands in the authorized operations of an answer when they
// were not asked for (KIP-430).
const NoOperations = math.MinInt32
