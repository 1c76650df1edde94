// SPDX-License-Identifier: Apache-2.0

// Package filter is the state machine of one account: an event comes in, the
// state changes, decisions, lessons and marks come out. It is the only writer
// of its account's state.
//
// State is a function of the events in their order and of nothing else. There
// is no clock here (time comes with the events), no randomness, no I/O beyond
// looking up a stored vector, and no order of a Go map in any result. So a
// replay of the journal gives the same state, bit for bit, and live, replay and
// evaluation are one piece of code.
//
// Data flow: Event → Apply → Result, which the caller commits together with
// the state's changed rows before it acts on any of it.
//
// A Filter is not safe for concurrent use; one goroutine owns it.
package filter

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter/ledger"
	"github.com/hinged/hinged/internal/zones"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Vectors gives back the frozen vectors of messages decided earlier.
type Vectors interface {
	// Features returns the features frozen for a message, or an error when they
	// are not there any more. The filter does not change them.
	Features(key store.MessageKey) (*featurize.Features, error)
	// Vector appends those features to into, as a vector without their names.
	Vector(key store.MessageKey, into model.Vector) (model.Vector, error)
}

// Filter is one account's state machine.
type Filter struct {
	opts    Options
	st      *store.State
	vectors Vectors

	// All below is derived from opts and st, and rebuilt by New.
	freezer  *featurize.Featurizer
	learner  Learner
	rules    *RuleSet
	zone     *time.Location
	labelled *window
	standing Standing
	recent   *window
	newest   newest // of recent; nil: not gathered
	cut      cut
	stale    bool // the windows changed since cut was fitted
	settling settleQueue
	silences int                // messages whose silence is waited for
	judged   Standing           // see Judgement
	passed   int                // messages decided since the last one that was important
	backs    []store.MessageKey // see TakenBack
	waiting  settleQueue        // messages whose silence is waited for, by SilenceFrom
	hours    settleQueue        // of store.QuietHours
	days     settleQueue        // of store.QuietDays
	lessons  lessonWindow
	// messages are those whose vectors can be read, those of st; nil: all that vectors
	// has.
	messages *store.Table[store.Message]
	scratch  model.Vector // see vector
	// recalled are the vectors of the window that Recall keeps; nil: none. replaying is the
	// one at hand otherwise.
	recalled  map[store.MessageKey]*past
	replaying past
	// rehearsed is the learner that has taken the next steps of replay; nil: not known.
	rehearsed *linear
	// passing is the room for the message that Classify looks at.
	passing struct {
		features featurize.Features
		vector   model.Vector
	}
	oldest messageQueue // all messages, by Seq
	// gone are those that the last event made the filter forget for their age or number.
	gone   []store.MessageKey
	ledger *ledger.Ledger
	early  earlyIndex
	copies copyIndex
	// latest are the features of the last decided arrival, so that a label that
	// comes with it or right after it needs no look-up.
	latest struct {
		key      store.MessageKey
		features *featurize.Features
		past     *past // of features; nil: not made yet
	}
}

// Release lets go of what is held beside the state and can be read again: call it
// when the state is durable and nothing may come for a while.
func (f *Filter) Release() {
	f.latest.features, f.latest.past, f.rehearsed = nil, nil, nil
	f.passing.features, f.passing.vector = featurize.Features{}, nil
}

// Decision is what was decided of one message, and why.
type Decision struct {
	Message   store.MessageKey
	Score     float64
	Threshold float64
	// Probability that it is important, by how labels followed such scores of late, 0 to 1; 0
	// while too little is known to say.
	Probability float64
	Outcome     store.Outcome
	// Above and Correspondent are what Standing compares: whether the score alone
	// calls it important, and whether the owner had written to the sender before.
	Above, Correspondent bool
	// Reason says why the outcome, or the absence of a mark on an important
	// message, is not the threshold's doing alone.
	Reason store.Reason
	// Rule is the rule that decided; nil when none did.
	Rule *Rule
}

// Result is what one event led to. Nothing of it may be acted upon or shown
// before the state's changes, the event and the records below are committed.
type Result struct {
	// Changed is false when the event told nothing new; then the state is as it
	// was and the event needs no place in the journal.
	Changed  bool
	Decision *Decision
	// Lessons are the labels that were learnt, and those that the threshold alone
	// heard of (see store.Lesson.Learnt), in order.
	Lessons []store.Lesson
	// Features are to be stored under the Decision's message.
	Features *featurize.Features
	// Marks are to be requested from the source.
	Marks []ingest.MarkRequest
	// Strangers counts marks that another program set.
	Strangers int
	// Withdrawn counts labels that were dropped because they were a clean-up.
	Withdrawn int
	// Expired is feedback that waited for its message in vain, in the order in
	// which it came.
	Expired []Expired
}

