// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// What the owner takes back was never said: a star that they take off, a message that they move
// back out of Junk, a mark of their own that goes. Within the settle window the label is
// withdrawn. Later its lesson is taken back, as if it had never been learnt:
//
//	unsay ─▶ Pending.Back ─▶ settled: TakenBack ─▶ whoever owns the store: Rewrite(TakeBackRequested)
//
// To take a mark of ours off is no such thing but a correction. To put it back takes that back.

// unsay takes back what this said of m, whose key is k. It reports whether it had been said,
// and what the owner has said besides. The caller puts m.
func (f *Voice) unsay(k store.MessageKey, m *store.Message, what said, gone ...string) (besides said, was bool) {
	switch {
	case what.label == 0:
		return said{}, false
	case withdraw(m, what):
		if !f.ground(k, m, gone) {
			return said{}, true
		}
		return f.besides(k, m, gone), true
	case m.Label != what.label || m.Source != what.source && m.Source != store.SourceFound:
		return said{}, false
	case m.Pending.Label == 0:
		f.back(k, m)
	}
	return said{}, true
}

// ground reports whether what was learnt of m still stands, now that the label goes that waited to
// be learnt in its place: it may have been taken back meanwhile.
func (f *Voice) ground(k store.MessageKey, m *store.Message, gone []string) bool {
	stands := m.Label == 0 || f.Holds(k, m, gone)
	if !stands {
		f.back(k, m)
	}
	return stands
}

// back has the label of m taken back, if that stands for the settle window.
func (f *Voice) back(k store.MessageKey, m *store.Message) {
	m.Pending = store.Pending{Label: m.Label, Source: m.Source, Since: f.st.Account.Clock, Single: true, Back: true}
	f.Waits.settling.push(k, m)
}

// besides returns the strongest thing that the owner has said of m and did not take back, these
// flags apart.
func (f *Voice) besides(k store.MessageKey, m *store.Message, gone []string) (best said) {
	var flags []string
	if !m.Foreign {
		flags = ingest.WithoutFlags(m.Heard, gone)
	}
	if f.answeredByMail(k, m) {
		flags = append(flags, `\answered`)
	}
	for _, flag := range flags {
		what := meaning(flag, nil)
		if f.ledger.IsMark(flag) {
			if f.ledger.Entries.Entered(k) {
				continue // it is ours, also where a star is the mark
			}
			what = said{label: model.Important, source: store.SourceMark}
		}
		if what.source.Outranks(best.source) {
			best = what
		}
	}
	return best
}

// answeredByMail reports whether a message of the owner's is known that answers m, whose key is k.
func (f *Voice) answeredByMail(k store.MessageKey, m *store.Message) bool {
	id, ok := f.st.IDs.Get(m.ID.Key())
	return ok && m.ID != 0 && id.Answered && id.Message == k
}

// wentOff returns what it says that a flag is gone from a place of message k, which had the old ones;
// came and gone are all that changed there. That a mark of ours goes, or another program's, is a
// correction. What the owner had set was never said.
func (f *Voice) wentOff(k store.MessageKey, m *store.Message, place Place, flag string, came, gone, old []string) said {
	what := meaning(flag, nil)
	if f.ledger.IsMark(flag) {
		if f.replaced(came, gone, old) {
			f.ledger.Refusals.KeepOff(k, m.ID)
			return said{}
		}
		_, ours := f.ledger.Refusals.Refused(k, m.ID)
		ours = ours || f.ledger.Places.Doubtful(place) || slices.ContainsFunc(old, ingest.IsCompanion) ||
			f.ledger.Whose.WasSet(k, flag)
		if f.ledger.Refuse(k, m.ID, flag); ours {
			return said{label: model.Ordinary, source: store.SourceMark}
		}
		what = said{label: model.Important, source: store.SourceMark}
	}
	besides, _ := f.unsay(k, m, what, gone...)
	return besides
}

// putBack hears that a mark of ours which the owner took off appears once more: that takes their
// correction back. Within the settle window it is as if they had not touched it, later the mark
// is theirs.
func (f *Voice) putBack(k store.MessageKey, m *store.Message, place Place, flag string) bool {
	correction := said{label: model.Ordinary, source: store.SourceMark}
	n, ok := f.ledger.Whose.Refused(k, flag)
	if !ok {
		return false
	}
	learnt := m.Pending.Label == 0
	if _, was := f.unsay(k, m, correction); !was {
		return false
	}
	if learnt {
		f.ledger.Whose.NoteOwn(k, place, flag)
		return true
	}
	f.ledger.Whose.Restore(n, m.ID)
	return true
}

// Holds reports whether what gave m its label is there still, as far as flags, but for those that
// are gone, show it.
func (f *Voice) Holds(k store.MessageKey, m *store.Message, gone []string) bool {
	heard := ingest.WithoutFlags(m.Heard, gone)
	has := func(flag string) bool { return ingest.HasFlag(heard, flag) }
	switch m.Source {
	case store.SourceFlagged:
		return has(`\flagged`) || has("$followed")
	case store.SourceAnswered:
		return has(`\answered`) || f.answeredByMail(k, m)
	case store.SourceMuted:
		return has("$muted")
	case store.SourceJunk:
		return has("$junk") || ingest.Role(m.Role) == ingest.RoleJunk
	case store.SourceMark:
		return (m.Label == model.Important) == slices.ContainsFunc(heard, f.ledger.IsMark)
	}
	return true
}

