// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Ledger is the ledger of one account. It reads the account's clock, mailboxes and messages.
type Ledger struct {
	Entries  *Entries
	Refusals *Refusals
	Places   *Places
	Undo     Undo
	Copies   Copies
	Letters  Letters
	Whose    Whose

	st     *store.State
	set    Settings
	wanted func(store.MessageKey) bool
	asked  []ingest.MarkRequest // by the event that is being applied
}

// Settings say what a mark is made of.
type Settings struct {
	Marks     []string // flags, as the server is to store them
	Companion string   // a keyword that is set beside each of them; "": none
	CopyTo    string   // a mailbox for a copy of the message; "": none
	// Entries and Refusals are how many are kept at most.
	Entries, Refusals int
}

// New returns the ledger in st. wanted reports whether a message is still to be marked whose
// mark was intended.
func New(st *store.State, wanted func(store.MessageKey) bool) *Ledger {
	l := &Ledger{Entries: newEntries(st), Refusals: &Refusals{st: st}, Places: &Places{st: st}, st: st, wanted: wanted}
	l.Undo, l.Copies, l.Letters, l.Whose = Undo{l}, Copies{l}, Letters{l}, Whose{l}
	return l
}

// Set puts settings in force.
func (l *Ledger) Set(s Settings) { l.set, l.Refusals.limit = s, s.Refusals }

// IsMark reports whether a canonical flag is one of the configured marks.
func (l *Ledger) IsMark(flag string) bool {
	return slices.ContainsFunc(l.set.Marks, func(m string) bool { return ingest.CanonicalFlag(m) == flag })
}

// MarksAmong returns those of the canonical flags that are configured marks.
func (l *Ledger) MarksAmong(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return !l.IsMark(flag) })
}

// Requests returns what is to be asked of the source since the last call: what the event that
// was just applied asked for, and then what its entries that are to be taken back need.
func (l *Ledger) Requests() []ingest.MarkRequest {
	fresh := l.Entries.fresh
	l.Entries.fresh = nil
	slices.Sort(fresh)
	fresh = slices.DeleteFunc(slices.Compact(fresh), func(n uint64) bool { _, still := l.Entries.undoing[n]; return !still })
	out := l.asked
	if l.asked = nil; len(fresh) > 0 {
		out = append(out, l.Undo.requests(fresh)...)
	}
	return out
}

// placeOf is where an entry's mark was to be set.
func placeOf(e store.LedgerEntry) Place {
	return Place{Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UID: e.UID}
}

// request asks for the mark of an entry, at the place that it was intended for, where the
// message has the given flags.
func request(n uint64, e store.LedgerEntry, known []string) ingest.MarkRequest {
	return ingest.MarkRequest{ID: n, Place: placeOf(e), Flag: e.Keyword, Also: e.Companion, CopyTo: e.CopyTo, Known: known, Attempt: int(e.Tries), ModSeq: e.ModSeq}
}

func (l *Ledger) ask(r ingest.MarkRequest) { l.asked = append(l.asked, r) }

// maxTries is how often a mark is tried again, set or taken back, when its message changed in
// between. The source waits a minute in all. A server that answers every conditional STORE so
// is not asked for ever.
const maxTries = 6

// Enter enters the marks of a message that lies at a place with these flags and asks for them,
// those apart that are on it already, or about to be. modseq is that of the flags; 0: unknown.
func (l *Ledger) Enter(k store.MessageKey, m *store.Message, at Place, flags []string, modseq uint64) {
	companion := l.set.Companion
	if ingest.HasFlag(flags, companion) {
		companion = "" // another's, and not ours to take back
	}
	box, _ := l.st.Boxes.Get(at.Mailbox)
	for _, flag := range l.set.Marks {
		there := func(e store.LedgerEntry) bool { return stands(e) && e.Keyword == flag && e.Undo == 0 }
		if ingest.HasFlag(flags, flag) || l.Entries.Has(k, there) {
			continue
		}
		e := store.LedgerEntry{
			Companion: companion, Message: k, ID: m.ID, Mailbox: at.Mailbox, UIDValidity: at.UIDValidity, UID: at.UID,
			ModSeq: max(modseq, box.HighestModSeq), Keyword: flag, Score: m.Score, Threshold: m.Threshold,
		}
		n := l.Entries.intend(e)
		if at != (Place{}) {
			l.ask(request(n, e, flags))
		}
	}
	l.Copies.intend(k, m, at)
	l.Entries.forgetOldest(l.set.Entries)
}

