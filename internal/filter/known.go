// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Known returns what a source resumes from.
func (f *Filter) Known() []ingest.Known {
	st := f.st
	var out []ingest.Known
	at := map[string]int{}
	for _, name := range st.Boxes.Keys() {
		b, _ := st.Boxes.Get(name)
		if b.UIDNext <= 1 && b.BacklogBefore == 0 {
			// Opened, but killed before the first position was committed: what lies
			// in it must still count as backlog, so begin as if it were new.
			continue
		}
		at[name] = len(out)
		out = append(out, ingest.Known{
			Mailbox: name, UIDValidity: b.UIDValidity, UIDNext: b.UIDNext, HighestModSeq: b.HighestModSeq,
			BacklogBefore: b.BacklogBefore, Restored: b.RestoredBefore == store.RestoredPending, Flags: map[uint32][]string{},
		})
	}
	for _, k := range st.Places.Keys() {
		name, uid := store.SplitPlaceKey(k)
		if i, ok := at[name]; ok {
			p, _ := st.Places.Get(k)
			out[i].Flags[uid] = p.Flags
		}
	}
	return out
}

// Places returns where messages lie, for those that is picks. Those of one message begin
// with the ones in INBOX; the others come in order of mailbox and UID. It looks at every
// place that there is.
func (f *Filter) Places(is func(store.MessageKey) bool) map[store.MessageKey][]ingest.Place {
	out := map[store.MessageKey][]ingest.Place{}
	for _, key := range f.st.Places.Find(func(p store.Place) bool { return is(p.Message) }) {
		p, _ := f.st.Places.Get(key)
		mailbox, uid := store.SplitPlaceKey(key)
		b, ok := f.st.Boxes.Get(mailbox)
		if !ok {
			continue
		}
		out[p.Message] = append(out[p.Message], ingest.Place{Mailbox: mailbox, UIDValidity: b.UIDValidity, UID: uid})
	}
	first := func(p ingest.Place) int {
		if b, _ := f.st.Boxes.Get(p.Mailbox); ingest.Role(b.Role) == ingest.RoleInbox {
			return 0
		}
		return 1
	}
	for _, places := range out {
		slices.SortStableFunc(places, func(a, b ingest.Place) int { return cmp.Compare(first(a), first(b)) })
	}
	return out
}