// Unhandle takes what the owner did with m out of what is remembered of them and of the sender,
// as a lesson on m was taken back or m is about to be forgotten. The caller puts m.
func (f *Filter) Unhandle(m *store.Message) { f.People.handle(m, store.HandledNothing) }

// noteUnheard counts the days on which the owner set or removed keywords from which
// nothing can be learnt. Call it after noteActivity. A message that would teach nothing in
// any case does not count.
func (f *Teacher) noteUnheard(m *store.Message, old, now []string) {
	a := &f.st.Account
	if m.Outcome == store.Undecided {
		return
	}
	for _, flag := range slices.Concat(ingest.WithoutFlags(now, old), ingest.WithoutFlags(old, now)) {
		if slices.Contains(ledger.Routine, flag) || ingest.IsCompanion(flag) || f.ledger.IsMark(flag) || meaning(flag, nil).label != 0 {
			continue
		}
		a.UnheardFlag = flag
		if a.UnheardDays == 0 || a.UnheardDay != a.ActiveDays {
			a.UnheardDays, a.UnheardDay = a.UnheardDays+1, a.ActiveDays
		}
	}
}

// noteHeard notes that a word of the owner's was learnt.
func (f *Teacher) noteHeard() {
	a := &f.st.Account
	a.HeardDay, a.HeardSeq = a.ActiveDays, a.Messages
	a.UnheardDays, a.UnheardDay, a.UnheardFlag = 0, 0, ""
}

// await notes since when a lesson is awaited: since the first mail that came while hinged
// was watching.
func (f *Teacher) await(e *Arrived) {
	if a := &f.st.Account; a.Awaited == 0 && !e.Backlog {
		a.Awaited = a.Clock
	}
}

// manner is how a label came beside others.
type manner struct {
	single  bool     // of itself, however many others came with it
	away    bool     // not seen live
	command store.ID // that gave it; 0: not known
	batch   store.ID // the same where that alone tells what came with it
	trust   trust    // in whose word it is
}

// oneByOne is the manner of what was said message by message.
var oneByOne = manner{single: true}

// mannerOf is that of a change at a place, whose number is modseq.
func mannerOf(place Place, away bool, modseq uint64) manner {
	with := manner{away: away, single: away && modseq == 0}
	if modseq != 0 {
		key := binary.BigEndian.AppendUint64([]byte(place.Mailbox+"\x00"), modseq)
		key = binary.BigEndian.AppendUint32(key, place.UIDValidity)
		with.command = store.ID(xxhash.Sum64(key))
	}
	if away {
		with.batch = with.command
	}
	return with
}

// An owner who changes more than Options.Bulk messages in the same way at once tidies up, and has no
// opinion on any one of them. At once is, seen live, within one settle window; found after an
// absence, what one command did, which the server tells by one number (MODSEQ).

// dropBulk withdraws the pending label of first, and all like it that came at once,
// when there are more than Options.Bulk of them, or when they belong to those that were
// withdrawn just before. It reports whether it did.
func (f *Teacher) dropBulk(first *store.Message, r *Result) bool {
	if f.opts.Bulk == 0 || first.Pending.Single {
		return false
	}
	var alike []store.MessageKey
	last, c := first.Pending.Since, &f.st.Account.CleanUp
	sameWay := func(p store.Pending) bool {
		return p.Label == first.Pending.Label && p.Source == first.Pending.Source && !p.Single && p.Batch == first.Pending.Batch
	}
	for _, other := range f.Waits.settling.entries {
		m, ok := f.st.Messages.Get(string(other.key[:]))
		if p := m.Pending; ok && p.Since == other.since && sameWay(p) && p.Since <= first.Pending.Since.Add(f.opts.Settle) {
			alike = append(alike, other.key)
			last = max(last, p.Since)
		}
	}
	// A large clean-up takes longer to be seen whole than the settle window lasts.
	continues := first.Pending.Label == c.Label && first.Pending.Source == c.Source && first.Pending.Batch == c.Batch &&
		(c.Batch != 0 || first.Pending.Since <= c.Last.Add(f.opts.Settle))
	if len(alike) <= f.opts.Bulk && !continues {
		return false
	}
	for _, k := range alike {
		mk := string(k[:])
		m, _ := f.st.Messages.Get(mk)
		m.Pending = store.Pending{}
		f.Voice.ground(k, &m, nil)
		f.st.Messages.Put(mk, m)
	}
	*c = store.CleanUp{Label: first.Pending.Label, Source: first.Pending.Source, Batch: first.Pending.Batch, Last: last}
	f.st.Account.Bulk += uint64(len(alike))
	r.Withdrawn += len(alike)
	return true
}
