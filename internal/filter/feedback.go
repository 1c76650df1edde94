package filter

import (
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// strangerWindow: a mark that appears on an unread message within this time of
// its arrival was set by another program, not by the owner.
const strangerWindow = 30 * time.Second

func (e *Flagged) apply(f *Filter, r *Result) error {
	box, ok := f.st.Boxes.Get(e.Place.Mailbox)
	if !ok || box.UIDValidity != e.Place.UIDValidity {
		return nil // of a mailbox that exists no more
	}
	p, ok := f.st.Places.Get(e.Place.key())
	if !ok || equal(p.Flags, e.Flags) {
		return nil
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	return f.reflag(e.Place, p, e.Flags, e.Away, r)
}

// reflag notes the flags that a place has now and heeds what they say.
func (f *Filter) reflag(place Place, p store.Place, flags []string, away bool, r *Result) error {
	old := minus(p.Flags, f.ledger.takenBack(p, minus(p.Flags, flags)))
	p.Flags, p.Own = flags, common(p.Own, flags)
	f.putPlace(place, p)
	f.ledger.conclude(p.Message, store.MarkUndone)
	mk := string(p.Message[:])
	m, ok := f.st.Messages.Get(mk)
	if !ok {
		return nil // so old that it was forgotten
	}
	m.Seen = m.Seen || ingest.HasFlag(flags, `\Seen`)
	owner, err := f.heed(p.Message, &m, place, old, flags, false, away, r)
	if err != nil {
		return err
	}
	if owner {
		f.noteActivity()
		f.noteUnheard(&m, old, flags)
	}
	f.st.Messages.Put(mk, m)
	return nil
}

// said is a label that a change of flags amounts to.
type said struct {
	label  model.Label
	source store.Source
}

// heed draws the lesson from a change of flags, old to now, at one place of
// message k: the strongest thing that the owner said, if anything. arrives: the
// place is new. It reports whether any of the change is the owner's doing. The
// caller puts m.
func (f *Filter) heed(k store.MessageKey, m *store.Message, place Place, old, now []string, arrives, away bool, r *Result) (owner bool, err error) {
	var best said
	say := func(what said) {
		if what.source.Outranks(best.source) {
			best = what
		}
	}
	for _, flag := range minus(now, old) {
		if !f.opts.isMark(flag) && !f.ledger.awaits(k, place, flag) {
			say(meaning(flag, now))
		} else if f.ownersMark(k, m, place, flag, now, arrives, r) {
			say(said{model.Important, store.SourceMark})
		} else {
			continue
		}
		owner = true
	}
	for _, flag := range minus(old, now) {
		owner = true
		if f.opts.isMark(flag) {
			f.ledger.refuse(k, m.ID, flag)
			say(said{model.Ordinary, store.SourceMark})
		} else if s := meaning(flag, nil).source; s == store.SourceFlagged || s == store.SourceJunk || s == store.SourceMuted {
			withdraw(m, s)
		}
	}
	if best.label == 0 || arrives && best.label == m.Unlearnt {
		return owner, nil
	}
	return owner, f.label(k, m, best, away, r)
}

// meaning is what the owner says with a flag that is no mark of ours and that a
// message has now, among these; no label where it says nothing.
func meaning(flag string, now []string) said {
	switch flag {
	case `\flagged`, "$followed":
		return said{model.Important, store.SourceFlagged}
	case `\answered`:
		return said{model.Important, store.SourceAnswered}
	case "$junk":
		return said{model.Ordinary, store.SourceJunk}
	case "$muted":
		return said{model.Ordinary, store.SourceMuted}
	case `\deleted`:
		if !ingest.HasFlag(now, `\Seen`) {
			return said{model.Ordinary, store.SourceMoved}
		}
	}
	return said{}
}

// ownersMark reports whether a mark that has just appeared among the flags of a
// message is the owner's: neither ours nor another program's.
func (f *Filter) ownersMark(k store.MessageKey, m *store.Message, place Place, flag string, now []string, arrives bool, r *Result) bool {
	whose := f.ledger.appeared(k, place, flag, arrives)
	if whose != markSet && !arrives {
		f.noteOwn(k, place, flag)
	}
	if whose != markNotOurs {
		return false
	}
	if f.stranger(m, now) {
		r.Strangers++
		f.st.Account.Strangers++
		return false
	}
	return true
}

// withdraw takes back a pending label of this source: the owner did it and
// undid it within the settle window.
func withdraw(m *store.Message, source store.Source) {
	if m.Pending.Source == source {
		m.Pending = store.Pending{}
	}
}

// stranger reports whether a mark that was just seen on m must be another
// program's: it is unread and has only just arrived.
func (f *Filter) stranger(m *store.Message, flags []string) bool {
	return !ingest.HasFlag(flags, `\Seen`) && f.st.Account.Clock <= m.Arrived.Add(strangerWindow)
}

// moved draws the lesson from a known message that appears, as e, in a folder of
// another role.
func (f *Filter) moved(k store.MessageKey, m *store.Message, from, to ingest.Role, e *Arrived, r *Result) error {
	var what said
	switch {
	case from == to:
	case to == ingest.RoleTrash && from == ingest.RoleJunk:
		// A clean-up, not an opinion.
	case to == ingest.RoleJunk:
		what = said{model.Ordinary, store.SourceJunk}
	case to == ingest.RoleTrash:
		if !ingest.HasFlag(e.Flags, `\Seen`) {
			what = said{model.Ordinary, store.SourceMoved}
		}
	case to == ingest.RoleImportant,
		from == ingest.RoleJunk && to != ingest.RoleSent && to != ingest.RoleDrafts:
		what = said{model.Important, store.SourceMoved}
	}
	if what.label == 0 {
		return nil
	}
	return f.label(k, m, what, e.Away, r)
}

// minus returns what of canonical flags a is not in b.
func minus(a, b []string) []string {
	var out []string
	for _, flag := range a {
		if !ingest.HasFlag(b, flag) {
			out = append(out, flag)
		}
	}
	return out
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
