// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Labelled is a label that the owner gave to a message. Exactly one of Message, ID
// and Handed names the message.
//
// The owner's explicit word counts at once: the settle window is there for slips of
// the hand on flags. What the owner did (a mark, a star, an answer, a move, junk) is
// heard as the same is over IMAP, settle window and strength included.
type Labelled struct {
	At      store.Moment     `cbor:"1,keyasint,omitempty"`
	Message store.MessageKey `cbor:"2,keyasint,omitempty"`
	Label   model.Label      `cbor:"3,keyasint"`
	ID      store.ID         `cbor:"4,keyasint,omitempty"` // see IDOf
	// Source is one of SourceExplicit, SourceMark, SourceFlagged, SourceAnswered,
	// SourceMoved and SourceJunk; 0 is SourceExplicit.
	Source store.Source `cbor:"5,keyasint,omitempty"`
	// Waits says that the label may come before its message. Then it waits for the
	// message, at most Options.EarlyFor and with at most Limits.Early others. Such a
	// label also counts as a sign that the owner was active.
	Waits bool `cbor:"6,keyasint,omitempty"`
	// Origin comes back with the label if it waits in vain. No more than MaxRecord
	// bytes of its Record are kept.
	Origin store.Origin `cbor:"7,keyasint,omitempty"`
	// Handed is a message that the owner handed over, whether or not any source ever
	// reported it. Of its fields only Meta, Message and Features count. Unless it is
	// decided already, it is decided and recorded as an arrival is, but it has no place
	// and is never marked.
	Handed *Arrived `cbor:"8,keyasint,omitempty"`
}

// Validate reports why e is no label, or nil; Apply refuses what it refuses.
func (e *Labelled) Validate() error {
	named := 0
	for _, is := range []bool{e.Message != store.MessageKey{}, e.ID != 0, e.Handed != nil} {
		if is {
			named++
		}
	}
	switch {
	case named != 1:
		return fmt.Errorf("%w: a label names %d messages", ErrBadEvent, named)
	case e.Label != model.Important && e.Label != model.Ordinary:
		return fmt.Errorf("%w: a label is %d", ErrBadEvent, e.Label)
	case e.source() <= store.SourceSilence || e.source() > store.SourceExplicit:
		return fmt.Errorf("%w: a label has the source %d", ErrBadEvent, e.Source)
	default:
		return nil
	}
}

func (e *Labelled) source() store.Source { return cmp.Or(e.Source, store.SourceExplicit) }

// key returns which message is labelled; the zero key when it is not known.
func (e *Labelled) key(f *Filter) store.MessageKey {
	switch {
	case e.Handed != nil:
		return e.Handed.Meta.Key
	case e.ID != 0:
		k, _ := f.People.named(e.ID)
		return k
	default:
		return e.Message
	}
}

