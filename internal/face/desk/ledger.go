// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/store"
)

// GetLedger shows marks that were set or meant to be set, and refusals.
var GetLedger = offer(Verb[LedgerRequest, Ledger]{
	Name: "ledger",
	API:  &API{Summary: "Marks that were set or intended, and refusals", Reads: true},
	Help: &Help{
		Group: ToSee,
		Use:   "ledger [MESSAGE]",
		Short: "List every mark that was set, and who marked a message",
		Long: `List every mark that hinged set or tried to set, and every mark that you
removed, newest first. A mark is in one of these states:

  intended   decided, but not yet confirmed by the server
  confirmed  seen on the server
  refused    removed by you; hinged never marks this message again
  abandoned  not possible to set, or somebody else had set it first
  undoing    to be taken back, but not yet confirmed by the server
  undone     taken back by hinged because you asked for it
  gone       a copy (mark_copy) that you deleted or moved; hinged makes no other
  sending, sent, unsent
             of a letter of hinged's ([account.digest]): not yet seen on the
             server, there, or given up

With MESSAGE, say who marked that message. MESSAGE is a Message-ID, the key of a
message or its first 8 digits or more, or a file with it ("-" is standard
input).`,
		Example: `  $ hinged ledger --since 7d --state refused
  TIME              STATE    MARK        MAILBOX  UID   SCORE   THRESHOLD  MESSAGE
  2026-03-02 09:14  refused  $Important  INBOX    1204  +1.274  +0.801     0f3b8c1de2a4
  $ hinged ledger 'abc123@example.org'
  hinged did not mark it: ordinary, score -0.212, threshold +0.801.`,
	},
	Text: printLedger,
	do: ofAccount(func(ctx context.Context, a Account, q LedgerRequest) (out Ledger, err error) {
		err = a.Look(ctx, func(d *Desk) error { out, err = d.ledger(q); return err })
		return out, err
	}),
})

// LedgerRequest says which entries of the ledger to show. The zero value means all.
type LedgerRequest struct {
	// Message is a Message-ID, or the hexadecimal key of a message or the beginning
	// of one, at least 8 digits.
	Message string     `json:"message,omitempty" jsonschema:"maxLength=1000" arg:"MESSAGE" file:"key"`
	Since   *time.Time `json:"since,omitempty" flag:"since" usage:"only what happened since a TIME: 7d, 2026-03-01, 2026-03-01T09:00:00Z"` // Since leaves out what was last touched before.
	// State leaves out entries in another state.
	State string `json:"state,omitempty" flag:"state" usage:"only marks in this STATE, one of those above" jsonschema:"enum=intended,enum=confirmed,enum=refused,enum=abandoned,enum=undoing,enum=undone,enum=gone,enum=sending,enum=sent,enum=unsent"`
	Most  int    `json:"most,omitempty" flag:"number,n,20" usage:"how many to show, the newest; 0: all" jsonschema:"minimum=0,maximum=1000000"` // so many, the newest; 0: all
}

// LedgerStates are the states of an entry, in the order in which a mark comes
// through them.
func LedgerStates() []string {
	var out []string
	for s := store.MarkIntended; s <= store.LetterUnsent; s++ {
		out = append(out, s.String())
	}
	return out
}

// Ledger is what `hinged ledger` prints.
type Ledger struct {
	Account string        `json:"account"`           // Account is the account that the ledger belongs to.
	Message string        `json:"message,omitempty"` // Message is the key of the requested message, in hexadecimal.
	Others  []string      `json:"others,omitempty"`  // Others are the keys of other messages that have the requested Message-ID.
	Verdict string        `json:"verdict,omitempty"` // Verdict says in words who marked the requested message.
	Entries []LedgerEntry `json:"entries"`           // Entries are listed newest first.
	Older   int           `json:"older"`             // Older counts entries that match the request and are not shown.
}

