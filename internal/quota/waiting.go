package quota

import "context"

// waitingKey is the key of what Waiting keeps in a context.
type waitingKey struct{}

// Waiting has begin called when an Alter with the context begins to wait for
// other alterations or the name service, and what it returns when that is over:
// such time is no work. A Journal has to tell of its own waits.
func Waiting(ctx context.Context, begin func() (end func())) context.Context {
	return context.WithValue(ctx, waitingKey{}, begin)
}

// beginWait tells that a wait begins; to be called when it ends.
func beginWait(ctx context.Context) (end func()) {
	if begin, ok := ctx.Value(waitingKey{}).(func() func()); ok {
		return begin()
	}
	return func() {}
}
