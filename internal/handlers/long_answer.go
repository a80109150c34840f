package handlers

import (
	"time"

	"kaasd/internal/server"
)

// littleAnswer is how long an answer may be, in bytes of memory, that nothing is
// reserved for.
const littleAnswer = 64 << 10

// tellMuch gets ready for an answer of so many bytes of memory, where that is long.
func (c *call) tellMuch(bytes int) error { return c.inTurn(c.h.answering, bytes, littleAnswer) }

// reserve takes memory before it is needed, where that is more than little. To wait
// for it is not work.
func (c *call) reserve(bytes, little int) error {
	if bytes <= little {
		return nil
	}
	defer c.waits(time.Now())
	return c.request.Reserve(int64(bytes))
}

// inTurn is reserve, and then takes a turn, which ends with passTurn or when the answer
// has been made: to tell of tens of thousands of partitions takes tens of milliseconds,
// and fifty clients may ask at once. Nothing else may be waited for within a turn.
func (c *call) inTurn(turns server.Turns, bytes, little int) error {
	c.passTurn()
	if err := c.reserve(bytes, little); err != nil || bytes <= little {
		return err
	}
	defer c.waits(time.Now())
	err := turns.TakeBefore(c.ctx)
	if err == nil {
		c.turn = turns
	}
	return err
}

// waits ends a wait, which is not work.
func (c *call) waits(since time.Time) { c.parked += time.Since(since) }

// passTurn ends the call's turn, if it has one.
func (c *call) passTurn() {
	if c.turn != nil {
		c.turn.Pass()
		c.turn = nil
	}
}
