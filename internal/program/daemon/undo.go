// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/store"
)

// undoLook is how often it is looked after how far taking marks back has come.
const undoLook = 25 * time.Millisecond

// Undo implements desk.Account.
func (a *account) Undo(ctx context.Context, u desk.MarkUndo) (problem string, err error) {
	if err := a.Change(ctx, func(d *desk.Desk) error { return a.seek(d, u) }); err != nil {
		return "", err
	}
	return a.awaitUndo(ctx, u)
}

func (a *account) seek(d *desk.Desk, u desk.MarkUndo) (err error) {
	a.sought, err = u.Begin(d)
	clear(a.unwilling)
	clear(a.sighted)
	return err
}

// awaitUndo waits until no mark waits any more, nothing has come of it for as long as
// its patience, or ctx is done. It returns what is wrong with the connection.
func (a *account) awaitUndo(ctx context.Context, u desk.MarkUndo) (string, error) {
	last, since := -1, time.Now()
	for {
		var waiting, left int
		searching := false
		err := a.do(ctx, func() error {
			waiting, left = u.Progress(a.desk())
			searching = a.alone && !a.errandDone()
			return nil
		})
		if err != nil {
			return "", err
		}
		if left != last {
			last, since = left, time.Now()
		}
		if waiting == 0 && !searching {
			return "", nil
		}
		problem := a.source.Status().Problem
		if time.Since(since) > u.Patience {
			return problem, nil
		}
		select {
		case <-time.After(undoLook):
		case <-ctx.Done():
			return problem, ctx.Err()
		}
	}
}

// undoAlone begins to take marks back, and runs the account's source until they are.
// That ctx ends it is no error: what is left goes on at the next start.
func (a *account) undoAlone(ctx context.Context, u desk.MarkUndo) (problem string, err error) {
	a.alone = true
	err = a.change(func(d *desk.Desk) error { return a.seek(d, u) })
	if err != nil || len(a.sought) == 0 {
		return "", err
	}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer close(a.gone)
		ended <- a.watch(run)
	}()
	problem, err = a.awaitUndo(ctx, u)
	cancel()
	if watchErr := <-ended; watchErr != nil {
		return problem, watchErr
	}
	<-a.gone
	u.Progress(a.desk())
	if ctx.Err() != nil || !a.unfinished() {
		err = nil
	}
	return problem, err
}

// sighting is a mark that is to be taken back where its message turned up.
type sighting struct {
	entry uint64
	place ingest.Place
}

// takeAlone passes on what is of use while nothing but taking marks back is done;
// of all else, event is nil then, and it will be reported again.
func (a *account) takeAlone(p prepared) prepared {
	switch e := p.event.(type) {
	case ingest.MarkResult:
		if e.Outcome != ingest.MarkConflict {
			delete(a.sighted, sighting{e.ID, e.Place})
		}
		if e.Clear || e.CopyTo != "" {
			return p
		}
	case ingest.Arrival:
		requests := a.filter.Ledger().Undo.Sight(store.MessageKey(p.message.Key), e.Place, e.Flags)
		for _, r := range requests {
			a.sighted[sighting{r.ID, r.Place}] = struct{}{}
		}
		a.source.Mark(requests...)
	}
	return prepared{}
}

// errandDone reports whether all that was to be taken back is, and every mailbox
// was searched for what was not where it was left.
func (a *account) errandDone() bool {
	missing := false
	for _, n := range a.sought {
		e, _ := a.filter.State().Ledger.Get(store.LedgerKey(n))
		missing = missing || e.State == store.MarkConfirmed && e.Undo != 0
	}
	if a.unfinished() || len(a.sighted) > 0 {
		return false
	}
	return !missing || a.source.Status().Connected && a.reported.Load() == a.taken
}

func (a *account) unfinished() bool { return len(a.filter.Ledger().Undo.Requests()) > 0 }
