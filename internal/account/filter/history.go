// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/store"
)

const (
	maxParents    = 20
	maxRecipients = 50
)

// Meta is what the history needs of a message: hashes and nothing readable.
type Meta struct {
	Key        store.MessageKey `cbor:"1,keyasint"`
	ID         store.ID         `cbor:"2,keyasint,omitempty"` // of the Message-ID; 0: none
	Parents    []store.ID       `cbor:"3,keyasint,omitempty"` // In-Reply-To first, then References, newest first
	Replies    []store.ID       `cbor:"4,keyasint,omitempty"` // what it answers or passes on, where it is the owner's
	Root       store.ID         `cbor:"5,keyasint,omitempty"` // the oldest of References, or of In-Reply-To
	From       store.ID         `cbor:"6,keyasint,omitempty"` // first address of From; 0: none
	Recipients []store.ID       `cbor:"7,keyasint,omitempty"`
	// Own: the owner wrote it, by the word of somebody who knows. That is the server
	// that vouches for From, or a source that says so (ByOwner).
	Own     bool `cbor:"8,keyasint,omitempty"`
	Vouched bool `cbor:"9,keyasint,omitempty"` // see featurize.Message
	// Claimed: From names the owner, and nobody vouches for that.
	Claimed bool `cbor:"10,keyasint,omitempty"`
	// Doubtful: a server is believed, and it does not vouch for From.
	Doubtful bool `cbor:"11,keyasint,omitempty"`
	// Says and Topic are those of featurize.Message.
	Says  featurize.Says `cbor:"12,keyasint,omitempty"`
	Topic store.ID       `cbor:"13,keyasint,omitempty"`
	// Personal, Guise and Stored are those of featurize.Message.
	Personal bool            `cbor:"14,keyasint,omitempty"`
	Guise    featurize.Guise `cbor:"15,keyasint,omitzero"`
	Stored   bool            `cbor:"16,keyasint,omitempty"`
	Links    bool            `cbor:"17,keyasint,omitempty"` // featurize.Content.Links
	// Program and Asks are those of featurize.Message.
	Program bool `cbor:"18,keyasint,omitempty"`
	Asks    bool `cbor:"19,keyasint,omitempty"`
}

// ByOwner returns m as the owner's own message, whatever vouches for it: its source
// knows who wrote it.
func (m Meta) ByOwner() Meta {
	m.Own, m.Claimed = true, false
	return m
}

// hashID returns the ID of a Message-ID or an address; 0 for "".
func hashID(s string) store.ID {
	if s == "" {
		return 0
	}
	return store.ID(xxhash.Sum64String(s))
}

// IDOf returns the ID under which a message is known by its Message-ID, with or
// without angle brackets; 0 for none.
func IDOf(messageID string) store.ID {
	if _, after, found := strings.Cut(messageID, "<"); found {
		if inner, _, closed := strings.Cut(after, ">"); closed {
			messageID = inner
		}
	}
	return hashID(strings.TrimSpace(messageID))
}

// SenderOf returns the ID under which a sender is known by their address; 0 for
// none.
func SenderOf(address string) store.ID {
	return hashID(featurize.CanonicalAddress(address))
}

// IsOwner reports whether an address is one of the owner's.
func (f *People) IsOwner(address string) bool {
	return f.opts.Featurize.Owns(address)
}

// NewMeta takes from a message what the history needs. Anybody can write the owner's
// address into From, so the message is the owner's own only if the server vouches for
// it.
func NewMeta(m *featurize.Message) Meta {
	meta := Meta{
		Key: store.MessageKey(m.Key), ID: hashID(m.MessageID),
		Own: m.Own(), Vouched: m.Vouched, Claimed: m.FromOwner && !m.Vouched,
		Doubtful: m.Doubtful, Says: m.Says, Topic: store.ID(m.Topic), Personal: m.Personal, Guise: m.Guise, Stored: m.Stored,
		Links: m.Content.Links, Program: m.Program, Asks: m.Asks,
	}
	replies := min(len(m.InReplyTo), maxParents)
	parents := make([]store.ID, 0, min(replies+len(m.References), maxParents))
	for _, id := range m.InReplyTo[:replies] {
		parents = append(parents, hashID(id))
	}
	for _, id := range m.Answers[:min(len(m.Answers), maxParents)] {
		meta.Replies = append(meta.Replies, hashID(id))
	}
	meta.Parents = parents
	for i := len(m.References) - 1; i >= 0 && len(meta.Parents) < maxParents; i-- {
		if id := hashID(m.References[i]); !slices.Contains(meta.Parents, id) {
			meta.Parents = append(meta.Parents, id)
		}
	}
	switch {
	case len(m.References) > 0:
		meta.Root = hashID(m.References[0])
	case len(m.InReplyTo) > 0:
		meta.Root = hashID(m.InReplyTo[0])
	}
	if len(m.From) > 0 {
		meta.From = hashID(m.From[0])
	}
	meta.Recipients = make([]store.ID, 0, min(len(m.To)+len(m.Cc), maxRecipients))
	for _, list := range [...][]string{m.To, m.Cc} {
		for _, a := range list {
			if id := hashID(a); len(meta.Recipients) < maxRecipients && !slices.Contains(meta.Recipients, id) {
				meta.Recipients = append(meta.Recipients, id)
			}
		}
	}
	return meta
}

