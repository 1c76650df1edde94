// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"slices"

	"github.com/hinged/hinged/store"
)

// MaxRecord is how many bytes of the record behind an early label are kept.
const MaxRecord = 4096

// Expired is feedback that waited for its message in vain.
type Expired struct {
	Feedback store.Early
	// Displaced: it had to make room for newer feedback. Unsure: it came in time, but
	// several messages have its Message-ID. Otherwise its time was over.
	Displaced, Unsure bool
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

func removeFrom[K, V comparable](m map[K][]V, key K, v V) {
	rest := slices.DeleteFunc(m[key], func(other V) bool { return other == v })
	if len(rest) == 0 {
		delete(m, key)
	} else {
		m[key] = rest
	}
}

// dropEarly takes one entry out of the table and the index.
func (f *Waits) dropEarly(n uint64) store.Early {
	key := store.LedgerKey(n)
	row, _ := f.st.Early.Get(key)
	f.st.Early.Delete(key)
	f.early.remove(n, row)
	return row
}

// oldestEarly returns the entry that has waited longest. Numbers ascend with
// Since.
func (f *Waits) oldestEarly() (n uint64, row store.Early, ok bool) {
	for ; f.early.first < f.st.Account.EarlyNext; f.early.first++ {
		if row, ok = f.st.Early.Get(store.LedgerKey(f.early.first)); ok {
			return f.early.first, row, true
		}
	}
	return 0, store.Early{}, false
}

// early returns e as it is kept.
func (e *Labelled) early(f *Waits) store.Early {
	row := store.Early{
		Message: e.Message, ID: e.ID, Label: e.Label, Source: e.source(), Since: f.st.Account.Clock, Origin: e.Origin,
	}
	if len(row.Origin.Record) > MaxRecord {
		row.Origin.Record, row.Origin.Cut = row.Origin.Record[:MaxRecord], true
	}
	row.Origin.Record = bytes.Clone(row.Origin.Record)
	return row
}

// refuseUnsure gives feedback back that may be about any of several messages.
func (f *Filter) refuseUnsure(e *Labelled, r *Result) {
	if e.Waits {
		r.Expired = append(r.Expired, Expired{Feedback: e.early(f.Waits), Unsure: true})
	}
}

// keepEarly lets feedback wait for its message; what is oldest makes room.
func (f *Waits) keepEarly(e *Labelled, r *Result) {
	row := e.early(f.Waits)
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

func (f *Waits) expire(n uint64, displaced bool, r *Result) {
	r.Expired = append(r.Expired, Expired{Feedback: f.dropEarly(n), Displaced: displaced})
}

// earlyDue reports whether early feedback will have waited long enough by then.
func (f *Waits) earlyDue(now store.Moment) bool {
	_, row, ok := f.oldestEarly()
	return ok && row.Since.Add(f.opts.EarlyFor) <= now
}

// expireEarly gives up the feedback whose time is over.
func (f *Waits) expireEarly(r *Result) {
	for f.earlyDue(f.st.Account.Clock) {
		f.expire(f.early.first, false, r)
	}
}

// hearEarly hears, in the order in which it came, what was said of a message
// before it came. The caller puts m.
func (f *Teacher) hearEarly(k store.MessageKey, m *store.Message, r *Result) error {
	waiting := slices.Clone(f.Waits.early.byMessage[k])
	if m.ID != 0 {
		waiting = append(waiting, f.Waits.early.byID[m.ID]...)
		slices.Sort(waiting)
	}
	for _, n := range waiting {
		row := f.Waits.dropEarly(n)
		if err := f.Voice.hear(k, m, said{label: row.Label, source: row.Source}, oneByOne, r); err != nil {
			return err
		}
	}
	return nil
}
