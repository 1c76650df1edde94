// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/store"
)

// UndoMarks takes marks back that hinged set and that still stand, and waits until
// the server has confirmed that, or for a while.
var UndoMarks = offer(Verb[UndoMarksRequest, UndoneMarks]{
	Name: "undo", Text: printUndone, do: ofAccount(undoMarks),
	API: &API{Summary: "Take back marks that hinged has set"},
})

// undoPatience is for how long nothing may come of it.
const undoPatience = time.Minute

// UndoMarksRequest says which marks are to be taken back.
type UndoMarksRequest struct {
	Since *time.Time `json:"since,omitempty"` // Since leaves those alone that were set earlier.
	// Message leaves alone all marks but those of one message: a Message-ID, or the
	// hexadecimal key of a message or the beginning of one, at least 8 digits.
	Message string `json:"message,omitempty"`
	// Numbers leave alone all marks but those of these entries of the ledger; none: no
	// mark is left alone for that. ErrNoEntry: there is no such entry.
	Numbers  []uint64      `json:"numbers,omitempty"`
	DryRun   bool          `json:"dry_run,omitempty"`                 // DryRun: only say what would be done.
	Patience time.Duration `json:"patience,omitempty" jsonschema:"-"` // Patience is how long to wait while the server confirms nothing more; 0: a minute.
}

// ErrNoEntry is wrapped when an entry of the ledger is named that it doesn't have.
var ErrNoEntry = errors.New("no such entry in the ledger")

// What became of a mark that was to be taken back.
const (
	UndoneDone    = "undone"
	UndoneWaiting = "waiting"
	UndoneUnseen  = "unseen"
	UndonePassed  = "passed"
	UndoneOwn     = "own"
	UndoneBare    = "companion"
	UndoneFailed  = "failed"
)

// UndoneMarks is what `hinged undo --marks` did or, with --dry-run, would do.
type UndoneMarks struct {
	Account    string     `json:"account"`         // Account is the account whose marks were taken back.
	DryRun     bool       `json:"dry_run"`         // DryRun reports whether this was a dry run. If so, nothing was changed, and the figures say what would be taken back.
	Since      *time.Time `json:"since,omitempty"` // Since is the time before which marks were left alone.
	Undone     int        `json:"undone"`          // Undone counts marks that were taken back; the server has confirmed it.
	Waiting    int        `json:"waiting"`         // Waiting counts marks that are to be taken back and whose removal the server has not confirmed yet.
	Unseen     int        `json:"unseen"`          // Unseen counts marks on messages found in no watched mailbox. They are taken back if the messages reappear within a day.
	Passed     int        `json:"passed"`          // Passed counts marks that were no longer on their messages.
	Own        int        `json:"own"`             // Own counts marks left alone because the owner or another program set them.
	Companions int        `json:"companions"`      // Companions counts companion keywords that were removed although the mark was no longer on the message or was not hinged's.
	Failed     int        `json:"failed"`          // Failed counts marks that the server refused to remove.
	Forgotten  uint64     `json:"forgotten"`       // Forgotten counts marks that are too old to be in the ledger.
	// Restored reports whether the account came from a backup or an export. Marks set
	// after that copy was made may be missing from the ledger.
	Restored bool         `json:"restored"`
	Problem  string       `json:"problem,omitempty"` // Problem says in words what is wrong with the connection; "" if nothing is.
	Paused   bool         `json:"paused"`            // Paused reports whether the account is paused. It stays paused.
	Shadow   bool         `json:"shadow"`            // Shadow reports whether the account is in shadow, so that it sets no marks. It stays so.
	Marks    []UndoneMark `json:"marks"`             // Marks are listed in the order in which they were set.
}

