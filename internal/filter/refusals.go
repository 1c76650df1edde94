package filter

import (
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Refused is a message from which the owner took a mark that was not in the
// ledger: somebody else had set it, or the entry is no longer kept.
type Refused struct {
	Message store.MessageKey // zero when the message is not remembered any more
	At      store.Moment
}

// RefusedOthers returns them, in the order of their keys.
func (f *Filter) RefusedOthers() []Refused {
	ours := map[string]bool{}
	for _, k := range f.st.Ledger.Keys() {
		if e, _ := f.st.Ledger.Get(k); e.State == store.MarkRefused {
			ours[refusalKey(e.Message, e.ID)] = true
		}
	}
	var out []Refused
	for _, k := range f.st.Refusals.Keys() {
		if ours[k] {
			continue
		}
		row, _ := f.st.Refusals.Get(k)
		r := Refused{At: row.At}
		if len(k) == len(r.Message) {
			r.Message = store.MessageKey([]byte(k))
		} else if id, ok := f.st.IDs.Get(k); ok {
			r.Message = id.Message
		}
		out = append(out, r)
	}
	return out
}

// Ledger returns the numbers of the ledger entries of a message, ascending, also
// of other copies under its Message-ID; id is 0 when it has none.
func (f *Filter) Ledger(k store.MessageKey, id store.ID) []uint64 {
	var out []uint64
	for _, key := range f.st.Ledger.Keys() {
		e, _ := f.st.Ledger.Get(key)
		if e.Message == k || id != 0 && e.ID == id {
			out = append(out, store.LedgerNumber(key))
		}
	}
	return out
}

// Marked reports whether a mark of ours is on a message, as far as the ledger
// knows, or about to be.
func (f *Filter) Marked(k store.MessageKey) bool { return f.ledger.marked(f.st, k) }

// MarkedNow returns the mailboxes in which a message lies with one of the
// configured marks, and the number of those in which it lies at all.
func (f *Filter) MarkedNow(k store.MessageKey) (marked []string, places int) {
	for _, key := range f.st.Places.Keys() {
		p, _ := f.st.Places.Get(key)
		if p.Message != k {
			continue
		}
		places++
		for _, mark := range f.opts.Marks {
			if ingest.HasFlag(p.Flags, mark) {
				mailbox, _ := store.SplitPlaceKey(key)
				marked = append(marked, mailbox)
				break
			}
		}
	}
	return marked, places
}
