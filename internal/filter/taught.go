package filter

import (
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

func (f *Filter) applyLabelled(e *Labelled, r *Result) error {
	mk := string(e.Message[:])
	m, ok := f.st.Messages.Get(mk)
	if !ok || m.Outcome == store.Undecided {
		return nil // own mail, or forgotten since: nothing to learn from
	}
	if m.Label == e.Label && m.Source == store.SourceExplicit && m.Pending.Label == 0 {
		return nil // said before, in so many words
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	// The settle window is there for slips of the hand on flags; words count at
	// once.
	m, _ = f.st.Messages.Get(mk)
	if err := f.tell(e.Message, &m, said{e.Label, store.SourceExplicit}, false, r); err != nil {
		return err
	}
	f.st.Messages.Put(mk, m)
	return nil
}

// tell takes the owner's word about m, whose key is k: one that was given as such
// at once, any other as label does. The caller puts the row.
func (f *Filter) tell(k store.MessageKey, m *store.Message, what said, away bool, r *Result) error {
	if what.source != store.SourceExplicit {
		return f.label(k, m, what, away, r)
	}
	if m.Outcome == store.Undecided {
		return nil // own mail and excluded folders teach nothing
	}
	row, fresh := f.accept(*m, what.label, what.source)
	*m = row
	if !fresh {
		return nil
	}
	m.Pending = store.Pending{}
	return f.learn(k, m, what.label, what.source, r)
}

// applyTaught takes a message that the owner handed over. One that is decided
// already gets its label as ever; any other is met and decided first, as if it
// had just arrived, so that the lesson has its frozen vector and the same
// content, should it arrive, is known: it is learnt once and never marked.
//
// The owner's own mail teaches nothing, as ever.
func (f *Filter) applyTaught(e *Taught, r *Result) error {
	k := e.Meta.Key
	mk := string(k[:])
	m, known := f.st.Messages.Get(mk)
	if e.Meta.Own || m.Own {
		return nil
	}
	if m.Outcome != store.Undecided {
		return f.applyLabelled(&Labelled{At: e.At, Message: k, Label: e.Label}, r)
	}
	if err := f.advance(e.At, r); err != nil {
		return err
	}
	a := &Arrived{At: e.At, Meta: e.Meta, Message: e.Message, Features: e.Features}
	if !known {
		var err error
		if m, err = f.meet(a, ingest.RoleOther, r); err != nil {
			return err
		}
	}
	if err := f.decide(a, &m, r); err != nil {
		return err
	}
	e.Features = a.Features
	if m.Outcome == store.DecidedImportant {
		m.Reason = store.ReasonTaught
		r.Decision.Reason = m.Reason
	}
	if !known {
		if err := f.hearEarly(k, &m, r); err != nil {
			return err
		}
	}
	if err := f.tell(k, &m, said{e.Label, store.SourceExplicit}, arrivalIsOneByOne, r); err != nil {
		return err
	}
	f.st.Messages.Put(mk, m)
	f.capMessages()
	return nil
}
