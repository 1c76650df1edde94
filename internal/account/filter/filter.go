// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/internal/host/zones"
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

// Filter is one account's state machine. It is made of parts, each of which knows one thing; an
// event goes through those that it concerns.
type Filter struct {
	*parts
	// passing is the room for the message that Classify looks at.
	passing struct {
		features featurize.Features
		vector   model.Vector
	}
}

// parts are what a Filter is made of. Each of them can reach the others.
type parts struct {
	opts      *Options
	st        *store.State
	vectors   Vectors
	learning  *Learning      // what is learnt, and decides
	line      *Line          // where the line is drawn
	ledger    *ledger.Ledger // whose mark it is
	followers []Follower     // see Follow

	People    *People    // what is remembered of senders and threads
	Messages  *Messages  // which messages are known
	Status    *Status    // how good the decisions are, and what the owner should know
	Explainer *Explainer // why a score is what it is
	Waits     *Waits     // what waits for time to pass

	Arrivals *Arrivals // a message comes
	moves    *moves    // one is moved
	Voice    *Voice    // what the owner says with that, and with flags
	Teacher  *Teacher  // what of it is learnt, and when

	freezer *featurize.Featurizer
	zone    *time.Location
}

func newParts(st *store.State, v Vectors) *parts {
	p := &parts{opts: new(Options), st: st, vectors: v}
	p.learning = newLearning(p.opts, st, v)
	p.line = p.learning.line
	p.People, p.Messages, p.Status, p.Explainer, p.Waits = &People{parts: p}, &Messages{parts: p}, &Status{parts: p}, &Explainer{p}, &Waits{parts: p}
	p.Arrivals, p.moves, p.Voice, p.Teacher = &Arrivals{p}, &moves{p}, &Voice{p}, &Teacher{p}
	return p
}

// Follower hears, at its turn, what a filter decides and learns. See package past.
type Follower interface {
	// Decided hears a decision about a message with these features.
	Decided(d *Decision, x *featurize.Features, vouched bool)
	// Learnt hears a lesson, or what the threshold alone heard, and whether a mark of ours is on
	// the message, or was.
	Learnt(l store.Lesson, marked bool)
	// Stood hears that the label of a message, which may have been provisional, is none any more.
	Stood(k store.MessageKey)
	// Ruled hears of other rules, and Primed of other weights to begin with.
	Ruled(rules *RuleSet)
	Primed(prior store.PackedVector)
	// Forgotten hears of a message that the filter no longer remembers.
	Forgotten(k store.MessageKey)
}

// Follow lets one more follower hear what comes.
func (f *Filter) Follow(t Follower) { f.followers = append(f.followers, t) }

// Release lets go of what is held beside the state and can be read again: call it
// when the state is durable and nothing may come for a while.
func (f *Filter) Release() {
	f.learning.rehearsed = nil
	if v := f.learning.vectors; !v.recalls {
		v.held = nil
	}
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
	f := &Filter{parts: newParts(st, v)}
	opts, err := optionsOf(st)
	if err != nil {
		return nil, err
	}
	return f, f.begin(opts)
}

// begin goes on from the state as it is.
func (f *Filter) begin(o Options) error {
	if err := f.configure(o); err != nil {
		return err
	}
	f.line.gather()
	f.rebuildQueues()
	f.ledger = ledger.New(f.st, f.wanted)
	f.tellLedger()
	f.learning.lessons, f.learning.messages = newLessonWindow(f.st), f.st.Messages
	return nil
}

// Resume goes on from the state as package past has left it. scores are those of the last
// messages decided; calls count anew, unless they are nil.
func (f *Filter) Resume(scores []store.Scored, calls []Call) error {
	f.st.Recent.Empty()
	for i, s := range scores {
		f.st.Recent.Put(slotOf(f.st.Account.Scores+uint64(i)-uint64(len(scores))), s)
	}
	disownUnknown(f.st)
	f.Release()
	if err := f.begin(*f.opts); err != nil {
		return err
	}
	if calls != nil {
		f.line.countCalls(calls)
	}
	return nil
}

// Learning returns what is learnt. The caller may ask it, not change it.
func (f *Filter) Learning() *Learning { return f.learning }