// Attempt is the end of one attempt to set a mark, or to take it back.
type Attempt struct {
	At      store.Moment       `cbor:"1,keyasint,omitempty"`
	Ledger  uint64             `cbor:"2,keyasint"` // number of the entry
	Outcome ingest.MarkOutcome `cbor:"3,keyasint"`
	Flags   []string           `cbor:"4,keyasint,omitempty"` // as read back, canonical
	// Cleared is where the mark was to be taken back; nil: it was to be set.
	Cleared *Place `cbor:"5,keyasint,omitempty"`
	// Copied is the copy that was asked for; see ingest.MarkResult.
	Copied *store.Copied `cbor:"20,keyasint,omitempty"`
}

// Settle takes the end of an attempt. heed hears the flags that were read back at a place,
// after which old is what was known there, but for what appeared by our own hand.
func (l *Ledger) Settle(a *Attempt, heed func(at Place, old store.Place, flags []string) error) error {
	e, _ := l.Entries.Get(a.Ledger)
	switch {
	case e.CopyTo != "":
		return l.Copies.settle(a, e, heed)
	case a.Cleared != nil:
		l.Undo.settle(a, e)
		return nil
	}
	flag := ingest.CanonicalFlag(e.Keyword)
	undone := a.Outcome == ingest.MarkConflict || a.Outcome == ingest.MarkUnsure // nothing was done
	switch {
	case e.State != store.MarkIntended:
	case a.Outcome == ingest.MarkUnsure && !l.Whose.besideOurs(e, a.Flags):
		l.Refuse(e.Message, e.ID, flag)
	case a.Outcome == ingest.MarkDone:
		l.Entries.confirm(a.Ledger, e)
	case !undone:
		l.Entries.settle(a.Ledger, e, store.MarkAbandoned)
	case ingest.HasFlag(a.Flags, flag):
		// Our STORE did nothing, and yet the mark is there: somebody else was first.
		e.Prior = true
		l.Entries.settle(a.Ledger, e, store.MarkAbandoned)
	case l.Whose.takenOff(&e, a.Flags):
		l.Refuse(e.Message, e.ID, flag)
	default:
		e.Tries++
		l.Entries.settle(a.Ledger, e, store.MarkIntended)
	}

	if l.Entries.Has(e.Message, func(o store.LedgerEntry) bool { return o.CopyTo != "" }) {
		defer l.Copies.request(e.Message)
	}
	at := placeOf(e)
	old, there := l.Places.At(at, e.Message)
	if !there {
		return nil
	}
	if a.Outcome == ingest.MarkDone && !ingest.HasFlag(old.Flags, flag) {
		ours := []string{flag}
		if ingest.HasFlag(a.Flags, e.Companion) {
			ours = append(ours, e.Companion)
		}
		old.Flags = ingest.CanonicalFlags(append(ours, old.Flags...))
	}
	if a.Outcome == ingest.MarkDone || undone {
		if err := heed(at, old, a.Flags); err != nil {
			return err
		}
	}
	e, _ = l.Entries.Get(a.Ledger)
	switch {
	case !undone || e.State != store.MarkIntended:
	case e.Tries <= maxTries && l.wants(e):
		// The message changed in between; that was no word of the owner's against it.
		l.ask(request(a.Ledger, e, a.Flags))
	default:
		l.Entries.settle(a.Ledger, e, store.MarkAbandoned)
	}
	return nil
}

// wants reports whether an intended mark is still to be set: the owner may have silenced the
// account, chosen another mark, or called the message ordinary in words, which leave no trace on
// the server that our STORE would stop at.
func (l *Ledger) wants(e store.LedgerEntry) bool {
	if !l.wanted(e.Message) {
		return false
	}
	if e.CopyTo != "" {
		refused, _ := l.Refusals.Refused(e.Message, e.ID)
		return !refused && e.Undo == 0 && e.CopyTo == l.set.CopyTo
	}
	return l.IsMark(ingest.CanonicalFlag(e.Keyword))
}

