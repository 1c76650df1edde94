// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Arrivals take up messages: decide them, and intend their marks.
type Arrivals struct{ *parts }

// apply takes a message that was not at its place before: one never seen,
// or another copy of a known one (a move is a copy that arrives and an original
// that vanishes, in either order). A stream of mail has no places; there, what
// comes again was sent again, which says nothing of the owner.
func (e *Arrived) apply(f *Filter, r *Result) error {
	placed := e.Place != (Place{})
	if p, ok := f.ledger.Places.Get(e.Place); placed && ok && p.Message == e.Meta.Key {
		// Reported before, for example because the position was not yet
		// committed when the daemon was killed.
		again := Flagged{At: max(e.At, e.Seen), Place: e.Place, Flags: e.Flags, Away: e.Away, ModSeq: e.ModSeq}
		return again.apply(f, r)
	}
	if ours, err := e.letter(f, r); ours || err != nil {
		return err
	}
	k := e.Meta.Key
	mk := string(k[:])
	if err := f.Teacher.advance(e.when(f), r); err != nil {
		return err
	}
	if placed {
		f.ledger.Leave(e.Place)
		f.ledger.Places.Put(e.Place, store.Place{Message: k, Flags: e.Flags})
	}
	role := f.ledger.Places.Role(e.Place.Mailbox)
	m, known := f.st.Messages.Get(mk)
	if known && placed && f.ledger.Copies.Arrives(k, e.Place, role) { // nobody said anything with it
		m.Copies++
		f.st.Messages.Put(mk, m)
		f.ledger.Undo.Follow(k, e.Place, e.Flags)
		return nil
	}
	if !known {
		var err error
		if m, err = f.Arrivals.meet(e, role, r); err != nil {
			return err
		}
	}
	f.ledger.Undo.Follow(k, e.Place, e.Flags)
	if known && m.Claimed && role == ingest.RoleSent {
		if err := f.Arrivals.claimed(e, &m, r); err != nil {
			return err
		}
	}
	former := e.lies(f, &m, role, known)

	// New to us, or rescued from a folder whose mail is not decided.
	fresh := m.Outcome == store.Undecided && !m.Own && f.Arrivals.decides(role, e)
	if fresh {
		if err := f.Arrivals.decide(e, &m, r); err != nil {
			return err
		}
	}
	if err := e.hear(f, &m, known, fresh, former, role, r); err != nil {
		return err
	}
	f.st.Messages.Put(mk, m)
	if fresh && m.Outcome == store.DecidedImportant {
		f.Arrivals.intend(e, &m)
		f.st.Messages.Put(mk, m)
		r.Decision.Reason = m.Reason
	}
	f.Messages.capMessages()
	return nil
}

// lies notes in m where it lies now, and how, and returns the role of the mailbox in which it
// lay before.
func (e *Arrived) lies(f *Filter, m *store.Message, role ingest.Role, known bool) (former ingest.Role) {
	former, m.Role = ingest.Role(m.Role), uint8(role)
	if !m.Seen && ingest.HasFlag(e.Flags, `\Seen`) {
		e.noteRead(f, m, known)
	}
	if e.Place != (Place{}) {
		m.Copies++
	}
	if e.byOwner(m, known) {
		f.Teacher.noteActivity()
	}
	return former
}

// byOwner reports whether an arrival shows that the owner was active: they wrote the message,
// moved or copied a known one, or had read it. What a program answers in the owner's name, it
// answers while they are away.
func (e *Arrived) byOwner(m *store.Message, known bool) bool {
	if m.Own {
		return e.Meta.Says != featurize.SaysAutomatic
	}
	return known && e.Place != (Place{}) || e.Backlog && ingest.HasFlag(e.Flags, `\Seen`)
}

// when is the moment of an arrival. Of a known message that comes to another place it is
// when that was seen: the owner moved or copied it just now, whenever it arrived, and what
// that says must stand for the settle window from now on.
func (e *Arrived) when(f *Filter) store.Moment {
	if _, known := f.st.Messages.Get(string(e.Meta.Key[:])); known && e.Place != (Place{}) && !e.Backlog {
		return max(e.At, e.Seen)
	}
	return e.At
}

