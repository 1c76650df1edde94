package filter

import (
	"errors"
	"maps"
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// ForgetRequested takes out of an account whatever it remembers of a message, of a sender,
// or of the time before a moment: one of the three.
//
// The lessons concerned are taken back; so are the rows of the messages, their
// frozen features with the words in them, their Message-IDs, their part in the
// counts of their senders and threads, their labels and scores in the windows,
// their entries of the ledger, and feedback that waits for them. Of a sender the row goes, too, with how often the
// owner wrote there. What stays: where a message lies, without which it would be
// taken for new; the running numbers and the sums of what was decided and marked,
// which tell of nobody; the hashes of messages whose mark the owner refused, or
// that bear a mark of ours; and the decisions on other messages, as they were
// taken.
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
var ErrForgetRequest = errors.New("say one of a message, a sender and a moment to forget")

// forgetting is what a ForgetRequested is about.
type forgetting struct {
	f      *Filter
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

func (f *Filter) planForgetting(e *ForgetRequested) (*forgetting, error) {
	g := &forgetting{f: f, event: e, before: e.Before, messages: map[store.MessageKey]struct{}{}, ids: map[store.ID]struct{}{}}
	named := 0
	for _, is := range []bool{e.Key != store.MessageKey{} || e.ID != 0, e.Sender != 0, e.Before != 0} {
		if is {
			named++
		}
	}
	if named != 1 {
		return nil, ErrForgetRequest
	}
	id := e.ID
	if m, ok := f.st.Messages.Get(string(e.Key[:])); ok && id == 0 {
		id = m.ID
	}
	g.seq = f.st.Account.Messages + 1
	for _, k := range f.st.Messages.Keys() {
		m, _ := f.st.Messages.Get(k)
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
	if id != 0 {
		g.ids[id] = struct{}{}
	}
	if e.Key != (store.MessageKey{}) {
		g.messages[e.Key] = struct{}{}
	}
	for _, k := range f.st.IDs.Keys() {
		known, _ := f.st.IDs.Get(k)
		if _, is := g.ids[idOfKey(k)]; is || g.message(known.Message) || e.Sender != 0 && known.Sender == e.Sender || known.Seq < g.seq && e.Before != 0 {
			g.ids[idOfKey(k)] = struct{}{}
			g.messages[known.Message] = struct{}{}
			g.known++
		}
	}
	for _, k := range f.st.Early.Keys() {
		row, _ := f.st.Early.Get(k)
		if _, is := g.ids[row.ID]; is && row.ID != 0 || g.message(row.Message) || row.Since < e.Before {
			g.early = append(g.early, k)
			g.known++
		}
	}
	for _, k := range f.st.Senders.Keys() {
		if s, _ := f.st.Senders.Get(k); e.Sender != 0 && k == e.Sender.Key() || e.Before != 0 && s.Seq < g.seq {
			g.senders = append(g.senders, k)
		}
	}
	g.ledger = f.ledger.about(func(entry store.LedgerEntry) bool {
		_, is := g.ids[entry.ID]
		return is && entry.ID != 0 || g.message(entry.Message) || entry.Intended < e.Before
	})
	return g, nil
}

// message reports whether a message is forgotten.
func (g *forgetting) message(k store.MessageKey) bool { _, is := g.messages[k]; return is }

// learnt reports whether a lesson is.
func (g *forgetting) learnt(l *store.Lesson) bool {
	return g.message(l.Message) || g.event.Sender != 0 && l.Sender == g.event.Sender || l.At < g.before
}

// any reports whether anything is known of what is to be forgotten, its lessons
// apart.
func (g *forgetting) any() bool { return g.known > 0 || len(g.senders) > 0 || len(g.ledger) > 0 }

// lessons is how many the account remembers to have learnt from the messages.
func (g *forgetting) lessons() int {
	s, known := g.f.st.Senders.Get(g.event.Sender.Key())
	if known && g.event.Sender != 0 {
		return int(s.Lessons)
	}
	n := 0
	for k := range g.messages {
		m, _ := g.f.st.Messages.Get(string(k[:]))
		n += int(m.Lessons)
	}
	return n
}

func (g *forgetting) count(r *Rewritten) {
	for k := range g.messages {
		if _, ok := g.f.st.Messages.Get(string(k[:])); ok {
			r.Messages++
		}
	}
	r.Marks, r.Senders = len(g.ledger), len(g.senders)
}

func idOfKey(k string) store.ID { return store.ID(store.LedgerNumber(k)) }

// finish scrubs the state.
func (g *forgetting) finish() {
	st := g.f.st
	g.forgetHistory()
	for _, k := range st.Messages.Keys() {
		if g.message(store.MessageKey([]byte(k))) {
			st.Messages.Delete(k)
		}
	}
	for _, k := range st.Labelled.Keys() {
		// Of what only the threshold heard before the oldest lesson kept, the score stays.
		if s, _ := st.Labelled.Get(k); g.message(s.Message) {
			s.Message = store.MessageKey{}
			st.Labelled.Put(k, s)
		}
	}
	g.f.ledger.forget(g.ledger)
	for _, k := range g.early {
		st.Early.Delete(k)
	}
	for _, k := range st.Places.Keys() {
		// The place itself is not forgotten: what lies there would be new then.
		if p, _ := st.Places.Get(k); g.message(p.Message) {
			st.Places.Put(k, store.Place{Flags: p.Flags})
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
	st := g.f.st
	threads := map[store.ID]struct{}{}
	for _, k := range st.IDs.Keys() {
		if _, is := g.ids[idOfKey(k)]; !is {
			continue
		}
		known, _ := st.IDs.Get(k)
		st.IDs.Delete(k)
		threads[known.Thread] = struct{}{}
		if !known.Own {
			g.forgetOf(known.Sender, known.Answered)
		}
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
	for _, k := range st.Messages.Keys() {
		// One without a Message-ID was counted all the same.
		if m, _ := st.Messages.Get(k); g.message(store.MessageKey([]byte(k))) && m.ID == 0 && !m.Own {
			g.forgetOf(m.Sender, false)
		}
	}
	g.settleThreads(threads)
	for _, k := range g.senders {
		st.Senders.Delete(k)
	}
	if g.before == 0 {
		return
	}
	for _, k := range st.Threads.Keys() {
		if t, _ := st.Threads.Get(k); t.Seq < g.seq {
			st.Threads.Delete(k)
		}
	}
}

// forgetOf takes one message out of what is remembered of its sender.
func (g *forgetting) forgetOf(sender store.ID, answered bool) {
	s, ok := g.f.st.Senders.Get(sender.Key())
	if !ok || sender == 0 {
		return
	}
	s.Received -= min(s.Received, 1)
	if answered {
		s.Answered -= min(s.Answered, 1)
	}
	if s.Received == 0 && s.Answered == 0 && s.Written == 0 {
		g.f.st.Senders.Delete(sender.Key())
		return
	}
	g.f.st.Senders.Put(sender.Key(), s)
}

// settleThreads brings the threads that lost messages in order.
func (g *forgetting) settleThreads(threads map[store.ID]struct{}) {
	st := g.f.st
	type rest struct {
		ids   []string // that stay
		last  uint64   // Seq of the owner's last
		first store.ID // the oldest that stays
		begun uint64
		since uint32
	}
	left := map[store.ID]*rest{}
	for _, k := range st.IDs.Keys() {
		known, _ := st.IDs.Get(k)
		if _, is := threads[known.Thread]; !is {
			continue
		}
		r := left[known.Thread]
		if r == nil {
			r = new(rest)
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
		t, ok := st.Threads.Get(id.Key())
		r := left[id]
		if r == nil {
			if ok {
				st.Threads.Delete(id.Key())
			}
			continue
		}
		for _, k := range r.ids {
			if known, _ := st.IDs.Get(k); known.Seq > r.last {
				r.since++
			}
		}
		t.Since = r.since
		if _, gone := g.ids[id]; gone {
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
}

// ours returns the marks of an arrival that was forgotten with a mark of ours on
// it.
func (f *Filter) ours(e *Arrived) []string {
	if _, ours := f.ledger.refused(e.Meta.Key, e.Meta.ID); !ours {
		return nil
	}
	var marks []string
	for _, flag := range e.Flags {
		if f.opts.isMark(flag) {
			marks = append(marks, ingest.CanonicalFlag(flag))
		}
	}
	return marks
}
