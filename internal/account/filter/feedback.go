// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Voice hears what the owner says with flags, in words, and by reading.
type Voice struct{ *parts }

// moves hears what the owner says by moving mail, and with letters.
type moves struct{ *parts }

// Another program that sets the mark is known by its companion keyword, or by its pace: time and
// again it marks what nobody opened within machinePace of the arrival. Each such mark is a point
// for a program, each other that is seen live one against; from manyHasty points on, what comes at
// that pace is nobody's word.
const (
	machinePace = 3 * time.Second
	manyHasty   = 10
)

// serverWindow: what appears among important mail within this time of its arrival may have been
// put there by the server. It is longer than an absence that a source doesn't report.
const serverWindow = 15 * time.Minute

// StrangerMemory is how long a program's pace is remembered after its last mark. Until then
// marks that appear while we are away are nobody's word: it may have set them too.
const StrangerMemory = 7 * 24 * time.Hour

func (e *Flagged) apply(f *Filter, r *Result) error {
	box, ok := f.st.Boxes.Get(e.Place.Mailbox)
	if !ok || box.UIDValidity != e.Place.UIDValidity {
		return nil // of a mailbox that exists no more
	}
	p, ok := f.ledger.Places.Get(e.Place)
	if !ok || slices.Equal(p.Flags, e.Flags) {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	return f.Voice.reflag(e.Place, p, e.Flags, mannerOf(e.Place, e.Away, e.ModSeq), r)
}

// reflag notes the flags that a place has now and heeds what they say.
func (f *Voice) reflag(place Place, p store.Place, flags []string, with manner, r *Result) error {
	old := f.ledger.Reflag(place, p, flags)
	if p.Letter != 0 {
		return f.moves.hearAnswer(p.Letter, f.st.Account.Clock, with, r)
	}
	mk := string(p.Message[:])
	m, ok := f.st.Messages.Get(mk)
	if !ok {
		return nil // so old that it was forgotten
	}
	if !m.Seen && ingest.HasFlag(flags, `\Seen`) {
		f.noteRead(p.Message, &m, with)
	}
	owner, err := f.heed(p.Message, &m, place, old, flags, false, with, r)
	if err != nil {
		return err
	}
	if owner {
		f.Teacher.noteActivity()
		f.Teacher.noteUnheard(&m, old, flags)
	}
	f.st.Messages.Put(mk, m)
	return nil
}

// said is a label that a change of flags amounts to.
type said struct {
	label  model.Label
	source store.Source
	// over is a stronger source whose label it takes back nevertheless: the owner
	// undid what had said that.
	over store.Source
	// after is how much later than at once the settle window begins.
	after time.Duration
}

// strength is the strongest source whose label it may replace.
func (s *said) strength() store.Source {
	if s.over.Outranks(s.source) {
		return s.over
	}
	return s.source
}

// heed draws the lesson from a change of flags, old to now, at one place of message k: the
// strongest thing that the owner said, if anything. arrives: the place is new. owner: any of the
// change is the owner's doing. The caller puts m.
func (f *Voice) heed(k store.MessageKey, m *store.Message, place Place, old, now []string, arrives bool, with manner, r *Result) (owner bool, err error) {
	var best said
	say := func(what said) {
		if what = with.trust.weigh(what); what.source.Outranks(best.source) {
			best = what
		}
	}
	came, gone := ingest.WithoutFlags(now, old), ingest.WithoutFlags(old, now)
	if !arrives && slices.ContainsFunc(came, ingest.IsCompanion) {
		f.ledger.Whose.NoteTwin(k, place, came)
	}
	for _, flag := range came {
		if ingest.IsCompanion(flag) {
			continue // a program's, of which the owner knows nothing
		}
		if f.ledger.IsMark(flag) && !arrives && f.putBack(k, m, place, flag) {
			owner = true
			continue
		}
		if !f.ledger.IsMark(flag) && !f.ledger.Whose.Awaits(k, place, flag) {
			if what := f.meaningAt(k, m, place, flag, now); what.label != model.Ordinary || !f.ledger.Copies.Is(k, place) {
				say(what) // that a copy of ours is junk, or deleted, says nothing of the message
			}
		} else if f.ownersMark(k, m, place, flag, came, now, arrives, with, r) {
			say(said{label: model.Important, source: store.SourceMark})
		} else {
			continue
		}
		owner = true
	}
	for _, flag := range gone {
		owner = owner || !ingest.IsCompanion(flag)
		say(f.wentOff(k, m, place, flag, came, gone, old))
	}
	f.rememberHeard(m, now, gone)
	if best.label == 0 || arrives && best.label == m.Unlearnt {
		return owner, nil
	}
	return owner, f.label(k, m, best, with, r)
}

// rememberHeard notes in m what its flags have said by now.
func (f *Voice) rememberHeard(m *store.Message, now, gone []string) {
	heard := ingest.WithoutFlags(m.Heard, gone)
	for _, flag := range now {
		if f.ledger.IsMark(flag) || flag != `\deleted` && meaning(flag, now).label != 0 {
			heard = append(heard, flag)
		}
	}
	m.Heard = ingest.CanonicalFlags(heard)
}

// replaced reports whether a mark went because a program replaced all flags of a message (STORE
// FLAGS), and not because the owner took it off. old are the flags before. Whoever takes a mark off
// leaves the companion; without one, whatever else changed at once speaks against the owner. If it
// was the owner after all, one lesson is lost.
func (f *Voice) replaced(came, gone, old []string) bool {
	if slices.ContainsFunc(old, ingest.IsCompanion) {
		return slices.ContainsFunc(gone, ingest.IsCompanion)
	}
	return len(came) > 0 || slices.ContainsFunc(gone, func(flag string) bool { return !f.ledger.IsMark(flag) })
}

// meaningAt is meaning for a flag that a copy of m has now. \Deleted says that only this copy goes
// where another is known that we did not make, and, where mailboxes are labels, that the message is
// archived. Where no other is known, it may have been copied to a mailbox not looked into since.
func (f *Voice) meaningAt(k store.MessageKey, m *store.Message, place Place, flag string, now []string) said {
	what := meaning(flag, now)
	if flag == `\deleted` && what.label != 0 {
		if m.Copies > 1+f.ledger.Copies.InSight(k) || f.ledger.Places.IsLabel(place.Mailbox) {
			return said{}
		}
		what.after = f.opts.Elsewhere
	}
	return what
}

// notJunk is what the owner says who takes a message out of Junk that was delivered there.
var notJunk = said{label: model.Important, source: store.SourceMoved, over: store.SourceJunk}

// meaning is what the owner says with a flag that is no mark of ours and that a
// message has now, among these; no label where it says nothing.
func meaning(flag string, now []string) said {
	switch flag {
	case `\flagged`, "$followed":
		return said{label: model.Important, source: store.SourceFlagged}
	case `\answered`:
		return said{label: model.Important, source: store.SourceAnswered}
	case "$junk":
		return said{label: model.Ordinary, source: store.SourceJunk}
	case "$muted":
		return said{label: model.Ordinary, source: store.SourceMuted}
	case `\deleted`:
		if !ingest.HasFlag(now, `\Seen`) {
			return said{label: model.Ordinary, source: store.SourceMoved}
		}
	}
	return said{}
}

// ownersMark reports whether a mark that has just appeared among the flags of a
// message, with all that came, is the owner's: neither ours nor another program's.
func (f *Voice) ownersMark(k store.MessageKey, m *store.Message, place Place, flag string, came, now []string, arrives bool, with manner, r *Result) bool {
	whose := f.ledger.Whose.Appeared(k, place, flag, arrives)
	if whose == ledger.NotOurs && f.ledger.Whose.Mirrored(k, place, came) {
		return false
	}
	// Our mark that another label tells of is no less ours there.
	if whose != ledger.SetHere && !arrives && (whose == ledger.NotOurs || !f.ledger.Places.IsLabel(place.Mailbox)) {
		f.ledger.Whose.NoteOwn(k, place, flag)
	}
	if whose != ledger.NotOurs {
		return false
	}
	a := &f.st.Account
	program := f.atMachinePace(m, now, with)
	switch twin := slices.ContainsFunc(came, ingest.IsCompanion); {
	case twin:
		a.Twins++
	case program:
	default:
		return !arrives || ingest.HasFlag(now, `\Seen`)
	}
	r.Strangers++
	a.Strangers++
	a.StrangerAt = a.Clock
	return false
}

// atMachinePace reports whether a mark that was just seen on m, with those flags now, must be
// another program's by all that is known of its pace, and notes the pace of this one.
func (f *Voice) atMachinePace(m *store.Message, now []string, with manner) bool {
	a := &f.st.Account
	quick := !ingest.HasFlag(now, `\Seen`) && a.Clock <= m.Arrived.Add(machinePace)
	if a.Clock > a.HastyAt.Add(StrangerMemory) {
		a.Hasty = 0
	}
	switch {
	case with.away: // nobody saw when
	case quick:
		a.Hasty, a.HastyAt = min(a.Hasty+1, 2*manyHasty), a.Clock
	case a.Hasty > 0:
		a.Hasty--
	}
	return (quick || with.away) && f.ProgramKnown()
}

// ProgramKnown reports whether another program that sets the mark is known by its pace.
func (f *Voice) ProgramKnown() bool { return f.st.Account.Hasty >= manyHasty }

// withdraw takes back a pending label that this said: the owner did it and undid it
// within the settle window. It reports whether there was one.
func withdraw(m *store.Message, what said) bool {
	if p := m.Pending; p.Label == 0 || p.Label != what.label || p.Source != what.source || p.Back {
		return false
	}
	m.Pending = store.Pending{}
	return true
}

// moved draws the lesson from a known message that appears, as e, in a folder of
// another role. fresh: only now it is decided.
func (f *moves) moved(k store.MessageKey, m *store.Message, from, to ingest.Role, e *Arrived, fresh bool, r *Result) error {
	var what said
	aside := said{label: model.Ordinary, source: store.SourceMoved}
	switch {
	case to == ingest.RoleTrash || to == ingest.RoleJunk:
	case from == ingest.RoleTrash, to == ingest.RoleInbox && from != to:
		// It lies where it was.
		if what, _ = f.Voice.unsay(k, m, aside); from != ingest.RoleJunk && what.label == 0 {
			what, _ = f.Voice.unsay(k, m, said{label: model.Important, source: store.SourceMoved})
		}
	default:
		withdraw(m, aside) // it is not thrown away: a copy of it is here
	}
	gone, stands := f.ledger.Copies.Standing(k, f.opts.Elsewhere+f.opts.Settle)
	switch {
	case from == to:
	case (to == ingest.RoleTrash || to == ingest.RoleJunk) && gone && f.ledger.Copies.Elsewhere(k, e.Place) != (Place{}):
		// The owner threw away the copy that we had made.
		m.Role = uint8(from)
	case to == ingest.RoleTrash && from == ingest.RoleJunk:
		// A clean-up, not an opinion.
	case to == ingest.RoleJunk:
		what = said{label: model.Ordinary, source: store.SourceJunk}
	case to == ingest.RoleTrash, from == ingest.RoleInbox && f.archives(e.Place.Mailbox) && !f.starred(e.Flags):
		if !ingest.HasFlag(e.Flags, `\Seen`) {
			what = said{label: model.Ordinary, source: store.SourceMoved}
		}
	case to == ingest.RoleImportant && f.byServer(m, e):
	case to == ingest.RoleImportant && slices.ContainsFunc(e.Flags, ingest.IsCompanion) && !f.ledger.Entries.Marked(k):
		// Another hinged's mark is on it, so it may be its copy, too.
	case to == ingest.RoleImportant:
		what = said{label: model.Important, source: store.SourceMoved, over: notJunk.over}
	case from == ingest.RoleInbox && to == ingest.RoleOther && f.filed(e):
		what = said{label: model.Important, source: store.SourceMoved}
	case from == ingest.RoleJunk && to != ingest.RoleSent && to != ingest.RoleDrafts:
		what = f.rescued(k, m, fresh)
	}
	if what.label == 0 {
		return nil
	}
	if what.label == model.Ordinary && stands {
		what.after = f.opts.Elsewhere // it may be the copy that went; see copyVanished
	}
	return f.Voice.label(k, m, what, mannerOf(e.Place, e.Away, e.ModSeq), r)
}

// archives reports whether what lies in a mailbox was put aside there.
func (f *moves) archives(mailbox string) bool {
	return f.ledger.Places.Role(mailbox) == ingest.RoleArchive && !f.ledger.Places.IsLabel(mailbox)
}

// filed reports whether the owner puts a message into a folder of their own, as what they want
// to find again: they have read it, and nothing else has been said of it.
func (f *moves) filed(e *Arrived) bool {
	return ingest.HasFlag(e.Flags, `\Seen`) && !f.ledger.Places.IsLabel(e.Place.Mailbox) && !slices.ContainsFunc(e.Flags, func(flag string) bool {
		return ingest.IsCompanion(flag) || f.ledger.IsMark(flag) || meaning(flag, nil).label != 0
	})
}

// starred reports whether flags say that the owner wants a message, as a star does that is no
// mark of ours. Putting it aside unread takes nothing back.
func (f *moves) starred(flags []string) bool {
	return slices.ContainsFunc(flags, func(flag string) bool {
		return !f.ledger.IsMark(flag) && meaning(flag, nil).label == model.Important
	})
}

// byServer reports whether a message that has appeared, as e, in the mailbox of important mail may
// have been put there by the server, as Gmail does at arrival. Only what is put there later, and
// before our eyes, is the owner's word.
func (f *moves) byServer(m *store.Message, e *Arrived) bool {
	if !f.ledger.Places.IsLabel(e.Place.Mailbox) {
		return false
	}
	return e.Away || f.st.Account.Clock <= m.Arrived.Add(serverWindow+f.opts.Elsewhere)
}

// rescued is what the owner says with a message that comes out of Junk. One that was
// delivered there is wanted. One that the owner put there is where it was.
func (f *moves) rescued(k store.MessageKey, m *store.Message, fresh bool) said {
	what, was := f.Voice.unsay(k, m, said{label: model.Ordinary, source: store.SourceJunk})
	if fresh && !was {
		return notJunk
	}
	return what
}

// leftJunk hears that message k is gone from a mailbox. Two connections watch INBOX and the other
// folders, so a message that went to Junk and back at once may be seen back in INBOX first. When it
// then leaves Junk it lies where it was all the time, and nothing was said.
func (f *moves) leftJunk(k store.MessageKey, mailbox string) {
	m, ok := f.st.Messages.Get(string(k[:]))
	if !ok || m.Copies == 0 || f.ledger.Places.Role(mailbox) != ingest.RoleJunk || ingest.Role(m.Role) != ingest.RoleJunk {
		return
	}
	if !withdraw(&m, said{label: model.Ordinary, source: store.SourceJunk}) {
		return // it was junk for longer; when it is seen elsewhere that is a move
	}
	for at := range f.ledger.Places.Of(k) {
		m.Role = uint8(f.ledger.Places.Role(at.Mailbox))
	}
	f.st.Messages.Put(string(k[:]), m)
}

// hear draws the lesson from a message that is gone from a place, as p says of it: the last
// copy, gone unread, was thrown away for good. It waits as long as \Deleted does for another
// copy to turn up.
func (e *Vanished) hear(f *Filter, p store.Place, place Place, r *Result) error {
	k := p.Message
	if e.Unclear || ingest.HasFlag(p.Flags, `\Seen`) || ledger.Excluded(f.ledger.Places.Role(e.Mailbox)) || f.ledger.Places.IsLabel(e.Mailbox) || f.ledger.Copies.Is(k, place) {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	m, known := f.st.Messages.Get(string(k[:]))
	what := said{label: model.Ordinary, source: store.SourceMoved, after: f.opts.Elsewhere}
	if !known || m.Copies > 0 || m.Pending.Back || m.Pending.Label == what.label {
		return nil
	}
	err := f.Voice.label(k, &m, what, manner{}, r)
	f.st.Messages.Put(string(k[:]), m)
	return err
}

// copyVanished hears that message k is gone from a place. If that was a copy of ours, the owner
// has deleted or moved it, which says nothing of the message: it may have been seen in Trash or
// Junk before.
func (f *moves) copyVanished(k store.MessageKey, place Place, at store.Moment, r *Result) error {
	if !f.ledger.Copies.Is(k, place) {
		return nil
	}
	if err := f.Teacher.advance(at, r); err != nil {
		return err
	}
	f.ledger.Copies.Vanished(k, place)
	m, known := f.st.Messages.Get(string(k[:]))
	if p := m.Pending; !known || p.Label != model.Ordinary || p.Source != store.SourceMoved && p.Source != store.SourceJunk {
		return nil
	}
	if at := f.ledger.Copies.Elsewhere(k, place); at != (Place{}) {
		m.Pending, m.Role = store.Pending{}, uint8(f.ledger.Places.Role(at.Mailbox))
		f.st.Messages.Put(string(k[:]), m)
	}
	return nil
}

// Settled is the end of one attempt to carry out a mark intent.
type Settled ledger.Attempt

func (e *Settled) apply(f *Filter, r *Result) error {
	if _, known := f.ledger.Entries.Get(e.Ledger); !known {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	heed := func(at Place, old store.Place, flags []string) error {
		return f.Voice.reflag(at, old, flags, manner{}, r)
	}
	return f.ledger.Settle((*ledger.Attempt)(e), heed)
}