// hear takes what an arrival says of its message: where it lies now, what was said
// before it came, and the flags that it comes with. known: another copy came before,
// to a folder of the former role. fresh: only now it is decided. The caller puts m.
func (e *Arrived) hear(f *Filter, m *store.Message, known, fresh bool, former, role ingest.Role, r *Result) error {
	k := e.Meta.Key
	// What comes with a message at its first arrival was said message by message,
	// however many arrive at once.
	with := manner{single: true, away: e.Away || e.Backlog}
	old := append(f.Arrivals.perhapsOurs(e), f.Arrivals.ours(e)...)
	if known {
		with = mannerOf(e.Place, e.Away, e.ModSeq)
		if fresh {
			m.Heard = nil // nothing that was said of it before it was decided has counted
		}
		old = append(old, m.Heard...)
	}
	with.trust = f.Arrivals.trustOf(e, known)
	if known && !e.Backlog {
		// Copies that were there before are no moves that anybody saw.
		if err := f.moves.moved(k, m, former, role, e, fresh, r); err != nil {
			return err
		}
	}
	if !known {
		m.Foreign = with.trust != trusted && len(e.Flags) > 0
		if err := f.Teacher.hearEarly(k, m, r); err != nil {
			return err
		}
	}
	if _, err := f.Voice.heed(k, m, e.Place, ingest.CommonFlags(ingest.CanonicalFlags(old), e.Flags), e.Flags, true, with, r); err != nil {
		return err
	}
	if !known && e.Backlog && (role == ingest.RoleTrash || f.moves.archives(e.Place.Mailbox)) && !ingest.HasFlag(e.Flags, `\Seen`) {
		return f.Voice.label(k, m, said{label: model.Ordinary, source: store.SourceMoved}, oneByOne, r)
	}
	return nil
}

// meet takes up a message never seen before.
func (f *Arrivals) meet(e *Arrived, role ingest.Role, r *Result) (store.Message, error) {
	a := &f.st.Account
	a.Messages++
	a.LastArrival = a.Clock
	f.Teacher.await(e)
	m := store.Message{
		Seq: a.Messages, ID: e.Meta.ID, Sender: e.Meta.From, Arrived: a.Clock, Vouched: e.Meta.Vouched, Personal: e.Meta.Personal,
		Own: e.Meta.Own || role == ingest.RoleSent || role == ingest.RoleDrafts,
	}
	m.Claimed = e.Meta.Claimed && !m.Own
	m.Asks = e.Meta.Asks && (m.Own || m.Claimed)
	m.Came, m.NoAnswer = came(e.At, a.Clock), e.Meta.Program
	if m.Own || m.Claimed {
		m.NoAnswer = e.Meta.Says == featurize.SaysForward
	}
	if !m.Own {
		m.Topic = e.Meta.Topic
		f.People.noteGuise(&e.Meta, &m, role)
	}
	if id, ok := f.st.IDs.Get(m.ID.Key()); ok && m.ID != 0 && m.Claimed && id.Own && id.Sender == m.Sender {
		m.Own, m.Claimed = true, false // a copy of the owner's message, as from a mailing list
	}
	f.Messages.oldest = append(f.Messages.oldest, e.Meta.Key)
	defer f.People.copies.add(m.ID, e.Meta.Key) // it doesn't answer itself
	if role == ingest.RoleDrafts {
		return m, nil // not sent: it answers nobody yet
	}
	if !m.Own && f.decides(role, e) {
		// Its own traces must not count for it: the facts are those of earlier
		// mail, so freeze before noting.
		if err := f.freeze(e, r); err != nil {
			return m, err
		}
	}
	return m, f.remember(e, m.Own, r)
}

// remember enters a message into the history, and labels what it answers or passes on if
// it is the owner's own. One of those that says nothing of others leaves no trace.
func (f *Arrivals) remember(e *Arrived, own bool, r *Result) error {
	meta := e.Meta
	what := said{label: model.Important, source: store.SourceAnswered}
	if meta.Own = own; own {
		f.vindicate(meta)
		if meta.Says >= featurize.SaysNothing {
			return nil
		}
		if meta.Says == featurize.SaysForward {
			what.source = store.SourceForwarded
		}
		f.People.byTopic(&meta)
	}
	for _, k := range note(f.st, meta, f.opts.Limits, f.People.answeredBy) {
		mk := string(k[:])
		answered, ok := f.st.Messages.Get(mk)
		if !ok {
			continue
		}
		if err := f.Voice.label(k, &answered, what, oneByOne, r); err != nil {
			return err
		}
		f.st.Messages.Put(mk, answered)
	}
	return nil
}

