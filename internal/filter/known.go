// SPDX-License-Identifier: Apache-2.0

package filter

import (
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
