// SPDX-License-Identifier: Apache-2.0

package past

import (
	"errors"
	"maps"
	"slices"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/store"
)

// ForgetRequested takes out of an account whatever it remembers of a message, of a sender,
// or of the time before a moment: one of the three.
//
// The lessons concerned are taken back; so are the rows of the messages, their
// frozen features with the words in them, their Message-IDs, their part in the
// counts of their senders and threads, their labels and scores in the windows,
// their entries of the ledger, and feedback that waits for them. Of a sender the row
// goes, too, with how often the owner wrote there. What stays: where a message lies,
// without which it would be taken for new; the running numbers and the sums of what was
// decided and marked, which tell of nobody; the hashes of messages whose mark the owner
// refused, or that bear a mark of ours; and the decisions on other messages, as they
// were taken.
type ForgetRequested struct {
	At store.Moment `cbor:"1,keyasint,omitempty"`
	// Key or ID name a message: all copies of it that have the ID.
	Key store.MessageKey `cbor:"2,keyasint,omitempty"`
	ID  store.ID         `cbor:"3,keyasint,omitempty"`
	// Sender is the SenderOf of the first address in From.
	Sender store.ID `cbor:"4,keyasint,omitempty"`
	// Before is the first moment that is remembered still.
	Before store.Moment `cbor:"5,keyasint,omitempty"`
}

// ErrForgetRequest is wrapped when a request names nothing or several things.
var ErrForgetRequest = errors.New("name one thing to forget: a message, a sender or a moment")

// forgetting is what a ForgetRequested is about.
type forgetting struct {
	f      *filter.Filter
	st     *store.State
	event  *ForgetRequested
	before store.Moment

	messages map[store.MessageKey]struct{}
	ids      map[store.ID]struct{} // Message-IDs
	senders  []string              // keys of those that go whole
	ledger   []uint64              // numbers
	early    []string              // keys of feedback that waits
	known    int                   // rows found of messages and Message-IDs
	seq      uint64                // with before: the number of the first message that stays
}

func planForgetting(f *filter.Filter, e *ForgetRequested) (*forgetting, error) {
	named := 0
	for _, is := range []bool{e.Key != store.MessageKey{} || e.ID != 0, e.Sender != 0, e.Before != 0} {
		if is {
			named++
		}
	}
	if named != 1 {
		return nil, ErrForgetRequest
	}
	g := &forgetting{
		f: f, st: f.State(), event: e, before: e.Before, seq: f.State().Account.Messages + 1,
		messages: map[store.MessageKey]struct{}{}, ids: map[store.ID]struct{}{},
	}
	g.findMessages()
	g.findIDs()
	g.findEarly()
	for k, s := range g.st.Senders.All() {
		if e.Sender != 0 && k == e.Sender.Key() || e.Before != 0 && s.Seq < g.seq {
			g.senders = append(g.senders, k)
		}
	}
	if _, booked := g.st.Book.Get(e.Sender.Key()); booked {
		g.known++
	}
	g.ledger = f.Ledger().Entries.About(func(entry store.LedgerEntry) bool {
		about := entry.Letter == "" && (g.id(entry.ID) || g.message(entry.Message))
		return about || entry.Intended < e.Before
	})
	return g, nil
}

// findMessages gathers the messages, and the number of the first that stays.
func (g *forgetting) findMessages() {
	e, st := g.event, g.st
	id := e.ID
	if m, ok := st.Messages.Get(string(e.Key[:])); ok && id == 0 {
		id = m.ID
	}
	if id != 0 {
		g.ids[id] = struct{}{}
	}
	for k, m := range st.Messages.All() {
		key := store.MessageKey([]byte(k))
		if e.Before != 0 && m.Arrived >= e.Before {
			g.seq = min(g.seq, m.Seq)
		}
		if key == e.Key || id != 0 && m.ID == id || e.Sender != 0 && m.Sender == e.Sender || m.Arrived < e.Before {
			g.known++
			g.messages[key] = struct{}{}
			if m.ID != 0 {
				g.ids[m.ID] = struct{}{}
			}
		}
	}
	if e.Key != (store.MessageKey{}) {
		g.messages[e.Key] = struct{}{}
	}
}

