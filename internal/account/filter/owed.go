// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

const (
	// OpenDays is for how many days an unanswered letter is listed; then it is given up.
	OpenDays = 90
	day      = 24 * time.Hour
	// foundLate is how long after its arrival a message may be found, and still stand in its thread
	// where it belongs: mail of several mailboxes comes in any order, most of all after an absence.
	foundLate = 7 * day
	// foundAtOnce is how much later than it came any message may be found.
	foundAtOnce = 10 * time.Second
)

// came is Message.Came of a message that came at a moment by its source, and is met at clock.
func came(at, clock store.Moment) store.Moment {
	if at.Add(foundAtOnce) >= clock {
		return 0
	}
	return max(at, clock.Add(-foundLate))
}

// Open is a letter without an answer.
type Open struct {
	Message store.MessageKey
	Since   store.Moment // when it came, or was sent
	seq     uint64
}

func (o Open) compare(other Open) int {
	return cmp.Or(cmp.Compare(o.Since, other.Since), cmp.Compare(o.seq, other.seq))
}

// letter is what somebody wrote in a conversation. answers: it ends what others of the
// conversation wait for. open: it waits for an answer itself, unless it gets one.
type letter struct {
	Open
	in                 *conversation
	own, answers, open bool
}

// conversation is what is known of one thread while its letters are looked at.
type conversation struct {
	last, done  uint64 // the number of the last letter, and Message.Done
	muted       bool
	owed, asked []Open // without an answer until now, the oldest first
}

// Open returns the letters without an answer for so many days at now: owed are important ones of
// others to which the owner did not reply, awaited are those of the owner that asked something and
// to which nobody did. Of a thread only the oldest is listed; the newest comes first. It looks
// at the mail of the last OpenDays. What no person wrote is no letter.
//
// An answer in the thread ends an entry, as do muting it, a word of the owner's against it, moving
// the message to Archive, Junk or Trash, deleting it, and a Closed after which nothing came.
func (f *Messages) Open(now store.Moment, days int) (owed, awaited []Open) {
	threads, all := map[store.ID]*conversation{}, []*conversation{}
	var letters []letter
	for k, m := range f.Newest() {
		if m.Arrived < now.Add(-OpenDays*day) {
			break // those before it arrived earlier still
		}
		thread := f.threadOf(&m)
		c := threads[thread]
		if c == nil || thread == 0 {
			c = &conversation{}
			threads[thread], all = c, append(all, c)
		}
		c.done, c.muted = max(c.done, m.Done), c.muted || ingest.HasFlag(m.Heard, "$muted")
		role := ingest.Role(m.Role)
		if m.Claimed || role == ingest.RoleJunk || role == ingest.RoleDrafts || m.NoAnswer && !m.Own || m.Own && thread == 0 {
			continue
		}
		c.last = max(c.last, m.Seq)
		l := letter{Open{k, m.Arrived, m.Seq}, c, m.Own, !m.NoAnswer, false}
		if m.Came > 0 {
			l.Since = m.Came
		}
		l.open = l.Since <= now.Add(-time.Duration(days)*day) && (m.Own && m.Asks || !m.Own && f.isOwed(&m)) && f.lies(k, &m)
		letters = append(letters, l)
	}
	slices.SortFunc(letters, func(a, b letter) int { return a.compare(b.Open) })
	for i := range letters {
		letters[i].read()
	}
	for _, c := range all {
		if c.muted || c.done > 0 && c.done >= c.last {
			continue
		}
		owed = append(owed, c.owed[:min(1, len(c.owed))]...)
		awaited = append(awaited, c.asked[:min(1, len(c.asked))]...)
	}
	newest := func(a, b Open) int { return b.compare(a) }
	slices.SortFunc(owed, newest)
	slices.SortFunc(awaited, newest)
	return owed, awaited
}

// threadOf returns the thread of a message; 0: that is not known.
func (f *Messages) threadOf(m *store.Message) store.ID {
	id, known := f.st.IDs.Get(m.ID.Key())
	if !known || m.ID == 0 {
		return 0
	}
	return id.Thread
}

// read takes up a letter in its conversation, after those that came before.
func (l *letter) read() {
	ends, begins := &l.in.asked, &l.in.owed
	if l.own {
		ends, begins = begins, ends
	}
	if l.answers {
		*ends = nil
	}
	if l.open {
		*begins = append(*begins, l.Open)
	}
}

// isOwed reports whether a letter of somebody else's is important and has no answer. One that is
// not addressed to the owner, or was sent to many, is owed none unless they said that it matters.
func (f *Messages) isOwed(m *store.Message) bool {
	label, source := m.Label, m.Source
	if m.Pending.Label != 0 && !m.Pending.Back {
		label, source = m.Pending.Label, m.Pending.Source
	}
	id, _ := f.st.IDs.Get(m.ID.Key())
	switch {
	case m.ID != 0 && id.Answered, source == store.SourceAnswered, ingest.HasFlag(m.Heard, `\answered`):
		return false
	case label == model.Ordinary && isWord(source):
		return false
	case label == model.Important && isWord(source) && source != store.SourceForwarded && source != store.SourceMoved:
		return true
	}
	return m.Outcome == store.DecidedImportant && m.Personal && m.Reason != store.ReasonLookalike
}

// lies reports whether a message lies where mail waits to be dealt with; of the owner's own,
// whether it is there still. Mail of a stream lies nowhere.
func (f *Messages) lies(k store.MessageKey, m *store.Message) bool {
	if f.st.Boxes.Len() == 0 || m.Copies == 0 {
		return f.st.Boxes.Len() == 0
	}
	for at := range f.ledger.Places.Of(k) {
		switch role := f.ledger.Places.Role(at.Mailbox); {
		case role == ingest.RoleTrash || role == ingest.RoleJunk:
		case m.Own || !ledger.Excluded(role) && role != ingest.RoleArchive && !f.ledger.Copies.Is(k, at):
			return true
		}
	}
	return false
}

// KeepsSent reports whether the owner's own letters are seen at all: where a mailbox has them, or
// no mail lies in mailboxes.
func (f *Messages) KeepsSent() bool {
	return f.st.Boxes.Len() == 0 || len(f.st.Boxes.Find(func(b store.Mailbox) bool { return ingest.Role(b.Role) == ingest.RoleSent })) > 0
}

// Closed is the owner's word that nothing is left to answer in the thread of a message, until
// something more comes in it. ID, if it is not 0, names the message by its Message-ID.
type Closed struct {
	At      store.Moment     `cbor:"1,keyasint,omitempty"`
	Message store.MessageKey `cbor:"2,keyasint,omitzero"`
	ID      store.ID         `cbor:"3,keyasint,omitempty"`
}

func (e *Closed) apply(f *Filter, r *Result) error {
	key := e.Message
	if e.ID != 0 {
		key, _ = f.People.named(e.ID)
	}
	k := string(key[:])
	m, known := f.st.Messages.Get(k)
	if n := f.st.Account.Messages; !known || m.Done == n {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	m, _ = f.st.Messages.Get(k)
	m.Done = f.st.Account.Messages
	f.st.Messages.Put(k, m)
	return nil
}
