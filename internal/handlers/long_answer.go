package handlers

import "time"

// littleAnswer is how long an answer may be, in bytes of memory, that nothing is
// reserved for.
const littleAnswer = 64 << 10

// tellMuch gets ready for an answer of so many bytes of memory, where that is long: it
// takes the memory, and then a turn, which ends when the answer has been made: of tens
// of thousands of partitions one takes tens of milliseconds, and fifty clients may ask
// at once. To wait is not work. Nothing else may be waited for until then.
func (c *call) tellMuch(bytes int) error {
	if bytes <= littleAnswer {
		return nil
	}
	if err := c.reserve(bytes, littleAnswer); err != nil {
		return err
	}
	began := time.Now()
	defer func() { c.parked += time.Since(began) }()
	err := c.h.turns.TakeBefore(c.ctx)
	c.turn = err == nil
	return err
}

// passTurn ends the call's turn, if it has one.
func (c *call) passTurn() {
	if c.turn {
		c.turn = false
		c.h.turns.Pass()
	}
}