// LedgerEntry is one mark that was set or intended, or one refusal. A mark of several flags,
// and the copy that goes with it, are one.
type LedgerEntry struct {
	Ours   bool   `json:"ours"`   // Ours is false for a refusal of a mark that hinged did not set. Such an entry has only a time and a message.
	Number uint64 `json:"number"` // Number is the number of the entry; numbers ascend from 0.
	// State is intended (committed, not yet seen on the server), confirmed, refused (the
	// owner removed the mark), abandoned (the mark could not be set, or somebody else set
	// it first), undoing (to be taken back, not yet seen to be gone), undone (taken back
	// by hinged) or gone (the owner deleted the message, or the copy). If the owner took one
	// flag off, or called the message ordinary, the mark is refused. That of a letter is
	// sending (committed, not yet seen on the server), sent, or unsent.
	State       string     `json:"state"`
	Intended    *time.Time `json:"intended,omitempty"`    // Intended is the time at which hinged decided to set the mark.
	Settled     *time.Time `json:"settled,omitempty"`     // Settled is the time at which the entry reached this state.
	Mailbox     string     `json:"mailbox,omitempty"`     // Mailbox is the mailbox in which the mark was to be set.
	UIDValidity uint32     `json:"uidvalidity,omitempty"` // UIDValidity is the UIDVALIDITY of the mailbox at that time.
	UID         uint32     `json:"uid,omitempty"`         // UID is the UID of the message in that mailbox.
	Keyword     string     `json:"keyword,omitempty"`     // Keyword is the keyword or flag that was set, or several with commas between; "digest mail" or "letter with a question" if hinged put one there.
	Copy        string     `json:"copy,omitempty"`        // Copy is the folder that a copy was put into.
	Tries       int        `json:"tries,omitempty"`       // Tries counts further attempts, made because the message had changed in between.
	Prior       bool       `json:"prior,omitempty"`       // Prior reports whether the keyword was there before. If so, somebody else set it.
	Score       float64    `json:"score"`                 // Score is the score of the decision.
	Threshold   float64    `json:"threshold"`             // Threshold is the threshold of the decision.
	Message     string     `json:"message,omitempty"`     // Message is the key of the message, in hexadecimal; "" if it is not remembered.
}

func (e *LedgerEntry) at() time.Time {
	switch {
	case e.Settled != nil:
		return *e.Settled
	case e.Intended != nil:
		return *e.Intended
	default:
		return time.Time{}
	}
}

func (d *Desk) ledger(q LedgerRequest) (Ledger, error) {
	f := d.Filter
	out := Ledger{Account: d.Account, Entries: []LedgerEntry{}}
	if q.State != "" && !slices.Contains(LedgerStates(), q.State) {
		return out, fmt.Errorf("state %q is not one of %s", q.State, strings.Join(LedgerStates(), ", "))
	}
	wanted := func(e *LedgerEntry) bool {
		return (q.State == "" || e.State == q.State) && (q.Since == nil || !e.at().Before(*q.Since))
	}
	var all []LedgerEntry
	if q.Message == "" {
		all = wholeLedger(f)
	} else {
		k, id, err := ledgerMessage(f, q.Message)
		if err != nil {
			return out, err
		}
		if k != (store.MessageKey{}) {
			out.Message, out.Others = hexKey(k), othersOf(f, q.Message, k)
		}
		for _, n := range f.Ledger().Entries.MarksOf(k, id) {
			all = append(all, entryOf(f, n))
		}
		for _, r := range f.Ledger().RefusedOthers() {
			if r.Message == k && k != (store.MessageKey{}) {
				all = append(all, refusalEntry(r))
			}
		}
		out.Verdict = verdictOf(f, k, about(k, all, out.Others))
	}
	slices.SortStableFunc(all, func(a, b LedgerEntry) int {
		return cmp.Or(b.at().Compare(a.at()), cmp.Compare(b.Number, a.Number))
	})
	for i := range all {
		switch {
		case !wanted(&all[i]):
		case q.Most > 0 && len(out.Entries) == q.Most:
			out.Older++
		default:
			out.Entries = append(out.Entries, all[i])
		}
	}
	return out, nil
}

// about returns the entries about a message. Where others have its Message-ID, theirs are
// left out.
func about(k store.MessageKey, entries []LedgerEntry, others []string) []LedgerEntry {
	return slices.DeleteFunc(slices.Clone(entries), func(e LedgerEntry) bool {
		return e.Message != hexKey(k) && slices.Contains(others, e.Message)
	})
}

