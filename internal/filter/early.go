package filter

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// MaxRecord is how many bytes of the record behind early feedback are kept.
const MaxRecord = 4096

// Told is feedback that names its message and may come before it. About a known
// message it is heard at once: the owner's explicit word as Labelled is, what they
// did (a mark, a star, an answer, a move, junk) as the same is over IMAP, settle
// window and strength included. Otherwise it waits for the message, at most
// Options.EarlyFor and with at most Limits.Early others.
//
// It counts as a sign that the owner was active.
type Told struct {
	At store.Moment `cbor:"1,keyasint,omitempty"`
	// Message names it by its content, or is zero; then ID names it, see IDOf.
	Message store.MessageKey `cbor:"2,keyasint,omitempty"`
	ID      store.ID         `cbor:"3,keyasint,omitempty"`
	Label   model.Label      `cbor:"4,keyasint"`
	// Source is one of SourceExplicit, SourceMark, SourceFlagged, SourceAnswered,
	// SourceMoved and SourceJunk.
	Source store.Source `cbor:"5,keyasint"`
	// Origin comes back with the feedback if it waits in vain. No more than
	// MaxRecord bytes of its Record are kept.
	Origin store.Origin `cbor:"6,keyasint,omitempty"`
}

func (e *Told) at() store.Moment { return e.At }

// Expired is feedback that waited for its message in vain.
type Expired struct {
	Feedback store.Early
	// Displaced: it had to make room for newer feedback; otherwise its time was
	// over.
	Displaced bool
}

// Validate reports why e is no feedback, or nil; Apply refuses what it refuses.
func (e *Told) Validate() error {
	switch {
	case e.Message == (store.MessageKey{}) && e.ID == 0:
		return fmt.Errorf("%w: feedback names no message", ErrBadEvent)
	case e.Label != model.Important && e.Label != model.Ordinary:
		return fmt.Errorf("%w: feedback has the label %d", ErrBadEvent, e.Label)
	case e.Source <= store.SourceSilence || e.Source > store.SourceExplicit:
		return fmt.Errorf("%w: feedback has the source %d", ErrBadEvent, e.Source)
	default:
		return nil
	}
}

func (f *Filter) applyTold(e *Told, r *Result) error {
	if err := e.Validate(); err != nil {
		return err
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	f.noteActivity()
	k := e.Message
	if k == (store.MessageKey{}) {
		id, _ := f.st.IDs.Get(e.ID.Key())
		k = id.Message
	}
	mk := string(k[:])
	m, known := f.st.Messages.Get(mk)
	if !known {
		f.keepEarly(e, r)
		return nil
	}
	if err := f.hear(k, &m, said{e.Label, e.Source}, false, r); err != nil {
		return err
	}
	f.st.Messages.Put(mk, m)
	return nil
}

// hear is tell for feedback that came by name: it says that a mark was taken off
// where a flag that is gone would show it.
func (f *Filter) hear(k store.MessageKey, m *store.Message, what said, away bool, r *Result) error {
	if what == (said{model.Ordinary, store.SourceMark}) && m.Outcome != store.Undecided {
		f.refuse(k, m, "")
	}
	return f.tell(k, m, what, away, r)
}

// earlyIndex finds the feedback that waits for a message. It is derived from the
// table.
type earlyIndex struct {
	byMessage map[store.MessageKey][]uint64
	byID      map[store.ID][]uint64
	first     uint64 // no number below it waits
}

func newEarlyIndex(st *store.State) earlyIndex {
	ix := earlyIndex{map[store.MessageKey][]uint64{}, map[store.ID][]uint64{}, st.Account.EarlyNext}
	for i, key := range st.Early.Keys() {
		n := store.LedgerNumber(key)
		if i == 0 {
			ix.first = n
		}
		row, _ := st.Early.Get(key)
		ix.add(n, row)
	}
	return ix
}

func (ix *earlyIndex) add(n uint64, row store.Early) {
	if row.Message != (store.MessageKey{}) {
		ix.byMessage[row.Message] = append(ix.byMessage[row.Message], n)
	} else {
		ix.byID[row.ID] = append(ix.byID[row.ID], n)
	}
}

func (ix *earlyIndex) remove(n uint64, row store.Early) {
	if row.Message != (store.MessageKey{}) {
		removeFrom(ix.byMessage, row.Message, n)
	} else {
		removeFrom(ix.byID, row.ID, n)
	}
}

func removeFrom[K comparable](m map[K][]uint64, key K, n uint64) {
	rest := slices.DeleteFunc(m[key], func(other uint64) bool { return other == n })
	if len(rest) == 0 {
		delete(m, key)
	} else {
		m[key] = rest
	}
}

// dropEarly takes one entry out of the table and the index.
func (f *Filter) dropEarly(n uint64) store.Early {
	key := store.LedgerKey(n)
	row, _ := f.st.Early.Get(key)
	f.st.Early.Delete(key)
	f.early.remove(n, row)
	return row
}

// oldestEarly returns the entry that has waited longest. Numbers ascend with
// Since.
func (f *Filter) oldestEarly() (n uint64, row store.Early, ok bool) {
	for ; f.early.first < f.st.Account.EarlyNext; f.early.first++ {
		if row, ok = f.st.Early.Get(store.LedgerKey(f.early.first)); ok {
			return f.early.first, row, true
		}
	}
	return 0, store.Early{}, false
}

// keepEarly lets feedback wait for its message; what is oldest makes room.
func (f *Filter) keepEarly(e *Told, r *Result) {
	row := store.Early{
		Message: e.Message, ID: e.ID, Label: e.Label, Source: e.Source, Since: f.st.Account.Clock, Origin: e.Origin,
	}
	if len(row.Origin.Record) > MaxRecord {
		row.Origin.Record, row.Origin.Cut = row.Origin.Record[:MaxRecord], true
	}
	row.Origin.Record = bytes.Clone(row.Origin.Record)
	n := f.st.Account.EarlyNext
	f.st.Account.EarlyNext++
	f.st.Early.Put(store.LedgerKey(n), row)
	f.early.add(n, row)
	for f.st.Early.Len() > f.opts.Limits.Early {
		n, _, _ := f.oldestEarly()
		f.expire(n, true, r)
	}
	f.expireEarly(r)
}

func (f *Filter) expire(n uint64, displaced bool, r *Result) {
	r.Expired = append(r.Expired, Expired{f.dropEarly(n), displaced})
}

// earlyDue reports whether early feedback will have waited long enough by then.
func (f *Filter) earlyDue(now store.Moment) bool {
	_, row, ok := f.oldestEarly()
	return ok && row.Since.Add(f.opts.EarlyFor) <= now
}

// expireEarly gives up the feedback whose time is over.
func (f *Filter) expireEarly(r *Result) {
	for f.earlyDue(f.st.Account.Clock) {
		f.expire(f.early.first, false, r)
	}
}

// hearEarly hears, in the order in which it came, what was said of a message
// before it came. The caller puts m.
func (f *Filter) hearEarly(k store.MessageKey, m *store.Message, r *Result) error {
	waiting := slices.Clone(f.early.byMessage[k])
	if m.ID != 0 {
		waiting = append(waiting, f.early.byID[m.ID]...)
		slices.Sort(waiting)
	}
	for _, n := range waiting {
		row := f.dropEarly(n)
		if err := f.hear(k, m, said{row.Label, row.Source}, arrivalIsOneByOne, r); err != nil {
			return err
		}
	}
	return nil
}
