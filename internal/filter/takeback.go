// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"

	"github.com/hinged/hinged/ingest"
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
	since := f.st.Account.Clock
	m.Pending = store.Pending{Label: m.Label, Source: m.Source, Since: since, Single: true, Back: true}
	f.Waits.settling.push(since, m.Seq, k)
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