// New returns the state machine that continues from st, which it owns from then
// on. A state that was never configured gets DefaultOptions until a Configured
// event comes.
func New(st *store.State, v Vectors) (*Filter, error) {
	f := &Filter{st: st, vectors: v}
	opts, err := optionsOf(st)
	if err != nil {
		return nil, err
	}
	if err := f.configure(opts); err != nil {
		return nil, err
	}
	f.derive(takeSummary(st))
	st.Summarise = f.summarise
	return f, nil
}

// derive builds, from the state, what it leads to, with s if that is not nil.
func (f *Filter) derive(s *summary) {
	f.readWindows(s)
	f.rebuildQueues(s)
	if s != nil && !f.complete() { // the summary is not what it says
		f.readWindows(nil)
		f.rebuildQueues(nil)
	}
	f.ledger = ledger.New(f.st, f.wanted)
	f.tellLedger()
	f.lessons, f.messages = newLessonWindow(f.st), f.st.Messages
	f.early = newEarlyIndex(f.st)
}

// readWindows derives what is kept beside the windows of scores, with s if that is not nil.
func (f *Filter) readWindows(s *summary) {
	if s != nil {
		f.standing = s.standing
		f.labelled = s.window(f.st.Labelled, s.labelled, f.standing.count)
		f.recent = s.window(f.st.Recent, s.recent, func(*store.Scored, int) {})
	} else {
		f.standing = Standing{}
		f.labelled = newWindow(f.st.Labelled, func(e *store.Scored) { f.standing.count(e, 1) })
		f.recent = newWindow(f.st.Recent, func(*store.Scored) {})
	}
	f.newest = nil
	f.stale = true
}

// State returns the state that the filter works on. The caller may read it and
// commit it, not change it.
func (f *Filter) State() *store.State { return f.st }

// Options returns the options in force.
func (f *Filter) Options() Options { return f.opts }

// Ledger returns the account's ledger of marks. The caller may ask it, not change it.
func (f *Filter) Ledger() *ledger.Ledger { return f.ledger }

// Configured reports whether o equals the options in force, so that no
// Configured event is needed.
func (f *Filter) Configured(o Options) bool {
	enc, err := encMode.Marshal(o)
	return err == nil && len(f.st.Account.Options) > 0 && string(enc) == string(f.st.Account.Options)
}

func (f *Filter) configure(o Options) error {
	if err := o.Validate(); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	zone, err := zones.Load(o.TimeZone)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	rules, err := rulesInForce(f.st, o)
	if err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	learner, err := NewLearner(o, f.st, rules)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	freezer, err := featurize.New(o.Featurize)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	f.opts, f.zone, f.learner, f.rules, f.freezer, f.stale = o, zone, learner, rules, freezer, true
	return nil
}

// Apply takes one event. An error means that the account cannot go on (a stored
// vector that the state counts on is missing or damaged, an event that does not
// fit); bad mail is never an error.
func (f *Filter) Apply(e Event) (Result, error) {
	var r Result
	f.rehearsed, f.gone = nil, nil
	if f.st.Account.Paused && !allowedInPause(e) {
		return r, nil
	}
	if err := e.apply(f, &r); err != nil {
		return r, fmt.Errorf("applying %T: %w", e, err)
	}
	r.Marks = append(r.Marks, f.ledger.Requests()...)
	if r.Changed {
		f.entered()
	}
	return r, nil
}

// journalEntries is how many journal entries lie at least behind what can be taken back,
// once there were so many, unless Limits.Journal says otherwise.
const journalEntries = 50_000

// entered counts an entry of the journal, and has what can be taken back begin later once
// enough lies behind that: Limits.Journal entries, or a quarter of Limits.Keep.
func (f *Filter) entered() {
	a, l := &f.st.Account, &f.opts.Limits
	a.Entries++
	many := a.Entries-a.NextReach.Entries >= uint64(cmp.Or(l.Journal, journalEntries))
	if many || l.Keep > 0 && a.Clock >= a.NextReach.Clock.Add(l.Keep/4) {
		a.Reach, a.NextReach = a.NextReach, store.Reach{Entries: a.Entries, Clock: a.Clock}
	}
}

