package segment

import "testing"

// However many peers take no bytes, what is in memory for each is little, once
// many do.
func TestPiecesOfManyAreSmall(t *testing.T) {
	var backs []func()
	sum := 0
	for range 1000 {
		buf, back := borrow()
		backs = append(backs, back)
		sum += len(buf)
	}
	if most := largePieces*piece + 1000*smallPiece; sum > most {
		t.Errorf("a thousand pieces take %d bytes, want %d at most", sum, most)
	}
	for _, back := range backs {
		back()
	}
	buf, back := borrow()
	defer back()
	if len(buf) != piece {
		t.Errorf("a piece has %d bytes when nobody else has one, want %d", len(buf), piece)
	}
}