// Intents returns the marks that are committed as to be taken back, or as intended and not yet
// confirmed, in order, to be requested again after a restart. One that is not wanted any more is
// left as it is: if it was set before the end of the run, it is seen to be there and is ours.
func (l *Ledger) Intents() []ingest.MarkRequest {
	out := l.Undo.Requests()
	for _, n := range slices.Sorted(maps.Keys(l.Entries.intended)) {
		e, _ := l.Entries.Get(n)
		if !l.wants(e) || e.CopyTo != "" && l.Copies.waits(e.Message) {
			continue
		}
		p, _ := l.Places.Get(placeOf(e))
		r := request(n, e, p.Flags)
		r.Again = true // it was asked for; whether the source came to it is not known
		out = append(out, r)
	}
	return out
}

// Known returns what a source resumes from.
func (p *Places) Known() (known []ingest.Known) {
	at := map[string]int{}
	for name, b := range p.st.Boxes.All() {
		if b.UIDNext <= 1 && b.BacklogBefore == 0 {
			// Opened, but killed before the first position was committed: what lies
			// in it must still count as backlog, so begin as if it were new.
			continue
		}
		at[name] = len(known)
		known = append(known, ingest.Known{
			Mailbox: name, UIDValidity: b.UIDValidity, UIDNext: b.UIDNext, HighestModSeq: b.HighestModSeq,
			BacklogBefore: b.BacklogBefore, Restored: b.RestoredBefore == store.RestoredPending, Flags: map[uint32][]string{},
		})
	}
	for k, row := range p.st.Places.All() {
		name, uid := store.SplitPlaceKey(k)
		if i, ok := at[name]; ok {
			known[i].Flags[uid] = row.Flags
		}
	}
	return known
}

// Refuse notes that a mark was removed from a message: whoever had set it, it is not set again.
func (l *Ledger) Refuse(k store.MessageKey, id store.ID, flag string) {
	for n, e := range l.Entries.Of(k) {
		switch {
		case ingest.CanonicalFlag(e.Keyword) != flag:
		case e.State == store.MarkConfirmed:
			l.Entries.settle(n, e, store.MarkRefused)
		case e.State == store.MarkIntended:
			l.Entries.settle(n, e, store.MarkAbandoned)
		}
	}
	l.Refusals.KeepOff(k, id)
}

// TakeOff takes our marks off message k, because the owner called it ordinary in so many words,
// and keeps them off.
func (l *Ledger) TakeOff(k store.MessageKey, m *store.Message) {
	var only []uint64
	for n, e := range l.Entries.Of(k) {
		switch {
		case !stands(e):
		case placeOf(e) == (Place{}): // whoever reads the decisions marks the message
			l.Entries.settle(n, e, store.MarkRefused)
		default:
			only = append(only, n)
		}
	}
	if l.Entries.Entered(k) {
		l.Refusals.KeepOff(k, m.ID)
	}
	if len(only) > 0 {
		l.Undo.Begin(0, only, false)
	}
}

// PutOn marks a message because the owner called it important in so many words, if it lies
// where it can bear a mark.
func (l *Ledger) PutOn(k store.MessageKey, m *store.Message) {
	at, p, ok := l.PlaceToMark(k)
	if !ok {
		return
	}
	for n, e := range l.Entries.Of(k) {
		again := e.State == store.MarkUndoing && e.CopyTo == "" && placeOf(e) == at
		if e.Undo, e.Cleared, e.Bare = 0, false, false; !again {
			l.Entries.put(n, e)
			continue
		}
		// It is being taken off: that ends first, and then it is set.
		p.Flags = ingest.WithoutFlags(p.Flags, []string{ingest.CanonicalFlag(e.Keyword)})
		l.Entries.settle(n, e, store.MarkIntended)
		l.ask(request(n, e, p.Flags))
	}
	l.Enter(k, m, at, p.Flags, 0)
}

// PlaceToMark returns the copy of a message that bears its mark: that in INBOX, else the first
// in a folder whose mail is decided, those apart that we made.
func (l *Ledger) PlaceToMark(k store.MessageKey) (place Place, p store.Place, ok bool) {
	for at, row := range l.Places.Of(k) {
		if role := l.Places.Role(at.Mailbox); Excluded(role) || l.Copies.Is(k, at) || ok && role != ingest.RoleInbox {
			continue
		}
		place, p, ok = at, row, true
	}
	return place, p, ok
}