// tellLedger tells the ledger the options in force.
func (f *Filter) tellLedger() {
	o := &f.opts
	f.ledger.Set(ledger.Settings{Marks: o.Marks, Companion: o.Companion, CopyTo: o.CopyTo, Entries: o.Limits.Ledger, Refusals: o.Limits.Refusals})
}

func (e *Configured) apply(f *Filter, r *Result) error {
	if f.Configured(e.Options) {
		return nil
	}
	enc, err := encMode.Marshal(e.Options)
	if err != nil {
		return fmt.Errorf("encoding options: %w", err)
	}
	if err := e.Options.Validate(); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	a := &f.st.Account
	if e.Options.retunes(&f.opts) && a.Important+a.Ordinary > 0 {
		a.Dual.Tuned++
	}
	if e.Options.another(f.opts) {
		if hasLearnt(f.st) {
			beginAnew(f.st)
			f.readWindows(nil)
			f.lessons = newLessonWindow(f.st)
		}
		if err := prime(f.st, e.Options, f.Prior()); err != nil {
			return err
		}
	}
	former := f.rules
	if err := f.configure(e.Options); err != nil {
		return err
	}
	if size := f.opts.Dual.Window; f.opts.replays() {
		f.lessons.trim(f.st, size)
	} else {
		f.lessons.trim(f.st, 0)
	}
	f.tellLedger()
	f.st.Account.Options = enc
	f.follow(former)
	if f.opts.Shadow == ShadowOn {
		f.st.Account.Proven, f.st.Account.ProvenAt = false, 0
	}
	return f.advance(e.At, r)
}

func (e *Opened) apply(f *Filter, r *Result) error {
	box, known := f.st.Boxes.Get(e.Mailbox)
	if known && box.UIDValidity == e.UIDValidity && box.Role == uint8(e.Role) && box.Labels == e.Labels {
		return nil
	}
	if known && box.UIDValidity != e.UIDValidity {
		f.ledger.LeaveAll(e.Mailbox)
		box = store.Mailbox{}
	}
	if box == (store.Mailbox{}) && f.st.Account.Restored {
		box.RestoredBefore = store.RestoredPending
	}
	box.UIDValidity = e.UIDValidity
	box.Role, box.Labels = uint8(e.Role), e.Labels
	box.UIDNext = max(box.UIDNext, 1)
	f.st.Boxes.Put(e.Mailbox, box)
	r.Changed = true
	return nil
}

func (e *Vanished) apply(f *Filter, r *Result) error {
	if box, ok := f.st.Boxes.Get(e.Mailbox); !ok || box.UIDValidity != e.UIDValidity {
		return nil
	}
	for _, uid := range e.UIDs {
		place := Place{Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UID: uid}
		if p, ok := f.ledger.Leave(place); ok {
			f.leftJunk(p.Message, e.Mailbox)
			if err := f.hearAnswer(p.Letter, e.At, manner{}, r); err != nil {
				return err
			}
			if err := f.copyVanished(p.Message, place, e.At, r); err != nil {
				return err
			}
			if err := e.hear(f, p, place, r); err != nil {
				return err
			}
			r.Changed = true
		}
	}
	return nil
}

func (e *Reached) apply(f *Filter, r *Result) error {
	box, ok := f.st.Boxes.Get(e.Mailbox)
	if !ok || box.UIDValidity != e.UIDValidity ||
		(box.RestoredBefore != store.RestoredPending && box.UIDNext >= e.UIDNext && box.HighestModSeq >= e.HighestModSeq && box.BacklogBefore >= e.BacklogBefore) {
		return nil
	}
	box.BacklogBefore = max(box.BacklogBefore, e.BacklogBefore)
	if box.RestoredBefore == store.RestoredPending {
		box.RestoredBefore = box.BacklogBefore
	}
	box.UIDNext = max(box.UIDNext, e.UIDNext)
	box.HighestModSeq = max(box.HighestModSeq, e.HighestModSeq)
	f.st.Boxes.Put(e.Mailbox, box)
	r.Changed = true
	return nil
}

// day returns the number of the day, in the account's time zone, in which m
// lies.
func (f *Filter) day(m store.Moment) int32 {
	t := m.Time().In(f.zone)
	return int32(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
}

// noteActivity counts the current day as one on which the owner was active.
func (f *Filter) noteActivity() {
	a := &f.st.Account
	a.LastActive = a.Clock
	if d := f.day(a.Clock); d > a.ClockDay {
		a.ClockDay = d
		a.ActiveDays++
	}
}