// thread finds the thread that a message belongs to: that of the nearest known parent, else the one
// named after the oldest message that it refers to, else its own.
func thread(st *store.State, m Meta) store.ID {
	for _, id := range m.Parents {
		if known, ok := st.IDs.Get(id.Key()); ok && known.Thread != 0 {
			return known.Thread
		}
	}
	if m.Root != 0 {
		return m.Root
	}
	return m.ID
}

// facts gathers what the account remembers, from earlier mail only, that helps to
// judge m. Call it before note.
func facts(st *store.State, m Meta) featurize.History {
	var h featurize.History
	if !m.Doubtful {
		c := correspondence(st, m.From)
		h.Received, h.Answered, h.Written, h.Kept, h.Left = c.Received, c.Answered, c.Written, c.Kept, c.Left
		_, h.Booked = st.Book.Get(m.From.Key())
	}
	id := thread(st, m)
	if t, ok := st.Threads.Get(id.Key()); ok && id != 0 {
		if h.ByOwner = t.ByOwner; h.ByOwner > 0 {
			h.Since = t.Since
		}
	}
	for _, id := range m.Parents {
		if parent, ok := st.IDs.Get(id.Key()); ok {
			h.ParentKnown, h.ParentOwn, h.ParentAnswered = true, parent.Own, parent.Answered
			h.ParentSender = parent.Sender == m.From && m.From != 0 && !m.Doubtful
			break
		}
	}
	return h
}

// Correspondence is what the account remembers of one sender.
type Correspondence struct {
	Received uint32 // messages from it
	Answered uint32 // of those, how many the owner answered
	Written  uint32 // messages of the owner to it
	Kept     uint32 // messages from it that the owner read and kept, or wanted
	Left     uint32 // messages from it that the owner left unread, threw away or did not want
}

// Correspondence returns what is remembered of the sender with an address's ID.
func (f *People) Correspondence(from store.ID) Correspondence { return correspondence(f.st, from) }

func correspondence(st *store.State, from store.ID) Correspondence {
	s, ok := st.Senders.Get(from.Key())
	if !ok || from == 0 {
		return Correspondence{}
	}
	return Correspondence{Received: s.Received, Answered: s.Answered, Written: s.Written, Kept: s.Read + s.Wanted, Left: s.Binned + s.Unread + s.Unwanted}
}

// note enters an arrival into the history. For a message of the owner's own it returns the known
// messages of others that it answers, in the order in which In-Reply-To names them; bind says which
// of several with one Message-ID.
//
// A Message-ID that is known already is another copy and changes nothing, but for the owner's own
// message of which a copy came before that only claimed to be the owner's.
func note(st *store.State, m Meta, limits Limits, bind binding) (answered []store.MessageKey) {
	known, again := st.IDs.Get(m.ID.Key())
	if again = again && m.ID != 0; again && (!m.Own || known.Own || known.Sender != m.From) {
		return nil
	}
	seq := st.Account.Messages
	id := thread(st, m)
	if m.Own {
		answered = noteAnswers(st, m, seq, bind)
		for _, to := range m.Recipients {
			changeSender(st, to, func(s *store.Sender) { s.Written, s.Seq = s.Written+1, seq })
		}
	} else if !m.Doubtful { // what others write under a name says nothing of its owner
		changeSender(st, m.From, func(s *store.Sender) { s.Received, s.Seq = s.Received+1, seq })
	}
	change(st.Threads, id, func(t *store.Thread) {
		if !again {
			t.Messages++
		}
		t.Since, t.Seq = t.Since+1, seq
		if m.Own {
			t.ByOwner, t.Since = t.ByOwner+1, 0
		}
	})
	change(st.IDs, m.ID, func(k *store.KnownID) {
		if again {
			k.Own, k.Seq = true, seq
			return
		}
		*k = store.KnownID{Thread: id, Sender: m.From, Message: m.Key, Seq: seq, Own: m.Own, Doubtful: m.Doubtful && !m.Own}
	})
	dropped(st, evict(st.Senders, limits.Senders, func(s store.Sender) uint64 { return s.Seq }))
	evict(st.Threads, limits.Threads, func(t store.Thread) uint64 { return t.Seq })
	evict(st.IDs, limits.IDs, func(k store.KnownID) uint64 { return k.Seq })
	return answered
}

