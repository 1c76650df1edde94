// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Most people star and answer little; what they read and keep is mostly what they want. But who
// opens all mail says nothing by it. So reading is a yes as far as it parts the owner's mail, and
// whatever the owner says with a star, a mark or an answer outranks it.

const (
	// readWeight is how much a yes from reading weighs, in parts of Options.ImplicitWeight, where
	// reading tells all. On made-up mailboxes half of it and twice as much did less well.
	readWeight = 0.75
	// readDoubt is how much of a message that was read and kept the threshold takes for
	// ordinary, whether that is a yes or nobody knows: people open more than they want marked.
	readDoubt = 0.4
	// readMany are more messages than anybody reads one by one within a settle window.
	readMany = 10
	// ReadLeast is how many messages must have been read and kept, and how many not, before
	// reading tells anything.
	ReadLeast = 3
	// readMost is over how many messages reading is counted, before older ones count half.
	readMost = 500
	// ReadEnough is how much reading must tell for what was read to be a yes: below it the yes
	// would be about nearly all mail.
	ReadEnough = 0.3
)

// ReadingTells returns how much reading says about what this owner wants, from 0, nothing, to
// 1: all where at least every other message is left unread, or thrown away unread. What is read
// and thrown away counts half: who opens everything still parts what to keep from what not.
func (f *People) ReadingTells() float64 {
	r := &f.st.Account.Reading
	if r.Read+r.Done < ReadLeast || 2*r.Passed+r.Done < 2*ReadLeast {
		return 0
	}
	return min(1, float64(2*r.Passed+r.Done)/float64(r.Read+r.Done+r.Passed))
}

// countReading counts how a message was handled, or with by = -1 takes it out.
func (f *People) countReading(what store.Handling, by int) {
	r := &f.st.Account.Reading
	n := &r.Passed
	switch what {
	case store.HandledRead, store.HandledWanted:
		n = &r.Read
	case store.HandledDone:
		n = &r.Done
	case store.HandledBinned, store.HandledUnread:
	default:
		return
	}
	if by < 0 {
		*n -= min(*n, 1)
		return
	}
	if *n++; r.Read+r.Done+r.Passed > readMost {
		r.Read, r.Done, r.Passed = r.Read/2, r.Done/2, r.Passed/2
	}
}

// noteRead hears that the owner has read message k just now. The caller puts m.
func (f *Voice) noteRead(k store.MessageKey, m *store.Message, with manner) {
	m.Seen = true
	if f.readTogether(k, with) {
		f.People.together(m)
		return
	}
	newest := &f.st.Account.Reading.Newest
	*newest = max(*newest, m.Seq)
	waits := m.Quiet == store.QuietHours && f.People.ReadingTells() >= ReadEnough
	again := m.Quiet == store.QuietNothing && m.Source <= store.SourceProvisional && m.SilenceFrom > 0 && !f.ledger.Entries.EverMarked(k)
	if f.opts.Provisional() && (waits || again) {
		m.Quiet, m.ReadAt = store.QuietHours, f.st.Account.Clock
		f.Waits.hours.push(k, m)
	}
}

// noteRead hears that a message comes read: to another place, from the past, or, of a new one,
// read before we saw it, which a program may have done. The caller puts m.
func (e *Arrived) noteRead(f *Filter, m *store.Message, known bool) {
	switch {
	case known:
		f.Voice.noteRead(e.Meta.Key, m, mannerOf(e.Place, e.Away, e.ModSeq))
	case e.Backlog:
		f.st.Account.Reading.Newest = m.Seq
	default:
		m.Together = true
	}
	m.Seen = true
}

// readTogether reports whether message k was read with many others at once, as when all are
// marked as read: that says nothing about any of them. At once is by one command, also when
// a part of that was found later; or within the settle window, seen live from its beginning.
func (f *Voice) readTogether(k store.MessageKey, with manner) bool {
	run, now := &f.st.Account.ReadRun, f.st.Account.Clock
	if f.opts.Bulk == 0 {
		return false
	}
	if (with.command == 0 || with.command != run.Batch) && (run.Since == 0 || now > run.Since.Add(f.opts.Settle)) {
		if with.single {
			return false
		}
		if *run = (store.ReadRun{Batch: with.command, Keys: []store.MessageKey{k}}); !with.away {
			run.Since = now
		}
		return false
	}
	run.Batch = with.command
	if run.Many && run.Since > 0 && !with.away {
		run.Since = now
	}
	if run.Many {
		return true
	}
	// The keys of the state stay as they are: a copy of it may have them, too.
	if run.Keys = append(slices.Clone(run.Keys), k); len(run.Keys) <= readMany {
		return false
	}
	for _, other := range run.Keys[:readMany] {
		if m, ok := f.st.Messages.Get(string(other[:])); ok {
			f.People.together(&m)
			f.st.Messages.Put(string(other[:]), m)
		}
	}
	*run = store.ReadRun{Batch: run.Batch, Since: run.Since, Many: true}
	return true
}

// together notes that m was marked as read with others: that it had been left unread until then
// says nothing either. The caller puts m.
func (f *People) together(m *store.Message) {
	if m.Together = true; m.Handled == store.HandledUnread {
		f.handle(m, store.HandledNothing)
	}
}

// thrownAway reports whether the latest copy of m lies where nothing is kept.
func thrownAway(m *store.Message) bool {
	role := ingest.Role(m.Role)
	return role == ingest.RoleTrash || role == ingest.RoleJunk
}

// noteKept notes, once time has passed, whether m was read and kept or left unread.
func (f *People) noteKept(m *store.Message) {
	switch {
	case m.Copies == 0 || m.Handled > store.HandledUnread || m.Handled == store.HandledBinned || m.Together:
	case thrownAway(m) && m.Seen:
		f.handle(m, store.HandledDone)
	case m.Seen:
		f.handle(m, store.HandledRead)
	case !thrownAway(m) && m.Seq < f.st.Account.Reading.Newest:
		f.handle(m, store.HandledUnread)
	}
}

// noteLabel notes what the owner did with m by the label that it teaches now.
func (f *People) noteLabel(m *store.Message, label model.Label, source store.Source) {
	switch {
	case source <= store.SourceSilence || source == store.SourceRead || source == store.SourceFound:
	case source == store.SourceAnswered || source == store.SourceForwarded:
		f.noteKept(m)
	case source == store.SourceMoved && label == model.Ordinary:
		f.handle(m, store.HandledBinned)
	case label == model.Important:
		f.handle(m, store.HandledWanted)
	default:
		f.handle(m, store.HandledUnwanted)
	}
}

// quietWord is what it says of m that its owner did nothing with it but reading, perhaps: after
// some hours, or finally. No label: nobody knows, or not yet. marked: a mark of ours is on it,
// or was; that it was read then is our own echo. What was sent to many is read more than wanted.
func (f *People) quietWord(m *store.Message, marked, final bool) said {
	no := said{label: model.Ordinary, source: store.SourceProvisional}
	if final {
		no.source = store.SourceSilence
	}
	if m.Copies == 0 || thrownAway(m) {
		return no
	}
	read := m.Seen && !m.Together && f.ReadingTells() >= ReadEnough
	switch {
	case read && !marked && m.Personal:
		return said{label: model.Important, source: store.SourceRead}
	case read, m.Personal && (m.Seen || !final):
		return said{}
	default:
		return no
	}
}