func wholeLedger(f *filter.Filter) []LedgerEntry {
	var all []LedgerEntry
	for _, n := range f.Ledger().Entries.Marks(func(store.LedgerEntry) bool { return true }) {
		all = append(all, entryOf(f, n))
	}
	for _, r := range f.Ledger().RefusedOthers() {
		all = append(all, refusalEntry(r))
	}
	return all
}

// entryOf is the mark whose first entry has a number, with what the others say.
func entryOf(f *filter.Filter, n uint64) LedgerEntry {
	e, _ := f.State().Ledger.Get(store.LedgerKey(n))
	if e.Letter != "" {
		return LedgerEntry{
			Ours: true, Number: n, State: e.State.String(), Intended: TimeOf(e.Intended), Settled: TimeOf(e.Settled),
			Mailbox: e.Mailbox, Keyword: letterWord(e.Letter),
		}
	}
	out := LedgerEntry{
		Ours: true, Number: n, State: f.Ledger().MarkState(n).String(), Intended: TimeOf(e.Intended),
		Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UID: e.UID,
		Score: e.Score, Threshold: e.Threshold, Message: hexKey(e.Message),
	}
	var flags []string
	settled := store.Moment(0)
	for _, n := range f.Ledger().Entries.Mark(n) {
		one, _ := f.State().Ledger.Get(store.LedgerKey(n))
		if one.CopyTo == "" {
			flags = append(flags, one.Keyword)
		}
		settled, out.Tries = max(settled, one.Settled), max(out.Tries, int(one.Tries))
		out.Prior, out.Copy = out.Prior || one.Prior, cmp.Or(out.Copy, one.Copied.Mailbox, one.CopyTo)
	}
	out.Settled, out.Keyword = TimeOf(settled), strings.Join(flags, ", ")
	return out
}

// QuestionLetters begin the Message-IDs of letters that ask about a message.
const QuestionLetters = "question."

// letterWord stands where an entry is about a letter of hinged's, and not about a mark.
func letterWord(messageID string) string {
	if strings.HasPrefix(messageID, QuestionLetters) {
		return "letter with a question"
	}
	return "digest mail"
}

func refusalEntry(r ledger.Refused) LedgerEntry {
	e := LedgerEntry{State: store.MarkRefused.String(), Settled: TimeOf(r.At)}
	if r.Message != (store.MessageKey{}) {
		e.Message = hexKey(r.Message)
	}
	return e
}

// ledgerMessage finds what the ledger may know a message by. A Message-ID means all
// messages that have it, a key that one alone. A Message-ID that was never seen gives no
// key: the answer is that nothing marked it here.
func ledgerMessage(f *filter.Filter, message string) (store.MessageKey, store.ID, error) {
	if k, ok := withID(f, message); ok {
		return k, filter.IDOf(message), nil
	}
	k, err := findMessage(f, message)
	switch {
	case err == nil:
		return k, 0, nil
	case errors.Is(err, ErrNoMessage) && strings.Contains(message, "@"):
		return store.MessageKey{}, filter.IDOf(message), nil
	case errors.Is(err, ErrNoMessage):
		if whole, derr := hex.DecodeString(message); derr == nil && len(whole) == len(k) {
			return store.MessageKey(whole), 0, nil
		}
	}
	return k, 0, err
}

// verdictOf says in words who marked a message, from its entries.
func verdictOf(f *filter.Filter, k store.MessageKey, entries []LedgerEntry) string {
	marked, _ := f.Ledger().MarkedNow(k)
	m, known := f.State().Messages.Get(string(k[:]))
	for _, state := range []store.LedgerState{store.MarkRefused, store.MarkConfirmed, store.MarkUndoing, store.MarkUndone, store.CopyGone, store.MarkIntended, store.MarkAbandoned} {
		for _, e := range entries {
			if e.State != state.String() || !e.Ours {
				continue
			}
			return ledgerWords(state, &e, len(marked) > 0) + others(state, marked)
		}
	}
	s := "hinged did not mark it: "
	switch {
	case !known:
		s += "hinged doesn't know this message"
	case m.Own:
		s += "it is your own mail"
	case m.Outcome == store.Undecided:
		s += "it is in a folder whose mail is not decided"
	case m.Outcome == store.DecidedImportant && m.Reason != store.ReasonThreshold && m.Reason != store.ReasonRule:
		s += fmt.Sprintf("decided important, and left unmarked: %s", m.Reason)
	default:
		s += Verdict(m.Outcome.String(), m.Reason.String(), m.Score, m.Threshold)
	}
	s += "."
	if len(entries) > 0 {
		s += " You removed a mark that hinged had not set, so hinged will never mark this message."
	}
	return s + others(store.MarkAbandoned, marked)
}

