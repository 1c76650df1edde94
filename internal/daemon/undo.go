package daemon

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
)

// While marks are taken back it is looked after how far that has come this often,
// and given up waiting when nothing has come of it for so long.
const (
	undoLook     = 25 * time.Millisecond
	undoPatience = time.Minute
)

// Undo says which marks are to be taken back.
type Undo struct {
	// Since leaves those alone that were set earlier.
	Since *time.Time `json:"since,omitempty"`
	// DryRun: only say what would be done.
	DryRun bool `json:"dry_run,omitempty"`
	// Patience is how long to wait while the server confirms nothing more; 0: a
	// minute.
	Patience time.Duration `json:"patience,omitempty"`
}

// What became of a mark that was to be taken back.
const (
	UndoneDone    = "undone"
	UndoneWaiting = "waiting"
	UndoneUnseen  = "unseen"
	UndonePassed  = "passed"
	UndoneOwn     = "own"
	UndoneFailed  = "failed"
)

// Undone is what `hinged undo --marks` did, or with --dry-run would do.
type Undone struct {
	// Account whose marks they are.
	Account string `json:"account"`
	// DryRun: nothing was changed, and what is said to be undone would be.
	DryRun bool `json:"dry_run"`
	// Since: marks set earlier were left alone.
	Since *time.Time `json:"since,omitempty"`
	// Undone counts marks that were taken back, as seen on the server.
	Undone int `json:"undone"`
	// Waiting counts marks that are to be taken back and that the server has not
	// confirmed yet.
	Waiting int `json:"waiting"`
	// Unseen counts marks on messages that are in no watched mailbox; they are taken
	// back if those turn up within a day.
	Unseen int `json:"unseen"`
	// Passed counts marks that were not on their messages any more.
	Passed int `json:"passed"`
	// Own counts marks left alone because the owner or another program set them.
	Own int `json:"own"`
	// Failed counts marks that the server would not take back.
	Failed int `json:"failed"`
	// Forgotten counts marks so old that the ledger has them no more.
	Forgotten uint64 `json:"forgotten"`
	// Restored: the account came out of a backup or an export, so that marks set
	// after that was made may not be in the ledger.
	Restored bool `json:"restored"`
	// Problem says in words what is wrong with the connection; "" when all is well.
	Problem string `json:"problem,omitempty"`
	// Paused: the account is switched off, and stays so.
	Paused bool `json:"paused"`
	// Shadow: the account marks nothing now, and stays so.
	Shadow bool `json:"shadow"`
	// Marks are those that stood, in the order in which they were set.
	Marks []UndoneMark `json:"marks"`
}

// UndoneMark is one mark of the ledger.
type UndoneMark struct {
	// Number of its ledger entry.
	Number uint64 `json:"number"`
	// Result is undone, waiting, unseen (its message is in no watched mailbox),
	// passed (it was not on the message any more), own (somebody else set what is on
	// it) or failed.
	Result string `json:"result"`
	// Why it failed, in the server's words.
	Why string `json:"why,omitempty"`
	// Keyword or flag of the mark.
	Keyword string `json:"keyword"`
	// Mailboxes in which it stood.
	Mailboxes []string `json:"mailboxes"`
	// Message is its key, in hexadecimal.
	Message string `json:"message"`
	// Intended is when it was decided on.
	Intended *time.Time `json:"intended,omitempty"`

	intendedIn string // the mailbox in which it was to be set
}

