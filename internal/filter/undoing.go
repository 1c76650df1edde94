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
	l.st.Ledger.Each(func(_ string, e *store.LedgerEntry) {
		if e.Undo != 0 {
			l.copies[e.Message] = map[string]struct{}{}
		}
	})
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

// underWay reports whether an entry's mark, or its companion alone, is to be taken
// back; or a copy that is to be looked for, as it may have been made.
func underWay(e store.LedgerEntry) bool {
	return e.State == store.MarkUndoing || e.Bare || e.CopyTo != "" && e.State == store.MarkIntended && e.Undo != 0
}

// ours reports what of an entry is on a copy of its message and was set by us: the
// mark, and the companion. A companion stays with the mark of another hinged, which
// would look like the owner's without it.
func (l *ledger) ours(e store.LedgerEntry, p store.Place) (mark, companion bool) {
	has := func(flag string) bool {
		return flag != "" && ingest.HasFlag(p.Flags, flag) && !ingest.HasFlag(p.Own, flag)
	}
	return has(e.Keyword), has(e.Companion) && !l.twinMarked(e.Message, p.Flags)
}

// twinMarked reports whether flags of a message hold a mark that another hinged sets
// and that the ledger does not explain.
func (l *ledger) twinMarked(k store.MessageKey, flags []string) bool {
	return slices.ContainsFunc(common(l.st.Account.TwinMarks, flags), func(mark string) bool {
		return !l.has(k, func(e store.LedgerEntry) bool { return stands(e) && ingest.CanonicalFlag(e.Keyword) == mark })
	})
}

// bearers returns those copies of an entry's message that have its mark, or its
// companion, where somebody else did not set it, in order. It must have been asked
// back.
func (l *ledger) bearers(e store.LedgerEntry) []string {
	marks, companions := l.bearing(l.copies[e.Message], e)
	if e.Bare {
		return companions
	}
	out := append(marks, companions...)
	slices.Sort(out)
	return slices.Compact(out)
}

// bearing returns those of some copies of an entry's message that bear its mark, and
// those that bear its companion, in order.
func (l *ledger) bearing(copies map[string]struct{}, e store.LedgerEntry) (marks, companions []string) {
	for _, key := range slices.Sorted(maps.Keys(copies)) {
		p, _ := l.st.Places.Get(key)
		mark, companion := l.ours(e, p)
		if mark {
			marks = append(marks, key)
		}
		if companion {
			companions = append(companions, key)
		}
	}
	return marks, companions
}

func (l *ledger) undoable(since store.Moment, only []uint64) []Undoable {
	var out []Undoable
	copies := map[store.MessageKey]map[string]struct{}{}
	for n, e := range l.all() {
		if e.Intended < since || e.Prior || underWay(e) || !among(only, n) {
			continue
		}
		if e.State != store.MarkConfirmed && e.State != store.MarkIntended && e.Companion == "" {
			continue
		}
		if e.CopyTo != "" {
			out = append(out, undoableCopy(n, e))
			continue
		}
		copies[e.Message] = map[string]struct{}{}
		out = append(out, Undoable{Number: n})
	}
	l.copiesOf(copies)
	for i := range out {
		u := &out[i]
		e, _ := l.entry(u.Number)
		if e.CopyTo != "" {
			continue
		}
		all := copies[e.Message]
		marks, companions := l.bearing(all, e)
		switch {
		case e.State == store.MarkIntended:
			u.Choice = UndoAwaits
		case e.State == store.MarkConfirmed && len(marks) > 0:
			u.Choice, u.Places = UndoTakes, marks
		case len(companions) > 0:
			u.Choice, u.Places = UndoBares, companions
		case e.State != store.MarkConfirmed:
			u.Choice = undoNothing
		case len(all) == 0:
			u.Choice = UndoFollows
		case l.anyHas(all, e.Keyword):
			u.Choice = UndoOwn
		default:
			u.Choice = UndoPassed
		}
	}
	return slices.DeleteFunc(out, func(u Undoable) bool { return u.Choice == undoNothing })
}

// among reports whether an UndoRequested is about an entry; see its Only.
func among(only []uint64, n uint64) bool { return len(only) == 0 || slices.Contains(only, n) }

func (l *ledger) anyHas(places map[string]struct{}, flag string) bool {
	for key := range places {
		if p, _ := l.st.Places.Get(key); ingest.HasFlag(p.Flags, flag) {
			return true
		}
	}
	return false
}

// requestClear asks to take back what an entry set at one place, p.
func (l *ledger) requestClear(n uint64, e store.LedgerEntry, place Place, p store.Place) ingest.MarkRequest {
	r := ingest.MarkRequest{ID: n, Place: ingest.Place(place), Flag: e.Keyword, Clear: true, Known: p.Flags, Attempt: int(e.Tries)}
	switch mark, companion := l.ours(e, p); {
	case companion && (e.Bare || !mark):
		r.Flag = e.Companion
	case companion:
		r.Also = e.Companion
	}
	return r
}

// undoRequests returns what is to be asked for entries that are to be taken back.
func (l *ledger) undoRequests(entries []uint64) []ingest.MarkRequest {
	var out []ingest.MarkRequest
	for _, n := range entries {
		e, _ := l.entry(n)
		if e.CopyTo != "" {
			out = append(out, l.requestUncopy(n, e))
			continue
		}
		for _, key := range l.bearers(e) {
			p, _ := l.st.Places.Get(key)
			mailbox, uid := store.SplitPlaceKey(key)
			box, _ := l.st.Boxes.Get(mailbox)
			out = append(out, l.requestClear(n, e, Place{Mailbox: mailbox, UIDValidity: box.UIDValidity, UID: uid}, p))
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
		case e.CopyTo != "", len(l.bearers(e)) > 0:
		case e.Bare:
			e.Bare = false
			l.put(n, e)
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
		if flag := ingest.CanonicalFlag(e.Keyword); !e.Bare && ingest.HasFlag(gone, flag) && !ingest.HasFlag(p.Own, flag) {
			out = append(out, flag)
		}
	}
	return ingest.CanonicalFlags(out)
}

// followed returns the entries whose marks or companions were asked back lately and
// that a message still bears where it now turned up as p. bare: the companion alone is
// to be taken back there.
func (l *ledger) followed(k store.MessageKey, p store.Place) (out []uint64, bare []bool) {
	for n, e := range l.of(k) {
		if e.Undo == 0 || l.st.Account.Clock > e.Undo.Add(undoFollows) {
			continue
		}
		mark, companion := l.ours(e, p)
		switch e.State {
		case store.MarkConfirmed, store.MarkUndoing, store.MarkUndone:
		default:
			mark = false
		}
		if mark || companion {
			out, bare = append(out, n), append(bare, !mark)
		}
	}
	return out, bare
}