func (e *Labelled) apply(f *Filter, r *Result) error {
	if err := e.Validate(); err != nil {
		return err
	}
	k := e.key(f)
	mk := string(k[:])
	m, known := f.st.Messages.Get(mk)
	switch {
	case e.Handed != nil && (e.Handed.Meta.Own || m.Own || e.Handed.Meta.Claimed && !known):
		return nil // the owner's own mail teaches nothing; nobody forged what never arrived
	case e.Handed != nil && m.Outcome == store.Undecided:
		return e.handOver(f, &m, known, r)
	case !e.Waits && m.Outcome == store.Undecided:
		return nil // own mail, or forgotten since: nothing to learn from
	case !e.Waits && m.Label == e.Label && !e.source().Outranks(m.Source) && m.Pending.Label == 0 && f.Arrivals.obeyed(k, e):
		return nil // said before
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	if e.Waits {
		f.Teacher.noteActivity()
	}
	if m, known = f.st.Messages.Get(mk); !known {
		f.Waits.keepEarly(e, r)
		return nil
	}
	if _, sure := f.People.named(e.ID); e.ID != 0 && !sure {
		f.refuseUnsure(e, r)
		return nil
	}
	if err := f.Voice.hear(k, &m, said{label: e.Label, source: e.source()}, manner{}, r); err != nil {
		return err
	}
	f.st.Messages.Put(mk, m)
	return nil
}

// handOver decides a message that the owner handed over, as if it had just arrived, and learns its
// label. The same content, should it arrive, is known: it is learnt once and never marked. m is the
// row of the message if that is known.
func (e *Labelled) handOver(f *Filter, m *store.Message, known bool, r *Result) error {
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	k := e.Handed.Meta.Key
	if !known {
		var err error
		if *m, err = f.Arrivals.meet(e.Handed, ingest.RoleOther, r); err != nil {
			return err
		}
	}
	if err := f.Arrivals.decide(e.Handed, m, r); err != nil {
		return err
	}
	if m.Outcome == store.DecidedImportant {
		m.Reason = store.ReasonHandedOver
		r.Decision.Reason = m.Reason
	}
	if !known {
		if err := f.Teacher.hearEarly(k, m, r); err != nil {
			return err
		}
	}
	if err := f.Voice.label(k, m, said{label: e.Label, source: e.source()}, oneByOne, r); err != nil {
		return err
	}
	f.st.Messages.Put(string(k[:]), *m)
	f.Messages.capMessages()
	return nil
}

// hear is label for feedback that came by name: it says that a mark was taken off
// where a flag that is gone would show it.
func (f *Voice) hear(k store.MessageKey, m *store.Message, what said, with manner, r *Result) error {
	if what == (said{label: model.Ordinary, source: store.SourceMark}) && m.Outcome != store.Undecided {
		f.ledger.Refuse(k, m.ID, "")
	}
	if what.source == store.SourceAnswered {
		m.Done = f.st.Account.Messages // the answer itself may never be seen
	}
	if err := f.label(k, m, what, with, r); err != nil {
		return err
	}
	if m.Outcome != store.Undecided && what.source == store.SourceExplicit && m.Source == what.source && m.Label == what.label {
		f.Arrivals.obey(k, m, what.label)
	}
	return nil
}

// refuseUnsure gives feedback back that may be about any of several messages.
func (f *Filter) refuseUnsure(e *Labelled, r *Result) {
	if e.Waits {
		r.Expired = append(r.Expired, Expired{Feedback: e.early(f.Waits), Unsure: true})
	}
}

// stood notes that the label of m is as it was said, by a stronger source. A provisional one is
// none any more.
func (f *Voice) stood(k store.MessageKey, m *store.Message, source store.Source) {
	for _, t := range f.followers {
		t.Stood(k)
	}
	m.Source = source
}

// accept reports whether a label for m is news: not what was learnt already, and not weaker than what
// was. A repeated label only strengthens its source and withdraws a contrary pending one. A
// provisional label is no word of the owner's, and reading hardly one: the first word is learnt in
// its place, also when it says the same.
func (f *Voice) accept(k store.MessageKey, m store.Message, what said) (store.Message, bool) {
	light := m.Source == store.SourceProvisional || m.Source == store.SourceRead || m.Source == store.SourceFound
	if m.Label == what.label && (!light || f.opts.weightOf(what.label, what.source) <= f.opts.ImplicitWeight) {
		if !m.Pending.Source.Outranks(what.strength()) {
			if m.Pending.Label != 0 && !f.Holds(k, &m, nil) { // this gives the label from now on
				m.Source = what.source
			}
			m.Pending = store.Pending{}
		}
		if what.source.Outranks(m.Source) {
			f.stood(k, &m, what.source)
		}
		return m, false
	}
	if m.Label != 0 && !m.Pending.Back && m.Source.Outranks(what.strength()) {
		return m, false
	}
	if m.Pending.Label != 0 && !m.Pending.Back && m.Pending.Source.Outranks(what.strength()) {
		return m, false
	}
	return m, true
}

// label gives m, whose key is k, a label that counts once it has stood for the settle window;
// at once, if it was given in so many words or there is no window. The caller puts the row.
func (f *Voice) label(k store.MessageKey, m *store.Message, what said, with manner, r *Result) error {
	if m.Outcome == store.Undecided {
		return nil // own mail and excluded folders teach nothing
	}
	row, fresh := f.accept(k, *m, what)
	*m = row
	if !fresh {
		return nil
	}
	if what.source == store.SourceExplicit || f.opts.Settle == 0 && what.after == 0 {
		m.Pending = store.Pending{}
		return f.Teacher.learn(k, m, what.label, what.source, r)
	}
	m.Pending = store.Pending{Label: what.label, Source: what.source, Since: f.st.Account.Clock.Add(what.after), Single: with.single, Batch: with.batch}
	f.Waits.settling.push(k, m)
	return nil
}

// What the owner says of a message in so many words is final for it: "ordinary" takes our mark off,
// "important" sets it, as any mark is set. The word outranks threshold, budget, age and an earlier
// refusal. It does not outrank the configuration: with no mark configured, with shadow = "on", in the
// owner's own mail and in folders whose mail is not decided, nothing is set. In the shadow that ends
// by itself it is. What is taken off is taken off in any shadow, as undo does.

// Word returns the label that the owner gave a message in so many words, or by setting or
// removing the mark; 0: none.
func Word(m *store.Message) model.Label {
	if m.Source == store.SourceExplicit || m.Source == store.SourceMark {
		return m.Label
	}
	return 0
}

// Stands is the decision that is in force on a message: the owner's word if there is one, else
// what was decided at arrival.
func Stands(m *store.Message) store.Outcome {
	switch word := Word(m); {
	case m.Own || m.Outcome == store.Undecided || word == 0:
		return m.Outcome
	case word == model.Important:
		return store.DecidedImportant
	}
	return store.DecidedOrdinary
}

// obey does to the marks of message k what the owner's word about it says. The caller puts m.
func (f *Arrivals) obey(k store.MessageKey, m *store.Message, label model.Label) {
	if label == model.Ordinary {
		f.ledger.TakeOff(k, m)
		return
	}
	f.ledger.Refusals.Drop(k, m.ID)
	if f.opts.Shadow != ShadowOn {
		f.ledger.PutOn(k, m)
	}
}

// obeyed reports whether a label asks for nothing to be done to the marks of its message.
func (f *Arrivals) obeyed(k store.MessageKey, e *Labelled) bool {
	if e.source() != store.SourceExplicit || f.ledger.Entries.Marked(k) == (e.Label == model.Important) {
		return true
	}
	_, _, ok := f.ledger.PlaceToMark(k)
	return e.Label == model.Important && (!ok || f.opts.Shadow == ShadowOn || !f.opts.SetsMarks())
}

// Feedback that comes before its message waits for it.

// MaxRecord is how many bytes of the record behind an early label are kept.
const MaxRecord = 4096

// Expired is feedback that waited for its message in vain.
type Expired struct {
	Feedback store.Early
	// Displaced: it had to make room for newer feedback. Unsure: it came in time, but
	// several messages have its Message-ID. Otherwise its time was over.
	Displaced, Unsure bool
}

// early returns e as it is kept.
func (e *Labelled) early(f *Waits) store.Early {
	row := store.Early{
		Message: e.Message, ID: e.ID, Label: e.Label, Source: e.source(), Since: f.st.Account.Clock, Origin: e.Origin,
	}
	if len(row.Origin.Record) > MaxRecord {
		row.Origin.Record, row.Origin.Cut = row.Origin.Record[:MaxRecord], true
	}
	row.Origin.Record = bytes.Clone(row.Origin.Record)
	return row
}

// keepEarly lets feedback wait for its message; what is oldest makes room.
func (f *Waits) keepEarly(e *Labelled, r *Result) {
	f.st.Early.Put(store.LedgerKey(f.st.Account.EarlyNext), e.early(f))
	f.st.Account.EarlyNext++
	for f.st.Early.Len() > f.opts.Limits.Early {
		key, _, _ := f.oldestEarly()
		r.Expired = append(r.Expired, Expired{Feedback: f.dropEarly(key), Displaced: true})
	}
	f.expireEarly(r)
}

// hearEarly hears, in the order in which it came, what was said of a message
// before it came. The caller puts m.
func (f *Teacher) hearEarly(k store.MessageKey, m *store.Message, r *Result) error {
	for _, key := range f.st.Early.Find(func(row store.Early) bool {
		return row.Message == k || row.Message == store.MessageKey{} && row.ID == m.ID && m.ID != 0
	}) {
		row := f.Waits.dropEarly(key)
		if err := f.Voice.hear(k, m, said{label: row.Label, source: row.Source}, oneByOne, r); err != nil {
			return err
		}
	}
	return nil
}