// beginUndo says what is to be done and, unless that is all, begins with it. It
// runs in the writer goroutine, or where there is none.
func (a *account) beginUndo(u Undo, alone bool) (Undone, error) {
	st := a.filter.State()
	out := Undone{
		Account: a.opts.Name, DryRun: u.DryRun, Since: u.Since, Paused: st.Account.Paused, Shadow: a.filter.InShadow(),
		Restored: st.Account.Restored, Marks: []UndoneMark{},
	}
	var since store.Moment
	if u.Since != nil {
		since = store.MomentOf(*u.Since)
	}
	if keys := st.Ledger.Keys(); u.Since == nil && len(keys) > 0 {
		out.Forgotten = store.LedgerNumber(keys[0])
	}
	mark := func(n uint64, places []string) *UndoneMark {
		e, _ := st.Ledger.Get(store.LedgerKey(n))
		m := UndoneMark{
			Number: n, Keyword: e.Keyword, Message: hex.EncodeToString(e.Message[:]), Intended: timeOf(e.Intended),
			Result: UndoneDone, Mailboxes: []string{}, intendedIn: e.Mailbox,
		}
		for _, p := range places {
			mailbox, _ := store.SplitPlaceKey(p)
			m.Mailboxes = append(m.Mailboxes, mailbox)
		}
		out.Marks = append(out.Marks, m)
		return &out.Marks[len(out.Marks)-1]
	}
	// Those of an earlier request that are still under way are told of, too.
	under := map[uint64][]string{}
	for _, r := range a.filter.Undoing() {
		under[r.ID] = append(under[r.ID], r.Place.Mailbox)
	}
	for _, key := range st.Ledger.Keys() {
		n := store.LedgerNumber(key)
		if e, _ := st.Ledger.Get(key); e.State == store.MarkUndoing && e.Intended >= since {
			m := mark(n, nil)
			m.Result, m.Mailboxes = UndoneWaiting, append(m.Mailboxes, under[n]...)
		}
	}
	a.sought = nil
	for _, m := range out.Marks {
		a.sought = append(a.sought, m.Number)
	}
	for _, c := range a.filter.Undoable(since) {
		m := mark(c.Number, c.Places)
		switch c.Choice {
		case filter.UndoPassed:
			m.Result = UndonePassed
		case filter.UndoOwn:
			m.Result = UndoneOwn
		default:
			switch c.Choice {
			case filter.UndoFollows:
				m.Result = UndoneUnseen
			case filter.UndoAwaits:
				m.Mailboxes = append(m.Mailboxes, m.intendedIn)
			}
			a.sought = append(a.sought, c.Number)
		}
	}
	slices.SortFunc(out.Marks, func(x, y UndoneMark) int { return int(int64(x.Number - y.Number)) })
	if u.DryRun {
		return out, nil
	}
	clear(a.unwilling)
	clear(a.sighted)
	if err := a.change(&filter.Undone{At: a.clock.now(), Since: since, Alone: alone}); err != nil {
		return out, err
	}
	if a.stop == nil {
		a.marks = nil // the source that is to come is asked when it runs
	}
	return out, a.commit()
}

// look brings what is said of the marks up to date. It runs in the writer
// goroutine, or where there is none.
func (a *account) look(out *Undone) {
	for i := range out.Marks {
		m := &out.Marks[i]
		if m.Result == UndonePassed || m.Result == UndoneOwn {
			continue
		}
		e, _ := a.filter.State().Ledger.Get(store.LedgerKey(m.Number))
		m.Why = ""
		switch {
		case e.State == store.MarkUndone:
			m.Result = UndoneDone
		case e.State == store.MarkUndoing, e.State == store.MarkIntended:
			m.Result = UndoneWaiting
		case e.State == store.MarkConfirmed && e.Undo != 0:
			m.Result = UndoneUnseen
		case e.State == store.MarkConfirmed:
			m.Result, m.Why = UndoneFailed, a.unwilling[m.Number]
		default: // refused: the owner was quicker; abandoned: it was never set
			m.Result = UndonePassed
		}
	}
}

// count adds the results up.
func (u *Undone) count() {
	u.Undone, u.Waiting, u.Unseen, u.Passed, u.Own, u.Failed = 0, 0, 0, 0, 0, 0
	for _, m := range u.Marks {
		switch m.Result {
		case UndoneDone:
			u.Undone++
		case UndoneWaiting:
			u.Waiting++
		case UndoneUnseen:
			u.Unseen++
		case UndonePassed:
			u.Passed++
		case UndoneOwn:
			u.Own++
		default:
			u.Failed++
		}
	}
}