// findIDs gathers the Message-IDs, and the messages that are known by them alone.
func (g *forgetting) findIDs() {
	e, st := g.event, g.st
	for k, known := range st.IDs.All() {
		if g.id(idOfKey(k)) || g.message(known.Message) || e.Sender != 0 && known.Sender == e.Sender || known.Seq < g.seq && e.Before != 0 {
			g.ids[idOfKey(k)] = struct{}{}
			g.messages[known.Message] = struct{}{}
			g.known++
		}
	}
}

func (g *forgetting) findEarly() {
	st := g.st
	for k, row := range st.Early.All() {
		if g.id(row.ID) || g.message(row.Message) || row.Since < g.before {
			g.early = append(g.early, k)
			g.known++
		}
	}
}

// id reports whether a Message-ID is forgotten.
func (g *forgetting) id(id store.ID) bool { _, is := g.ids[id]; return is && id != 0 }

// message reports whether a message is forgotten.
func (g *forgetting) message(k store.MessageKey) bool { _, is := g.messages[k]; return is }

// learnt reports whether a lesson is.
func (g *forgetting) learnt(l *store.Lesson) bool {
	return g.message(l.Message) || g.event.Sender != 0 && l.Sender == g.event.Sender || l.At < g.before
}

// any reports whether anything is known of what is to be forgotten, its lessons
// apart.
func (g *forgetting) any() bool { return g.known > 0 || len(g.senders) > 0 || len(g.ledger) > 0 }

// more reports whether the account remembers, or may have, more lessons of what is forgotten
// than those that are kept of it, gone.
func (g *forgetting) more(gone []store.Lesson) bool {
	all, ofSender, remembered := 0, 0, 0
	for i := range gone {
		if !gone[i].Learnt() {
			continue
		}
		if all++; gone[i].Sender == g.event.Sender {
			ofSender++
		}
	}
	for k := range g.messages {
		m, _ := g.st.Messages.Get(string(k[:]))
		remembered += int(m.Lessons)
	}
	if remembered > all || g.event.Sender == 0 {
		return remembered > all
	}
	s, known := g.st.Senders.Get(g.event.Sender.Key())
	return int(s.Lessons) > ofSender || s.Uncounted || !known && g.st.Account.Uncounted
}

func (g *forgetting) count(r *Rewritten) {
	for k := range g.messages {
		if _, ok := g.st.Messages.Get(string(k[:])); ok {
			r.Messages++
		}
	}
	r.Marks, r.Senders = len(g.ledger), len(g.senders)
}

func idOfKey(k string) store.ID { return store.ID(store.LedgerNumber(k)) }

// finish scrubs the state.
func (g *forgetting) finish() {
	st := g.st
	g.forgetHistory()
	for k := range g.messages {
		st.Messages.Delete(string(k[:]))
	}
	st.Account.ReadRun.Keys = slices.DeleteFunc(slices.Clone(st.Account.ReadRun.Keys), g.message)
	st.Book.Delete(g.event.Sender.Key())
	g.f.Ledger().Forget(g.ledger)
	g.f.Ledger().Letters.ForgetAsked(g.message)
	for _, k := range g.early {
		st.Early.Delete(k)
	}
	for k, p := range st.Places.All() {
		// The place itself is not forgotten: what lies there would be new then.
		if g.message(p.Message) {
			st.Places.Put(k, store.Place{Flags: p.Flags, Letter: p.Letter})
		}
	}
	if g.before > st.Account.HistoryFrom {
		st.Account.HistoryFrom = g.before // what turns up elsewhere is never marked
	}
}

// forgetHistory takes the messages out of the history of senders and threads, as
// note had entered them, each Message-ID once. Threads that were named after a
// message that goes are named after the oldest one that stays.
func (g *forgetting) forgetHistory() {
	st := g.st
	threads := map[store.ID]struct{}{}
	for k, known := range st.IDs.All() {
		if !g.id(idOfKey(k)) {
			continue
		}
		st.IDs.Delete(k)
		threads[known.Thread] = struct{}{}
		g.forgetSenderOf(known)
		if t, ok := st.Threads.Get(known.Thread.Key()); ok {
			t.Messages -= min(t.Messages, 1)
			if known.Own {
				t.ByOwner -= min(t.ByOwner, 1)
			}
			if known.Answered {
				t.Answered -= min(t.Answered, 1)
			}
			st.Threads.Put(known.Thread.Key(), t)
		}
	}
	for k, m := range st.Messages.All() {
		if !g.message(store.MessageKey([]byte(k))) {
			continue
		}
		if m.ID == 0 && !m.Own && !g.f.People.Doubtful(&m) { // it was counted all the same
			g.forgetOf(m.Sender, false)
		}
		g.f.Unhandle(&m)
	}
	g.settleThreads(threads)
	for _, k := range g.senders {
		g.forgetSender(k)
	}
	if g.before == 0 {
		return
	}
	for k, t := range st.Threads.All() {
		if t.Seq < g.seq {
			st.Threads.Delete(k)
		}
	}
}