// UndoneMark is what happened to one mark of the ledger.
type UndoneMark struct {
	Number uint64 `json:"number"` // Number is the number of the ledger entry.
	// Result is undone, waiting, unseen (the message is in no watched mailbox), passed
	// (the mark was no longer on the message), own (somebody else set the mark that is on
	// it), companion (as for passed or own, and the companion keyword was removed) or
	// failed.
	Result    string     `json:"result"`
	Why       string     `json:"why,omitempty"`      // Why says, in the server's words, why it failed.
	Keyword   string     `json:"keyword"`            // Keyword is the keyword or flag of the mark; "" for a copy.
	Copy      string     `json:"copy,omitempty"`     // Copy is the folder with the copy that is to be deleted.
	Mailboxes []string   `json:"mailboxes"`          // Mailboxes are those in which the message had the mark.
	Message   string     `json:"message"`            // Message is the key of the message, in hexadecimal.
	Intended  *time.Time `json:"intended,omitempty"` // Intended is the time at which hinged decided to set the mark.

	intendedIn string // the mailbox in which it was to be set
	bare       bool   // the companion alone is to be taken back
}

func undoMarks(ctx context.Context, a Account, q UndoMarksRequest) (out UndoneMarks, err error) {
	begin := func(d *Desk) ([]uint64, error) { return out.begin(d, q) }
	if q.DryRun {
		err = a.Look(ctx, func(d *Desk) error { _, err := begin(d); return err })
	} else {
		out.Problem, err = a.Undo(ctx, MarkUndo{begin, out.look, cmp.Or(q.Patience, undoPatience)})
	}
	out.count()
	out.Marks = append([]UndoneMark{}, out.whole()...)
	return out, err
}

// begin says what is to be done and, unless that is all, begins with it. It returns
// the ledger entries that are asked back.
func (u *UndoneMarks) begin(d *Desk, q UndoMarksRequest) (sought []uint64, err error) {
	st := d.Filter.State()
	*u = UndoneMarks{
		Account: d.Account, DryRun: q.DryRun, Since: q.Since, Paused: st.Account.Paused, Shadow: d.Filter.Line().InShadow(),
		Restored: st.Account.Restored, Marks: []UndoneMark{},
	}
	var since store.Moment
	if q.Since != nil {
		since = store.MomentOf(*q.Since)
	}
	only, all, err := d.undoOnly(q)
	if err != nil || len(only) == 0 && !all {
		return nil, err
	}
	if keys := st.Ledger.Keys(); q.Since == nil && all && len(keys) > 0 {
		u.Forgotten = store.LedgerNumber(keys[0])
	}
	mark := func(n uint64, places []string) *UndoneMark {
		e, _ := st.Ledger.Get(store.LedgerKey(n))
		m := UndoneMark{
			Number: n, Keyword: e.Keyword, Message: hexKey(e.Message), Intended: TimeOf(e.Intended),
			Result: UndoneDone, Mailboxes: []string{}, intendedIn: e.Mailbox, Copy: cmp.Or(e.Copied.Mailbox, e.CopyTo),
		}
		for _, p := range places {
			mailbox, _ := store.SplitPlaceKey(p)
			m.Mailboxes = append(m.Mailboxes, mailbox)
		}
		u.Marks = append(u.Marks, m)
		return &u.Marks[len(u.Marks)-1]
	}
	// Those of an earlier request that are still under way are told of, too.
	under := map[uint64][]string{}
	for _, r := range d.Filter.Ledger().Undo.Requests() {
		under[r.ID] = append(under[r.ID], r.Place.Mailbox)
	}
	for _, key := range st.Ledger.Keys() {
		n := store.LedgerNumber(key)
		if e, _ := st.Ledger.Get(key); (e.State == store.MarkUndoing || e.Bare) && e.Intended >= since && (all || slices.Contains(only, n)) {
			m := mark(n, nil)
			m.bare = e.Bare
			m.Result, m.Mailboxes = UndoneWaiting, append(m.Mailboxes, under[n]...)
		}
	}
	for _, m := range u.Marks {
		sought = append(sought, m.Number)
	}
	for _, c := range d.Filter.Ledger().Undo.Choices(since, only) {
		m := mark(c.Number, c.Places)
		switch c.Choice {
		case ledger.UndoPassed:
			m.Result = UndonePassed
		case ledger.UndoOwn:
			m.Result = UndoneOwn
		default:
			switch c.Choice {
			case ledger.UndoBares:
				m.Result, m.bare = UndoneBare, true
			case ledger.UndoFollows:
				m.Result = UndoneUnseen
			case ledger.UndoAwaits:
				m.Mailboxes = append(m.Mailboxes, m.intendedIn)
			}
			sought = append(sought, c.Number)
		}
	}
	slices.SortFunc(u.Marks, func(x, y UndoneMark) int { return int(int64(x.Number - y.Number)) })
	if !q.DryRun {
		_, err = d.Apply(&filter.UndoRequested{At: d.Now(), Since: since, Alone: d.Alone, Only: only})
	}
	return sought, err
}