// awaitUndo waits until no mark waits any more, nothing has come of it for a
// while, or ctx is done.
func (a *account) awaitUndo(ctx context.Context, out *Undone, patience time.Duration) error {
	if patience == 0 {
		patience = undoPatience
	}
	last, since := -1, time.Now()
	for {
		searching := false
		err := a.do(ctx, func() error {
			a.look(out)
			searching = a.alone && !a.errandDone()
			return nil
		})
		if err != nil {
			return err
		}
		out.count()
		out.Problem = a.source.Status().Problem
		if left := out.Waiting + out.Unseen; left != last {
			last, since = left, time.Now()
		}
		if out.Waiting == 0 && !searching {
			out.Problem = ""
			return nil
		}
		if time.Since(since) > patience {
			return nil
		}
		select {
		case <-time.After(undoLook):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
		if e.Clear {
			return p
		}
	case ingest.Arrival:
		requests := a.filter.Sight(store.MessageKey(p.message.Key), filter.PlaceOf(e.Place), e.Flags)
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

// Undo implements Backend.
func (d *Daemon) Undo(ctx context.Context, name string, u Undo) (out Undone, err error) {
	a, err := d.account(name)
	if err != nil {
		return out, err
	}
	err = a.do(ctx, func() error {
		out, err = a.beginUndo(u, a.filter.State().Account.Paused)
		return err
	})
	if err == nil && !u.DryRun {
		err = a.awaitUndo(ctx, &out, u.Patience)
	}
	out.count()
	return out, err
}

// Undo implements Backend.
func (c *Client) Undo(ctx context.Context, name string, u Undo) (Undone, error) {
	return post[Undone](ctx, c, "/v1/undo", name, u)
}

// Undo implements Backend. It connects to the account's server by itself, for as
// long as it takes, and does nothing else there.
func (o *Offline) Undo(ctx context.Context, name string, u Undo) (out Undone, err error) {
	name, f, err := o.named(name)
	if err != nil {
		return out, err
	}
	if u.DryRun {
		a := &account{opts: AccountOptions{Name: name}, filter: f}
		out, err = a.beginUndo(u, true)
		out.count()
		return out, err
	}
	newSource, err := o.sourceOf(name)
	if err != nil {
		return out, err
	}
	err = o.writeWith(name, newSource, func(a *account) error {
		a.alone = true
		out, err = a.beginUndo(u, true)
		if err == nil && len(a.sought) > 0 {
			err = a.undoAlone(ctx, &out, u.Patience)
		}
		out.count()
		return err
	})
	return out, err
}

// undoAlone runs the account's source until the marks are taken back. That ctx
// ends it is no error: what is left goes on at the next start.
func (a *account) undoAlone(ctx context.Context, out *Undone, patience time.Duration) error {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer close(a.gone)
		ended <- a.watch(run)
	}()
	err := a.awaitUndo(ctx, out, patience)
	cancel()
	if watchErr := <-ended; watchErr != nil {
		return watchErr
	}
	<-a.gone
	a.look(out)
	if ctx.Err() != nil || !a.unfinished() {
		return nil
	}
	return err
}

// unfinished reports whether marks are still to be taken back.
func (a *account) unfinished() bool { return len(a.filter.Undoing()) > 0 }

// sourceOf returns how to reach the mail of an account.
func (o *Offline) sourceOf(name string) (func([]ingest.Known) (ingest.Source, error), error) {
	if o.Accounts == nil {
		return noSource, nil
	}
	all, err := o.Accounts()
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.Name == name {
			return a.NewSource, nil
		}
	}
	return nil, fmt.Errorf("%w: the configuration has none of the name %s, and so does not say where its mail is", ErrNoAccount, name)
}
