// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"maps"
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// What the ledger knows of marks that are to be taken back.

// came and left keep copies: a message is, or is no longer, at a place.
func (l *ledger) came(k store.MessageKey, place string) {
	if c, ok := l.copies[k]; ok {
		c[place] = struct{}{}
	}
}

func (l *ledger) left(k store.MessageKey, place string) { delete(l.copies[k], place) }

func (l *ledger) findCopies() {
	l.copies = map[store.MessageKey]map[string]struct{}{}
	for _, e := range l.all() {
		if e.Undo != 0 {
			l.copies[e.Message] = map[string]struct{}{}
		}
	}
	l.copiesOf(l.copies)
}

// copiesOf gathers the places of some messages in one pass.
func (l *ledger) copiesOf(messages map[store.MessageKey]map[string]struct{}) {
	if len(messages) == 0 {
		return
	}
	for _, key := range l.st.Places.Keys() {
		p, _ := l.st.Places.Get(key)
		if c, ok := messages[p.Message]; ok {
			c[key] = struct{}{}
		}
	}
}

// bearers returns those copies of an entry's message that have its mark, where
// somebody else did not set it, in order. The mark must have been asked back.
func (l *ledger) bearers(e store.LedgerEntry) []string {
	return l.bearing(l.copies[e.Message], e.Keyword)
}

func (l *ledger) bearing(copies map[string]struct{}, flag string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(copies)) {
		if p, _ := l.st.Places.Get(key); ingest.HasFlag(p.Flags, flag) && !ingest.HasFlag(p.Own, flag) {
			out = append(out, key)
		}
	}
	return out
}

func (l *ledger) undoable(since store.Moment) []Undoable {
	var out []Undoable
	copies := map[store.MessageKey]map[string]struct{}{}
	for n, e := range l.all() {
		if e.Intended < since || e.Prior || e.State != store.MarkConfirmed && e.State != store.MarkIntended {
			continue
		}
		copies[e.Message] = map[string]struct{}{}
		out = append(out, Undoable{Number: n})
	}
	l.copiesOf(copies)
	for i := range out {
		u := &out[i]
		e, _ := l.entry(u.Number)
		all := copies[e.Message]
		places := l.bearing(all, e.Keyword)
		switch {
		case e.State == store.MarkIntended:
			u.Choice = UndoAwaits
		case len(places) > 0:
			u.Choice, u.Places = UndoTakes, places
		case len(all) == 0:
			u.Choice = UndoFollows
		case l.anyHas(all, e.Keyword):
			u.Choice = UndoOwn
		default:
			u.Choice = UndoPassed
		}
	}
	return out
}

func (l *ledger) anyHas(places map[string]struct{}, flag string) bool {
	for key := range places {
		if p, _ := l.st.Places.Get(key); ingest.HasFlag(p.Flags, flag) {
			return true
		}
	}
	return false
}

// requestClear asks to take the mark of an entry back at one place, which has the
// given flags.
func requestClear(n uint64, e store.LedgerEntry, place Place, flags []string) ingest.MarkRequest {
	return ingest.MarkRequest{ID: n, Place: ingest.Place(place), Flag: e.Keyword, Also: e.Companion, Clear: true, Known: flags, Attempt: int(e.Tries)}
}

// undoRequests returns what is to be asked for entries that are to be taken back.
func (l *ledger) undoRequests(entries []uint64) []ingest.MarkRequest {
	var out []ingest.MarkRequest
	for _, n := range entries {
		e, _ := l.entry(n)
		for _, key := range l.bearers(e) {
			p, _ := l.st.Places.Get(key)
			mailbox, uid := store.SplitPlaceKey(key)
			box, _ := l.st.Boxes.Get(mailbox)
			out = append(out, requestClear(n, e, Place{Mailbox: mailbox, UIDValidity: box.UIDValidity, UID: uid}, p.Flags))
		}
	}
	return out
}

// requestFresh returns what is to be asked for entries that the event just applied
// has made ones to be taken back.
func (l *ledger) requestFresh() []ingest.MarkRequest {
	fresh := l.fresh
	l.fresh = nil
	slices.Sort(fresh)
	fresh = slices.DeleteFunc(slices.Compact(fresh), func(n uint64) bool { _, still := l.undoing[n]; return !still })
	return l.undoRequests(fresh)
}

// note keeps what is new of an entry whose state stays, and asks for nothing.
func (l *ledger) note(n uint64, e store.LedgerEntry) { l.st.Ledger.Put(store.LedgerKey(n), e) }

// underWay returns the entries of a message that are being taken back, by number.
func (l *ledger) underWay(k store.MessageKey) []uint64 {
	if len(l.undoing) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.byMessage[k]), func(n uint64) bool { _, is := l.undoing[n]; return !is })
}

// conclude ends what is being taken back of a message's marks and is on none of
// its copies any more.
func (l *ledger) conclude(k store.MessageKey, to store.LedgerState) {
	for _, n := range l.underWay(k) {
		e, _ := l.entry(n)
		switch {
		case len(l.bearers(e)) > 0:
		case e.Cleared:
			l.settle(n, e, store.MarkUndone)
		default:
			l.settle(n, e, to)
		}
	}
}

// takenBack returns those of the flags gone from a place that we were about to take
// back there.
func (l *ledger) takenBack(p store.Place, gone []string) []string {
	var out []string
	for _, n := range l.underWay(p.Message) {
		e, _ := l.entry(n)
		if flag := ingest.CanonicalFlag(e.Keyword); ingest.HasFlag(gone, flag) && !ingest.HasFlag(p.Own, flag) {
			out = append(out, flag)
		}
	}
	return ingest.CanonicalFlags(out)
}

// followed returns the entries whose marks were asked back lately and that a
// message still bears where it now turned up with these flags.
func (l *ledger) followed(k store.MessageKey, flags []string) []uint64 {
	var out []uint64
	for n, e := range l.of(k) {
		if e.Undo == 0 || l.st.Account.Clock > e.Undo.Add(undoFollows) || !ingest.HasFlag(flags, e.Keyword) {
			continue
		}
		switch e.State {
		case store.MarkConfirmed, store.MarkUndoing, store.MarkUndone:
			out = append(out, n)
		}
	}
	return out
}