// Excluded reports whether mail in a mailbox of this role is never decided and never marked.
func Excluded(role ingest.Role) bool {
	switch role {
	case ingest.RoleSent, ingest.RoleDrafts, ingest.RoleJunk, ingest.RoleTrash:
		return true
	default:
		return false
	}
}

// Leave drops a place, as the message left it. k is zero if no message was known there.
func (l *Ledger) Leave(at Place) (was store.Place, known bool) {
	if was, known = l.Places.drop(keyOf(at)); known {
		l.left(was.Message)
	}
	return was, known
}

// LeaveAll drops every place in a mailbox whose UIDs are void. The messages stay known by their
// content, so that nothing is learnt or marked twice when they come back under other UIDs.
func (l *Ledger) LeaveAll(mailbox string) {
	for _, key := range l.Places.within(mailbox) {
		was, _ := l.Places.drop(key)
		l.left(was.Message)
	}
	l.Entries.Abandon(func(e store.LedgerEntry) bool { return e.Mailbox == mailbox })
}

func (l *Ledger) left(k store.MessageKey) {
	if m, ok := l.st.Messages.Get(string(k[:])); ok && m.Copies > 0 {
		m.Copies--
		l.st.Messages.Put(string(k[:]), m)
	}
	l.Undo.conclude(k, store.MarkConfirmed)
}

// Reflag enters the flags that a place has now, which had row before, and returns those of
// before, without what we were about to take back there.
func (l *Ledger) Reflag(at Place, row store.Place, flags []string) (old []string) {
	old = row.Flags
	back := l.Entries.underWay(row.Message)
	for _, n := range back {
		e, _ := l.Entries.Get(n)
		if flag := ingest.CanonicalFlag(e.Keyword); !e.Bare && !ingest.HasFlag(flags, flag) && !ingest.HasFlag(row.Own, flag) {
			old = ingest.WithoutFlags(old, []string{flag})
		}
	}
	row.Flags, row.Own = flags, ingest.CommonFlags(row.Own, flags)
	l.Places.Put(at, row)
	if len(back) > 0 {
		l.Undo.conclude(row.Message, store.MarkUndone)
	}
	return old
}

// Forget drops entries. Of a mark that stands it keeps, as the hash of the message, that it is
// ours, so that it is never taken for the owner's word and never set again.
func (l *Ledger) Forget(entries []uint64) {
	for _, n := range entries {
		if e, _ := l.Entries.Get(n); stands(e) {
			l.Refusals.put(e.Message, e.ID, true)
		}
		l.Entries.drop(n)
	}
	l.Refusals.forgetOldest()
}

// MarkState returns what became of the mark that an entry is part of. The mark of a message that
// was deleted is gone: no copy of it is in sight, or the last is in Trash.
func (l *Ledger) MarkState(n uint64) store.LedgerState {
	e, ok := l.Entries.Get(n)
	if !ok || e.Letter != "" {
		return e.State
	}
	state := l.Entries.round(e.Message, e.Intended)
	m, known := l.st.Messages.Get(string(e.Message[:]))
	if state != store.MarkConfirmed || !known || placeOf(e) == (Place{}) {
		return state
	}
	if m.Copies == 0 || m.Copies == 1 && ingest.Role(m.Role) == ingest.RoleTrash {
		return store.CopyGone
	}
	return state
}

// LastMark returns what became of the newest mark of ours on a message.
func (l *Ledger) LastMark(k store.MessageKey) (state store.LedgerState, ok bool) {
	if all := l.Entries.byMessage[k]; len(all) > 0 {
		return l.MarkState(all[len(all)-1]), true
	}
	return 0, false
}

// Marked reports whether a mark of ours is on a message, as far as the ledger knows, or about
// to be, and is to stay there.
func (l *Ledger) Marked(k store.MessageKey) bool {
	state, _ := l.LastMark(k)
	return state == store.MarkIntended || state == store.MarkConfirmed
}

// MarkedNow returns the mailboxes in which a message lies with one of the configured marks, and
// the number of those in which it lies at all.
func (l *Ledger) MarkedNow(k store.MessageKey) (marked []string, places int) {
	for at, p := range l.Places.Of(k) {
		places++
		if slices.ContainsFunc(p.Flags, l.IsMark) {
			marked = append(marked, at.Mailbox)
		}
	}
	return marked, places
}