// handle notes what the owner did with m, in place of what was noted before. What is done
// with a message whose sender is doubtful says nothing of whom it names. The caller puts m.
func (f *People) handle(m *store.Message, what store.Handling) {
	if f.Doubtful(m) {
		what = store.HandledNothing
	}
	if m.Handled == what {
		return
	}
	f.countReading(m.Handled, -1)
	f.countReading(what, 1)
	if _, known := f.st.Senders.Get(m.Sender.Key()); known && new(store.Sender).Handled(m.Handled) != nil {
		changeSender(f.st, m.Sender, func(s *store.Sender) {
			n := s.Handled(m.Handled)
			*n -= min(*n, 1)
		})
	}
	if new(store.Sender).Handled(what) != nil {
		changeSender(f.st, m.Sender, func(s *store.Sender) { *s.Handled(what)++ })
	}
	m.Handled = what
}

// TopicDays is for how long a message is answered by its subject alone.
const TopicDays = 30

// byTopic has an answer of the owner's without any reference refer to the newest message
// of the last days with the same subject that one of its recipients wrote.
func (f *People) byTopic(m *Meta) {
	if m.Says != featurize.SaysAnswer || len(m.Replies) > 0 || m.Topic == 0 {
		return
	}
	var last store.Message
	f.st.Messages.Each(func(_ string, row *store.Message) {
		if row.Topic == m.Topic && !row.Own && row.Seq > last.Seq && row.ID != 0 && slices.Contains(m.Recipients, row.Sender) && !f.Doubtful(row) &&
			!ledger.Excluded(ingest.Role(row.Role)) && row.Arrived.Add(TopicDays*24*time.Hour) >= f.st.Account.Clock {
			last = *row
		}
	})
	if last.ID != 0 {
		m.Replies, m.Parents = []store.ID{last.ID}, []store.ID{last.ID}
	}
}

// binding is People.answeredBy.
type binding func(reply Meta, id store.ID, known store.KnownID) (answered, bool)

// noteAnswers credits what the owner's message m answers to its sender and its
// thread, each message once.
func noteAnswers(st *store.State, m Meta, seq uint64, bind binding) (keys []store.MessageKey) {
	for _, id := range m.Replies {
		known, ok := st.IDs.Get(id.Key())
		if !ok || known.Own || id == 0 {
			continue
		}
		a, ok := bind(m, id, known)
		if !ok {
			continue
		}
		if a.key != (store.MessageKey{}) && !slices.Contains(keys, a.key) {
			keys = append(keys, a.key)
		}
		if known.Answered || m.Says == featurize.SaysForward {
			continue
		}
		known.Answered = true
		if !a.doubtful {
			changeSender(st, a.sender, func(s *store.Sender) { s.Answered, s.Seq = s.Answered+1, seq })
			if a.sender != known.Sender || known.Doubtful {
				known.Credited = a.sender
			}
		}
		st.IDs.Put(id.Key(), known)
		change(st.Threads, known.Thread, func(t *store.Thread) { t.Answered, t.Seq = t.Answered+1, seq })
	}
	return keys
}

// change puts the row of id back as f leaves it; id 0 has no row.
func change[V any](t *store.Table[V], id store.ID, f func(*V)) {
	if id == 0 {
		return
	}
	row, _ := t.Get(id.Key())
	f(&row)
	t.Put(id.Key(), row)
}

// evict brings a table that outgrew its limit down to nine tenths of it, so that the sort is paid
// rarely: the rows of least seq go, equals by key. It returns the rows that are gone.
func evict[V any](t *store.Table[V], limit int, seq func(V) uint64) (gone []V) {
	if t.Len() <= limit {
		return nil
	}
	ages := make([]age, 0, t.Len())
	for _, key := range t.Keys() {
		row, _ := t.Get(key)
		ages = append(ages, age{seq(row), key})
	}
	for _, a := range oldest(ages, limit) {
		row, _ := t.Get(a.key)
		gone = append(gone, row)
		t.Delete(a.key)
	}
	return gone
}

// age is when a row was last of use, and its key.
type age struct {
	seq uint64
	key string
}

// oldest returns those that go so that nine tenths of a limit are left; equals by key.
func oldest(ages []age, limit int) []age {
	slices.SortFunc(ages, func(a, b age) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.key, b.key)) })
	return ages[:len(ages)-limit*9/10]
}

// corresponds reports whether the owner has written to the sender of a message.
func (f *People) corresponds(from store.ID) bool { return f.Correspondence(from).Written > 0 }

// The row of a sender counts the lessons learnt from their messages, so that forget knows of those
// that are in no log any more. If a row with lessons is evicted, the account and all later rows are
// marked Uncounted, and forget refuses rather than claim too much.

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
	for _, a := range oldest(bare, maxBareSenders) {
		st.Senders.Delete(a.key)
	}
	st.Account.Uncounted = true
}
