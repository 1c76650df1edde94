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
	m, fresh := f.accept(m, e.Label, store.SourceExplicit)
	if fresh {
		m.Pending = store.Pending{}
		if err := f.learn(e.Message, &m, e.Label, store.SourceExplicit, r); err != nil {
			return err
		}
	}
	f.st.Messages.Put(mk, m)
	return nil
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
	if err := f.learn(k, &m, e.Label, store.SourceExplicit, r); err != nil {
		return err
	}
	f.st.Messages.Put(mk, m)
	f.capMessages()
	return nil
}