// undoOnly returns the entries that a request is about; all: it is about every one.
func (d *Desk) undoOnly(q UndoMarksRequest) (only []uint64, all bool, err error) {
	if q.Message == "" && len(q.Numbers) == 0 {
		return nil, true, nil
	}
	f := d.Filter
	for _, n := range q.Numbers {
		if _, ok := f.State().Ledger.Get(store.LedgerKey(n)); !ok {
			return nil, false, fmt.Errorf("%w: %d", ErrNoEntry, n)
		}
	}
	if q.Message == "" {
		for _, n := range q.Numbers {
			only = append(only, f.Ledger().Entries.Mark(n)...)
		}
		return only, false, nil
	}
	k, id, err := ledgerMessage(f, q.Message)
	if err != nil {
		return nil, false, err
	}
	for _, n := range f.Ledger().Entries.MarksOf(k, id) {
		if len(q.Numbers) == 0 || slices.Contains(q.Numbers, n) {
			only = append(only, f.Ledger().Entries.Mark(n)...)
		}
	}
	return only, false, nil
}

// look brings what is said of the marks up to date, and counts them.
func (u *UndoneMarks) look(d *Desk) (waiting, left int) {
	for i := range u.Marks {
		m := &u.Marks[i]
		if m.Result == UndonePassed || m.Result == UndoneOwn {
			continue
		}
		e, _ := d.Filter.State().Ledger.Get(store.LedgerKey(m.Number))
		m.Why = ""
		switch {
		case m.bare && e.Bare:
			m.Result = UndoneWaiting
		case m.bare && e.Undo != 0:
			m.Result = UndoneBare
		case m.bare:
			m.Result, m.Why = UndoneFailed, d.Unwilling[m.Number]
		case e.State == store.MarkUndone:
			m.Result = UndoneDone
		case e.State == store.MarkUndoing, e.State == store.MarkIntended:
			m.Result = UndoneWaiting
		case e.State == store.MarkConfirmed && e.Undo != 0:
			m.Result = UndoneUnseen
		case e.State == store.MarkConfirmed:
			m.Result, m.Why = UndoneFailed, d.Unwilling[m.Number]
		default: // refused, or a copy that is gone: the owner was quicker; abandoned: it was never set
			m.Result = UndonePassed
		}
	}
	u.count()
	return u.Waiting, u.Waiting + u.Unseen
}

// resultRank is how much the result of one flag says of the whole mark.
var resultRank = map[string]int{
	UndonePassed: 1, UndoneOwn: 2, UndoneBare: 3, UndoneUnseen: 4, UndoneDone: 5, UndoneWaiting: 6, UndoneFailed: 7,
}

