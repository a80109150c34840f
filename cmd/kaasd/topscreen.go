package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// screen is a terminal that is lent to one command: keys come as they are
// pressed, and what was shown before comes back when it is given back.
type screen struct {
	in    *os.File
	out   io.Writer
	saved *term.State
}

// What a terminal understands (ECMA-48, and xterm's second screen).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the other screen, no cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearToEnd  = "\x1b[K"
)

func openScreen(in *os.File, out io.Writer) (*screen, error) {
	saved, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("take the terminal: %w (--once needs none)", err)
	}
	io.WriteString(out, enterScreen)
	return &screen{in, out, saved}, nil
}

// giveBack makes the terminal what it was.
func (s *screen) giveBack() {
	io.WriteString(s.out, leaveScreen)
	term.Restore(int(s.in.Fd()), s.saved)
}

// size is 80 by 24 where the terminal does not say.
func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(int(s.in.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// draw writes over what is there, so that nothing flickers.
func (s *screen) draw(lines []string) {
	io.WriteString(s.out, homeCursor+strings.Join(lines, clearToEnd+"\r\n")+clearToEnd)
}

// topEvents are what the screen waits for.
type topEvents struct {
	keys    chan string
	samples chan topAnswer
	crashed chan string
}

// topAnswer is a sample, or why there is none.
type topAnswer struct {
	topSample
	err error
}

func newTopEvents() *topEvents {
	return &topEvents{make(chan string), make(chan topAnswer, 1), make(chan string, 2)}
}

// start runs f beside the screen. A crash of f is told to the one who holds
// the terminal, who gives it back first.
func (e *topEvents) start(f func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				e.crashed <- fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
		}()
		f()
	}()
}

// readKeys gives what is typed, until the process ends: a read from a
// terminal cannot be called off.
func (e *topEvents) readKeys(in io.Reader) {
	buffer := make([]byte, 64)
	for {
		n, err := in.Read(buffer)
		if err != nil {
			e.keys <- string(rune(keyInterrupt)) // nobody is there any more
			return
		}
		e.keys <- string(buffer[:n])
	}
}

func (f *quotaTop) screen(ctx context.Context, a *app, p *pages) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	events := newTopEvents()
	s, err := openScreen(a.in.(*os.File), a.out)
	if err != nil {
		return err
	}
	defer s.giveBack()
	events.start(func() { events.readKeys(a.in) })
	return f.show(ctx, s, events, func() {
		events.start(func() {
			sample, err := takeSample(ctx, p)
			events.samples <- topAnswer{sample, err}
		})
	})
}

// show draws after every event until somebody has enough. Look begins to take
// a sample; one is taken at a time.
func (f *quotaTop) show(ctx context.Context, s *screen, events *topEvents, look func()) error {
	v := topView{sort: f.sort, limit: f.limit, interval: f.interval}
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	looking := true
	look()
	for {
		width, height := s.size()
		s.draw(v.lines(width, height))
		select {
		case <-ctx.Done():
			return nil
		case keys := <-events.keys:
			if v.press(keys) {
				return nil
			}
		case answer := <-events.samples:
			looking = false
			v.answer(answer)
		case crash := <-events.crashed:
			panic(crash)
		case <-ticker.C:
			if !looking && !v.paused {
				looking = true
				look()
			}
		}
	}
}

// answer shows new rows, or says why they are old.
func (v *topView) answer(a topAnswer) {
	switch {
	case a.err != nil:
		v.fault = a.err.Error()
	case !v.paused:
		v.take(a.topSample)
	}
}
