package daemon

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/store"
)

// ErrTooEarly is wrapped when what is to be taken back or forgotten was learnt
// before the oldest lesson that is kept.
var ErrTooEarly = errors.New("too long ago")

// takeBack applies an event that rewrites the past and commits it, or only says
// what it would do. It runs in the writer goroutine, or where there is none.
func (a *account) takeBack(e filter.Event, dryRun bool) (filter.Rewritten, error) {
	if dryRun {
		return a.filter.Foresee(e, writer.NewPast(a.store, a.opts.Name))
	}
	r, broken, err := a.work.Rewrite(e, func(st *store.State, w store.Rewrite) error {
		return a.store.Rewrite(a.opts.Name, st, w)
	})
	a.filter = a.work.Filter()
	if broken {
		a.broken = err
	}
	if err == nil && r.Changed {
		a.rewrites++ // the lessons have other numbers
		a.log.Info("lessons were taken back", "lessons", r.Lessons, "messages", r.Messages, "marks", r.Marks)
	}
	return r, err
}

// looking is an account that is only looked at.
func (o *Offline) looking(name string) (*account, error) {
	name, f, err := o.named(name)
	if err != nil {
		return nil, err
	}
	return &account{opts: AccountOptions{Name: name}, store: o.store, filter: f, clock: newClock(time.Now, f.State().Account.Clock)}, nil
}

// ceilSecond is the first whole second not before m, so that it can be said
// without fractions.
func ceilSecond(m store.Moment) time.Time {
	return m.Add(time.Second - time.Millisecond).Time().Truncate(time.Second)
}

// tooEarly puts a refusal into words: advice says what can be done, given the
// earliest time.
func tooEarly(err error, advice string) error {
	var early *filter.TooEarlyError
	if !errors.As(err, &early) {
		return err
	}
	earliest := ceilSecond(early.Earliest).Format(time.RFC3339)
	return fmt.Errorf("%w: the lessons are kept from %s on, and what was learnt before can't be taken apart any more; "+advice,
		ErrTooEarly, earliest, earliest)
}

// copiesOf lists the files beside a store that were copies of it once and are not
// changed with it.
func copiesOf(path string) []string {
	out := []string{}
	for _, kind := range []string{".before-restore-*", ".damaged-*"} {
		found, err := filepath.Glob(path + kind)
		if err == nil { // only a malformed pattern gives one
			out = append(out, found...)
		}
	}
	slices.Sort(out)
	return out
}