// others says whose a mark is that is there though hinged does not have it there.
func others(state store.LedgerState, marked []string) string {
	if len(marked) == 0 || state == store.MarkConfirmed || state == store.MarkIntended || state == store.MarkUndoing {
		return ""
	}
	return " The mark that is on it in " + strings.Join(marked, ", ") + " was set by you or by another program."
}

// ledgerWords says in words what became of a mark or a copy. there: a mark is on the message.
func ledgerWords(state store.LedgerState, e *LedgerEntry, there bool) string {
	copied, settled := e.Keyword == "", ledgerTime(e.Settled)
	either := func(mark, second string) string {
		if copied {
			return second
		}
		return mark
	}
	what := either(e.Keyword+" in "+e.Mailbox, "a copy in "+e.Copy) + fmt.Sprintf(" on %s (score %+.3f, threshold %+.3f)", ledgerTime(e.Intended), e.Score, e.Threshold)
	did := "hinged " + either("marked it: ", "put ") + what
	const unconfirmed = "; the server has not confirmed that yet."
	switch state {
	case store.MarkConfirmed:
		if !there && !copied {
			did += "; the mark is no longer on it"
		}
		return did + "."
	case store.CopyGone:
		return did + either("; the message was deleted since.", "; you had deleted or moved it by "+settled+", and hinged makes no other.")
	case store.MarkRefused:
		return did + "; you removed the mark on " + settled + ", so hinged will never mark it again."
	case store.MarkUndoing:
		return did + ", and has been " + either("taking the mark back", "deleting it") + " since " + settled + unconfirmed
	case store.MarkUndone:
		return did + ", and " + either("took the mark back", "deleted it") + " on " + settled + "."
	case store.MarkIntended:
		return "hinged is about to " + either("mark it: ", "put ") + what + unconfirmed
	}
	tried := "hinged did not mark it. It tried to " + either("set ", "put ") + what
	switch {
	case e.Prior:
		return tried + ", but somebody else had " + either("set it first.", "put one there, or marked it, first.")
	case e.Tries > 0 && !copied:
		return fmt.Sprintf("%s, and gave up after %d attempts: the message changed each time.", tried, e.Tries)
	}
	return tried + ", but could not: the message was gone" + either("", " or kept changing") + ", the mailbox had been renumbered, or the server refused."
}

func ledgerTime(t *time.Time) string {
	if t == nil {
		return "an unknown day"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

func markName(e LedgerEntry) string {
	if e.Copy != "" {
		return "copy in " + e.Copy
	}
	return e.Keyword
}

func printLedger(w io.Writer, l Ledger) error {
	if others := OthersWords(l.Message, l.Others); others != "" {
		fmt.Fprintln(w, others)
	}
	if l.Verdict != "" {
		fmt.Fprintln(w, l.Verdict)
		if len(l.Entries) > 0 {
			fmt.Fprintln(w)
		}
	} else if len(l.Entries) == 0 {
		fmt.Fprintln(w, "No matching marks.")
	}
	if len(l.Entries) > 0 {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "TIME\tSTATE\tMARK\tMAILBOX\tUID\tSCORE\tTHRESHOLD\tMESSAGE")
		for _, e := range l.Entries {
			at, key := "-", "-"
			if e.Settled != nil {
				at = e.Settled.UTC().Format("2006-01-02 15:04")
			} else if e.Intended != nil {
				at = e.Intended.UTC().Format("2006-01-02 15:04")
			}
			if e.Message != "" {
				key = e.Message[:12]
			}
			if !e.Ours {
				fmt.Fprintf(t, "%s\t%s\tnot ours\t-\t-\t-\t-\t%s\n", at, e.State, key)
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%+.3f\t%+.3f\t%s\n", at, e.State, markName(e), e.Mailbox, e.UID, e.Score, e.Threshold, key)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if l.Older > 0 {
		fmt.Fprintf(w, "and %d older; -n 0 shows all\n", l.Older)
	}
	return nil
}