// forgetSender forgets a sender, but for the number of their lessons where some stay: a later
// message for which nobody vouches may have given one.
func (g *forgetting) forgetSender(key string) {
	s, _ := g.st.Senders.Get(key)
	if g.before == 0 || s.Lessons == 0 {
		g.st.Senders.Delete(key)
		return
	}
	g.st.Senders.Put(key, store.Sender{Seq: s.Seq, Lessons: s.Lessons})
}

// forgetSenderOf takes what was known by one Message-ID out of what is remembered of its
// sender, and of whom its answer was counted for.
func (g *forgetting) forgetSenderOf(known store.KnownID) {
	if !known.Own && !known.Doubtful {
		g.forgetOf(known.Sender, known.Answered && known.Credited == 0)
	}
	if s, ok := g.st.Senders.Get(known.Credited.Key()); ok && known.Credited != 0 {
		s.Answered -= min(s.Answered, 1)
		g.st.Senders.Put(known.Credited.Key(), s)
	}
}

// forgetOf takes one message out of what is remembered of its sender.
func (g *forgetting) forgetOf(sender store.ID, answered bool) {
	s, ok := g.st.Senders.Get(sender.Key())
	if !ok || sender == 0 {
		return
	}
	s.Received -= min(s.Received, 1)
	if answered {
		s.Answered -= min(s.Answered, 1)
	}
	if s.Received == 0 && s.Answered == 0 && s.Written == 0 && s.Lessons == 0 {
		g.st.Senders.Delete(sender.Key())
		return
	}
	g.st.Senders.Put(sender.Key(), s)
}

// threadRest is what stays of a thread that lost messages.
type threadRest struct {
	ids   []string // keys, in their order
	last  uint64   // Seq of the owner's last
	first store.ID // the oldest
	begun uint64   // Seq of that
}

// settleThreads brings the threads that lost messages in order.
func (g *forgetting) settleThreads(threads map[store.ID]struct{}) {
	st := g.st
	left := map[store.ID]*threadRest{}
	for k, known := range st.IDs.All() {
		if _, is := threads[known.Thread]; !is {
			continue
		}
		r := left[known.Thread]
		if r == nil {
			r = new(threadRest)
			left[known.Thread] = r
		}
		r.ids = append(r.ids, k)
		if known.Own {
			r.last = max(r.last, known.Seq)
		}
		if r.begun == 0 || known.Seq < r.begun {
			r.begun, r.first = known.Seq, idOfKey(k)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(threads)) {
		if r := left[id]; r != nil {
			g.settleThread(id, r)
		} else if _, ok := st.Threads.Get(id.Key()); ok {
			st.Threads.Delete(id.Key())
		}
	}
}

func (g *forgetting) settleThread(id store.ID, r *threadRest) {
	st := g.st
	t, ok := st.Threads.Get(id.Key())
	t.Since = 0
	for _, k := range r.ids {
		if known, _ := st.IDs.Get(k); known.Seq > r.last {
			t.Since++
		}
	}
	if g.id(id) {
		for _, k := range r.ids {
			known, _ := st.IDs.Get(k)
			known.Thread = r.first
			st.IDs.Put(k, known)
		}
		st.Threads.Delete(id.Key())
		id = r.first
		if other, there := st.Threads.Get(id.Key()); there {
			t.Messages, t.ByOwner, t.Answered = t.Messages+other.Messages, t.ByOwner+other.ByOwner, t.Answered+other.Answered
			t.Seq = max(t.Seq, other.Seq)
		}
	}
	if ok {
		st.Threads.Put(id.Key(), t)
	}
}