// whole returns the marks: a mark of several flags, and the copy that goes with it, are one.
func (u *UndoneMarks) whole() []UndoneMark {
	type mark struct {
		message  string
		intended time.Time
	}
	at := map[mark]int{}
	var out []UndoneMark
	for _, m := range u.Marks {
		of := mark{message: m.Message}
		if m.Intended != nil {
			of.intended = *m.Intended
		}
		i, there := at[of]
		if !there {
			at[of] = len(out)
			out = append(out, m)
			continue
		}
		one := &out[i]
		if m.Keyword != "" {
			one.Keyword = strings.TrimPrefix(one.Keyword+", "+m.Keyword, ", ")
		}
		one.Copy, one.Why = cmp.Or(one.Copy, m.Copy), cmp.Or(one.Why, m.Why)
		one.Mailboxes = slices.Concat(one.Mailboxes, m.Mailboxes)
		slices.Sort(one.Mailboxes)
		one.Mailboxes = slices.Compact(one.Mailboxes)
		if resultRank[m.Result] > resultRank[one.Result] {
			one.Result = m.Result
		}
	}
	return out
}

func (u *UndoneMarks) count() {
	of := map[string]*int{
		UndoneDone: &u.Undone, UndoneWaiting: &u.Waiting, UndoneUnseen: &u.Unseen,
		UndonePassed: &u.Passed, UndoneOwn: &u.Own, UndoneFailed: &u.Failed, UndoneBare: &u.Companions,
	}
	for _, n := range of {
		*n = 0
	}
	for _, m := range u.whole() {
		*of[m.Result]++
	}
}

func where(u UndoneMarks, result string) string {
	in := map[string]int{}
	for _, m := range u.Marks {
		if m.Result == result {
			for _, box := range m.Mailboxes {
				in[box]++
			}
		}
	}
	var out []string
	for _, box := range slices.Sorted(maps.Keys(in)) {
		out = append(out, fmt.Sprintf("%s %d", box, in[box]))
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

func reasons(u UndoneMarks) string {
	var out []string
	for _, m := range u.Marks {
		if m.Why != "" && !slices.Contains(out, m.Why) {
			out = append(out, m.Why)
		}
	}
	return cmp.Or(strings.Join(out, "; "), "it gave no reason")
}

// Words say what became of the marks: first of those that were taken back, then of each
// other kind that there is.
func (u UndoneMarks) Words() (out []string) {
	say := func(n int, format string, a ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, a...))
		}
	}
	verb := "taken back"
	if u.DryRun {
		verb = "would be taken back"
	}
	say(1, "%s %s%s", Count(u.Undone, "mark"), verb, where(u, UndoneDone))
	say(u.Waiting, "%d not confirmed by the server yet%s; hinged continues with %s when it runs%s",
		u.Waiting, where(u, UndoneWaiting), plural(u.Waiting, "it", "them"), because(u.Problem))
	say(u.Failed, "%d not taken back%s; the server said: %s", u.Failed, where(u, UndoneFailed), reasons(u))
	say(u.Companions, "%s without its mark %s%s", Count(u.Companions, "companion keyword"), verb, where(u, UndoneBare))
	say(u.Own, "%d left alone: you or another program set %s", u.Own, plural(u.Own, "it", "them"))
	say(u.Unseen, "%d on %s in no watched mailbox; taken back if %s up within a day",
		u.Unseen, plural(u.Unseen, "a message that is", "messages that are"), plural(u.Unseen, "it turns", "they turn"))
	say(u.Passed, "%d not on %s any more", u.Passed, plural(u.Passed, "its message", "their messages"))
	say(int(u.Forgotten), "the ledger no longer has the first %s, so undo can't remove them", Count(int(u.Forgotten), "mark"))
	return out
}

func printUndone(w io.Writer, u UndoneMarks) (err error) {
	say := lines(w, &err)
	say("%s: %s", u.Account, strings.Join(u.Words(), "\n  "))
	if u.Restored {
		say("  the account comes from a backup or an export; the ledger lacks the marks that were set later")
	}
	switch {
	case u.DryRun:
	case u.Paused:
		say("%s is still paused and marks nothing", u.Account)
	case u.Shadow:
		say("%s is in shadow and marks nothing now; `hinged status` says what would end that", u.Account)
	default:
		say("%s marks new mail as before; `hinged pause` stops that, and shadow = \"on\" in the configuration lets it decide without marking", u.Account)
	}
	return err
}

func because(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}
