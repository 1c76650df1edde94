// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/store"
)

// An owner who changes more than Options.Bulk messages in the same way at once tidies
// up, and has no opinion on any one of them. What is at once? Seen live, it is within
// one settle window. Found after an absence, it is what one command did, which the
// server tells by giving one number (MODSEQ) to all of it; what merely was found at
// once may be the corrections of a week.

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

// dropBulk withdraws the label that e waits for, and all like it that came at once,
// when there are more than Options.Bulk of them, or when they belong to those that were
// withdrawn just before. It reports whether it did.
func (f *Teacher) dropBulk(e settleEntry, r *Result) bool {
	first, _ := f.st.Messages.Get(string(e.key[:]))
	if f.opts.Bulk == 0 || first.Pending.Single {
		return false
	}
	var alike []store.MessageKey
	last := first.Pending.Since
	for _, other := range f.Waits.settling {
		m, ok := f.st.Messages.Get(string(other.key[:]))
		if p := m.Pending; ok && p.Since == other.since && f.Waits.atOnce(first.Pending, p) {
			alike = append(alike, other.key)
			last = max(last, p.Since)
		}
	}
	if len(alike) <= f.opts.Bulk && !f.Waits.continues(first.Pending) {
		return false
	}
	for _, k := range alike {
		mk := string(k[:])
		m, _ := f.st.Messages.Get(mk)
		m.Pending = store.Pending{}
		f.Voice.ground(k, &m, nil)
		f.st.Messages.Put(mk, m)
	}
	a := &f.st.Account
	a.CleanUp = store.CleanUp{Label: first.Pending.Label, Source: first.Pending.Source, Batch: first.Pending.Batch, Last: last}
	a.Bulk += uint64(len(alike))
	r.Withdrawn += len(alike)
	return true
}

// atOnce reports whether a pending label, no earlier than the first, is alike and came
// at once with it.
func (f *Waits) atOnce(first, p store.Pending) bool {
	return p.Label == first.Label && p.Source == first.Source && !p.Single && p.Batch == first.Batch &&
		p.Since <= first.Since.Add(f.opts.Settle)
}

// continues reports whether a pending label belongs to the last clean-up: a large one
// takes longer to be seen whole than the settle window lasts.
func (f *Waits) continues(p store.Pending) bool {
	c := f.st.Account.CleanUp
	return p.Label == c.Label && p.Source == c.Source && p.Batch == c.Batch &&
		(p.Batch != 0 || p.Since <= c.Last.Add(f.opts.Settle))
}
