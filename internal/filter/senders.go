// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"slices"

	"github.com/hinged/hinged/store"
)

// The row of a sender counts the lessons learnt from their messages, so that forget knows of
// those that are in no log any more and can't be taken out of the weights. Where a row that
// counts some has to go, the account notes it, and so does each row that begins later: then
// forget refuses rather than say what may not be true.

// maxBareSenders bounds the senders of whom nothing is remembered but how many lessons were
// learnt from their messages: some 20 bytes each in the file, three times.
const maxBareSenders = 1000

// changeSender is change for a sender's row.
func changeSender(st *store.State, id store.ID, f func(*store.Sender)) {
	if id == 0 {
		return
	}
	s, known := st.Senders.Get(id.Key())
	if !known {
		s.Uncounted = st.Account.Uncounted
	}
	f(&s)
	st.Senders.Put(id.Key(), s)
}

// NoteLesson counts a lesson on a message of a sender. They may have no row: nobody vouches
// for the message, or what was known of them is forgotten.
func NoteLesson(st *store.State, id store.ID) {
	changeSender(st, id, func(s *store.Sender) {
		if s.Lessons++; s.Received == 0 && s.Written == 0 && s.Answered == 0 {
			s.Seq = st.Account.Messages
		}
	})
}

// dropped hears which rows of senders are gone to keep to a limit.
func dropped(st *store.State, gone []store.Sender) {
	if slices.ContainsFunc(gone, func(s store.Sender) bool { return s.Lessons > 0 }) {
		st.Account.Uncounted = true
	}
}

// forgetSenders forgets the senders whose last message came before that number and to whom the
// owner never wrote. How many lessons were learnt from their messages stays.
func (f *People) forgetSenders(first uint64) {
	type age struct {
		seq uint64
		key string
	}
	st := f.st
	var bare []age
	for _, key := range st.Senders.Keys() {
		s, _ := st.Senders.Get(key)
		switch {
		case s.Seq >= first || s.Written > 0 || s.Answered > 0:
			continue
		case s.Lessons == 0:
			st.Senders.Delete(key)
			continue
		case s.Received > 0:
			s = store.Sender{Seq: s.Seq, Lessons: s.Lessons, Uncounted: s.Uncounted}
			st.Senders.Put(key, s)
		}
		bare = append(bare, age{s.Seq, key})
	}
	if len(bare) <= maxBareSenders {
		return
	}
	slices.SortFunc(bare, func(a, b age) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.key, b.key)) })
	for _, a := range bare[:len(bare)-maxBareSenders*9/10] {
		st.Senders.Delete(a.key)
	}
	st.Account.Uncounted = true
}