// claimed takes m, which claimed to be the owner's, for the owner's own: it lies in the
// folder of sent mail now. The caller puts m once more.
func (f *Arrivals) claimed(e *Arrived, m *store.Message, r *Result) error {
	m.Own, m.Claimed = true, false
	f.st.Messages.Put(string(e.Meta.Key[:]), *m) // vindicate looks at it, too
	return f.remember(e, true, r)
}

// vindicate takes the copy of the owner's message that came first, and only claimed to
// be the owner's, for what it is.
func (f *Arrivals) vindicate(own Meta) {
	id, ok := f.st.IDs.Get(own.ID.Key())
	if !ok || own.ID == 0 || id.Sender != own.From {
		return
	}
	k := string(id.Message[:])
	if m, ok := f.st.Messages.Get(k); ok && m.Claimed {
		m.Own, m.Claimed = true, false
		f.st.Messages.Put(k, m)
	}
}

// freeze fixes the features of an arrival for ever; a replayed arrival has them
// already.
func (f *Arrivals) freeze(e *Arrived, r *Result) error {
	switch {
	case e.Features != nil:
	case e.Message != nil:
		e.Features = f.freezer.Freeze(e.Message, facts(f.st, e.Meta))
	default:
		return fmt.Errorf("message %x came without content or features", e.Meta.Key[:4])
	}
	if r.Features == nil {
		f.st.Froze()
	}
	r.Features = e.Features
	return nil
}

// decide scores and decides an arrival and begins to wait for its label.
func (f *Arrivals) decide(e *Arrived, m *store.Message, r *Result) error {
	if e.Features == nil || r.Features == nil {
		if err := f.freeze(e, r); err != nil {
			return err
		}
	}
	d, err := f.learning.Decide(e.Meta.Key, r.Features, e.Meta.Vouched)
	if err != nil {
		return err
	}
	d.Correspondent = f.People.corresponds(e.Meta.From)
	a := &f.st.Account
	for _, t := range f.followers {
		t.Decided(&d, r.Features, e.Meta.Vouched)
	}
	m.Outcome, m.Score, m.Threshold, m.Reason = d.Outcome, d.Score, d.Threshold, d.Reason
	m.Probability = float32(d.Probability)
	m.Above, m.Correspondent, m.Replayed = d.Above, d.Correspondent, a.Replayed
	if d.Rule != nil {
		m.Rule = d.Rule.index()
	}
	// About mail that may be the owner's own silence says nothing.
	if f.Teacher.waits(m) {
		m.SilenceFrom = a.ActiveDays + 1
		f.Waits.silent.push(e.Meta.Key, m)
		if f.opts.Provisional() {
			m.Quiet = store.QuietHours
			f.Waits.hours.push(e.Meta.Key, m)
		}
	}
	r.Decision = &d
	return nil
}

// trust is how far flags are the owner's word. Those that change before our eyes are. Those that a
// message has when it is seen for the first time may be anybody's: a server reads them out of the
// header of an mbox, and whoever may append to a mailbox gives them as they like.
type trust uint8

const (
	trusted     trust = iota
	perhapsOwns       // the owner may have set them while we were away
	notTrusted
)

// justArrived is how long after its arrival a message may be seen for the first time without
// its owner having had the time to look at it. It covers slow rounds of looks, and servers
// whose clocks are wrong.
const justArrived = 15 * time.Minute

// trustOf returns whose word the flags are that an arrival comes with. known: another copy of the
// message was seen before, with the flags that it came with.
func (f *Arrivals) trustOf(e *Arrived, known bool) trust {
	switch {
	case slices.ContainsFunc(f.opts.Shared, func(name string) bool { return strings.EqualFold(name, e.Place.Mailbox) }):
		return notTrusted
	case known:
		return trusted
	case e.Meta.Stored, e.Seen != 0 && e.Seen <= e.At.Add(justArrived):
		return notTrusted
	case e.Backlog:
		return trusted
	}
	return perhapsOwns
}

// weigh returns what is left of what flags say.
func (t trust) weigh(what said) said {
	switch {
	case t == notTrusted:
		return said{}
	case t == perhapsOwns && what.label != 0:
		what.source = store.SourceFound
	}
	return what
}