// Line returns where the line is drawn. The caller may ask it, not change it.
func (f *Filter) Line() *Line { return f.line }

// Vectors returns where frozen vectors are looked up.
func (f *Filter) Vectors() Vectors { return f.vectors }

// State returns the state that the filter works on. The caller may read it and
// commit it, not change it.
func (f *Filter) State() *store.State { return f.st }

// Options returns the options in force.
func (f *Filter) Options() Options { return *f.opts }

// Ledger returns the account's ledger of marks. The caller may ask it, not change it.
func (f *Filter) Ledger() *ledger.Ledger { return f.ledger }

// Configured reports whether o equals the options in force, so that no
// Configured event is needed.
func (f *Filter) Configured(o Options) bool {
	enc, err := encMode.Marshal(o)
	set, _ := f.st.Settings.Get(store.SettingsKey)
	return err == nil && string(enc) == string(set.Options)
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
	learner, err := newLearner(o, f.st, rules)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	freezer, err := featurize.New(o.Featurize)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	*f.opts, f.zone, f.freezer, f.line.stale = o, zone, freezer, true
	f.learning.learner, f.learning.rules = learner, rules
	return nil
}

// Apply takes one event. An error means that the account cannot go on (a stored
// vector that the state counts on is missing or damaged, an event that does not
// fit); bad mail is never an error.
func (f *Filter) Apply(e Event) (Result, error) {
	var r Result
	f.learning.rehearsed = nil
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
	o := f.opts
	f.ledger.Set(ledger.Settings{Marks: o.Marks, Companion: o.Companion, CopyTo: o.CopyTo, Entries: o.Limits.Ledger, Refusals: o.Limits.Refusals})
}

// kinds makes an event of each type. The key is the first byte of the type's
// journal entries. Numbers, once released, keep their meaning; 10 and 16 are free.
var kinds = map[byte]func() Event{
	1:  blank[Configured],
	2:  blank[Opened],
	3:  blank[Arrived],
	4:  blank[Flagged],
	5:  blank[Vanished],
	6:  blank[Reached],
	7:  blank[Settled],
	8:  blank[Labelled],
	9:  blank[Ticked],
	11: blank[Paused],
	12: blank[Resumed],
	13: blank[Restored],
	14: blank[Skipped],
	15: blank[UndoRequested],
	17: blank[Ruled],
	18: blank[Primed],
	19: blank[LetterIntended],
	20: blank[LetterSettled],
	21: blank[Closed],
	22: blank[AddressBook],
}

func blank[E any, P interface {
	*E
	Event
}]() Event {
	return P(new(E))
}

// tags is kinds the other way round.
var tags = func() map[reflect.Type]byte {
	out := map[reflect.Type]byte{}
	for tag, blank := range kinds {
		out[reflect.TypeOf(blank())] = tag
	}
	return out
}()

// ErrBadEvent is wrapped by every error of Decode.
var ErrBadEvent = errors.New("not a journal entry")

var (
	encMode = must(cbor.CoreDetEncOptions().EncMode())
	decMode = must(cbor.DecOptions{
		MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 16, MaxNestedLevels: 16,
		DupMapKey: cbor.DupMapKeyEnforcedAPF,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Encode gives the journal entry of an event: one type byte, then CBOR in core
// deterministic encoding.
func Encode(e Event) ([]byte, error) {
	tag, known := tags[reflect.TypeOf(e)]
	if !known {
		return nil, fmt.Errorf("%w: type %T", ErrBadEvent, e)
	}
	body, err := encMode.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", e, err)
	}
	return append([]byte{tag}, body...), nil
}

// Decode reads a journal entry. It never panics. The caller fills in the Features
// of an Arrived, also of one that is Handed.
func Decode(entry []byte) (Event, error) {
	if len(entry) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrBadEvent)
	}
	blank, known := kinds[entry[0]]
	if !known {
		return nil, fmt.Errorf("%w: unknown type byte %d", ErrBadEvent, entry[0])
	}
	e := blank()
	if err := decMode.Unmarshal(entry[1:], e); err != nil {
		return nil, fmt.Errorf("%w: %T: %w", ErrBadEvent, e, err)
	}
	return e, nil
}
