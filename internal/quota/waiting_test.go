package quota

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"kaasd/internal/kafka"
)

// gate is a journal that keeps nothing until it is let.
type gate struct{ entered, open chan struct{} }

func (g gate) Keep(context.Context, []Setting) error {
	g.entered <- struct{}{}
	<-g.open
	return nil
}

// TestAlterTellsThatItWaits: for another alteration, and for the name service.
func TestAlterTellsThatItWaits(t *testing.T) {
	t.Run("for another", func(t *testing.T) {
		e, g := newKafka(), gate{make(chan struct{}), make(chan struct{})}
		e.Restore(nil, g)
		done := make(chan struct{})
		go func() {
			defer close(done)
			e.Alter(t.Context(), time.Now(), []Alteration{{parts("user=a"), []Op{set(kafka.ProducerByteRate, 1)}}}, false)
		}()
		<-g.entered
		begun, ended := make(chan struct{}), false
		go func() {
			<-begun
			close(g.open)
		}()
		ctx := Waiting(t.Context(), func() func() {
			close(begun)
			return func() { ended = true }
		})
		e.Alter(ctx, time.Now(), []Alteration{{parts("user=b"), nil}}, false)
		if !ended {
			t.Error("it waits on")
		}
		<-done
	})
	t.Run("for the name service", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, waited := newKafka(), time.Duration(0)
			e.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
				time.Sleep(time.Second)
				return []netip.Addr{netip.MustParseAddr("1.2.3.4")}, nil
			}
			ctx := Waiting(t.Context(), func() func() {
				began := time.Now()
				return func() { waited += time.Since(began) }
			})
			e.Alter(ctx, time.Now(), []Alteration{{parts("ip=some.host"), nil}, {parts("ip=other.host"), nil}}, false)
			if waited != 2*time.Second {
				t.Errorf("told of %v", waited)
			}
		})
	})
}
