package server

import "sync"

// outbox holds the answers of one connection that wait for a commit. Its
// goroutine, the flusher, lives while there are any.
type outbox struct {
	mu      sync.Mutex
	queue   []delivery // in order; the flusher works on the first
	running bool
	failed  error
	moved   chan struct{} // the flusher has finished one; capacity 1
}

// add queues a delivery once there is room, and starts the flusher.
func (o *outbox) add(c *conn, d delivery) error {
	if err := o.wait(c.server.options.Outstanding - 1); err != nil {
		d.drop()
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.moved == nil {
		o.moved = make(chan struct{}, 1)
	}
	o.queue = append(o.queue, d)
	if !o.running {
		o.running = true
		c.server.running.Add(1)
		go o.run(c)
	}
	return nil
}

// flush waits until no answer is outstanding.
func (o *outbox) flush() error { return o.wait(0) }

// wait waits until at most n answers are outstanding. Only the goroutine of
// the connection calls it.
func (o *outbox) wait(n int) error {
	for {
		o.mu.Lock()
		have, err := len(o.queue), o.failed
		o.mu.Unlock()
		if have <= n {
			return err
		}
		<-o.moved
	}
}

// pending says whether answers are outstanding.
func (o *outbox) pending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue) > 0
}

// run delivers until the queue is empty. A failure ends the connection, and
// the deliveries after it are dropped.
func (o *outbox) run(c *conn) {
	defer c.server.running.Done()
	for {
		o.mu.Lock()
		d, failed := o.queue[0], o.failed
		o.mu.Unlock()
		if failed != nil {
			d.drop()
		} else if failed = o.deliver(c, d); failed != nil {
			c.abort(failed)
		}
		if !o.done(failed) {
			return
		}
	}
}

func (o *outbox) deliver(c *conn, d delivery) (err error) {
	defer c.survive(&err)
	return c.send(d)
}

// done takes the first delivery off and says whether there are more.
func (o *outbox) done(failed error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = failed
	n := copy(o.queue, o.queue[1:])
	o.queue[n] = delivery{}
	o.queue = o.queue[:n]
	o.running = n > 0
	select {
	case o.moved <- struct{}{}:
	default:
	}
	return o.running
}
