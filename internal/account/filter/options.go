// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/host/zones"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Mode says how the threshold is set.
type Mode string

// The threshold modes.
const (
	ModeAuto   Mode = "auto"   // the best F1 at which Precision is kept
	ModeMissed Mode = "missed" // at most the share Missed of what matters goes unmarked
	ModeBudget Mode = "budget" // a stated share of mail
	ModeCost   Mode = "cost"   // a missed message is worth Cost false alarms
	ModeFixed  Mode = "fixed"  // Value
)

// Threshold says how much to mark.
type Threshold struct {
	Mode Mode `cbor:"1,keyasint"`
	// Precision is the promise of ModeAuto: of what is marked at least this share is
	// important. In [0, 1).
	Precision float64 `cbor:"7,keyasint,omitempty"`
	// Missed is the greatest share of the important mail that ModeMissed leaves unmarked.
	// In (0, 1).
	Missed float64 `cbor:"8,keyasint,omitempty"`
	// Share of mail to mark in ModeBudget, in (0, 1).
	Share float64 `cbor:"2,keyasint,omitempty"`
	// PerDay is a hard cap on marks in one day of the account's time zone, in
	// every mode; 0 is no cap.
	PerDay int `cbor:"3,keyasint,omitempty"`
	// Cost of a missed important message in false alarms, in ModeCost. > 0.
	Cost float64 `cbor:"4,keyasint,omitempty"`
	// Value of the threshold in ModeFixed.
	Value float64 `cbor:"5,keyasint,omitempty"`
	// UnsureShare of mail nearest the threshold is decided unsure, in [0, 1).
	UnsureShare float64 `cbor:"6,keyasint,omitempty"`
}

// Shadow says when marks may be set.
type Shadow string

// The shadow settings.
const (
	ShadowAuto Shadow = "auto" // once it has proved itself, see Filter.InShadow
	ShadowOn   Shadow = "on"   // never: decide and record only
	ShadowOff  Shadow = "off"  // as soon as anything is decided
)

// Options are all the settings that a decision can depend on. They are part of
// the journal: a change of them is an event like any other, so that a replay
// decides as the live run did.
type Options struct {
	Learner   model.Spec        `cbor:"1,keyasint"`
	Featurize featurize.Options `cbor:"2,keyasint"`
	Threshold Threshold         `cbor:"3,keyasint"`
	Shadow    Shadow            `cbor:"4,keyasint"`
	// Marks are the flags to set on important messages, as the server is to
	// store them.
	Marks []string `cbor:"7,keyasint,omitempty"`
	// Companion is a keyword to be set beside each mark, so that other programs can tell
	// it from the owner's (ingest.IsCompanion); "": none.
	Companion string `cbor:"42,keyasint,omitempty"`
	// CopyTo is a mailbox into which a copy of each important message is put; "": none.
	// See ingest.MarkRequest.
	CopyTo string `cbor:"43,keyasint,omitempty"`
	// Settle is how long a change by the owner must have stood before it
	// counts; 0: at once.
	Settle time.Duration `cbor:"8,keyasint,omitempty"`
	// Silence is how many days without a label make an unmarked message
	// ordinary; 0: silence teaches nothing.
	SilenceDays int `cbor:"9,keyasint,omitempty"`
	// SilenceCalendar counts all days; otherwise only days on which the owner
	// was active count.
	SilenceCalendar bool `cbor:"10,keyasint,omitempty"`
	// TimeZone is the IANA name of the zone in which days begin; "" is UTC.
	TimeZone string `cbor:"11,keyasint,omitempty"`
	Limits   Limits `cbor:"12,keyasint"`
	// ImplicitWeight is the weight of lessons from labels that the owner did
	// not give as such (answers, moves, silence). In (0, 1].
	ImplicitWeight float64 `cbor:"13,keyasint"`
	// Bulk: more than so many alike changes seen live within one settle window
	// are a clean-up and teach nothing; 0: every change counts.
	Bulk int `cbor:"14,keyasint,omitempty"`
	// AnswerWeight is the weight of those of them that say important; ImplicitWeight
	// that of the others. In (0, 1].
	AnswerWeight float64 `cbor:"32,keyasint"`
	// Dual is of a dual learner.
	Dual Dual `cbor:"31,keyasint,omitzero"`
	// Kernel is of a kernel learner, which makes the updates of Learner. When the
	// kernel changes, learning begins anew.
	Kernel Kernel `cbor:"30,keyasint,omitzero"`
	// EarlyFor is how long feedback that came before its message waits for it, by
	// the account's clock; 0: not at all.
	EarlyFor time.Duration `cbor:"15,keyasint,omitempty"`
	// NamesFor is how long the names of a message's features are kept, by the
	// account's clock; 0: store.NamesFor. No decision depends on it.
	NamesFor time.Duration `cbor:"33,keyasint,omitempty"`
	// OwedDays is after how many days without an answer a letter is listed as owed or awaited
	// (Messages.Open); 0: never. No decision depends on it.
	OwedDays int `cbor:"45,keyasint,omitempty"`
	// MarkWithin is how old a message may be when it is found, to be marked; 0: of any
	// age.
	MarkWithin time.Duration `cbor:"40,keyasint,omitempty"`
	// Elsewhere is how long a message that was given \Deleted is looked for in the other
	// mailboxes before that counts: it may have been moved by copying and deleting.
	Elsewhere time.Duration `cbor:"41,keyasint,omitempty"`
	// Shared are mailboxes into which others put mail, too: the flags that it brings along are
	// theirs.
	Shared []string `cbor:"44,keyasint,omitempty"`
	// Rules decide the messages that they match, the first that does; rules that
	// came as an event (Ruled) stand in for them.
	Rules []Rule `cbor:"16,keyasint,omitempty"`
}

// Limits bound the account's state. Beyond one, what is oldest goes first,
// deterministically. Messages whose lessons a dual learner replays stay.
type Limits struct {
	Senders  int `cbor:"1,keyasint"`
	Threads  int `cbor:"2,keyasint"`
	IDs      int `cbor:"3,keyasint"`
	Messages int `cbor:"4,keyasint"`
	Weights  int `cbor:"5,keyasint"`
	Ledger   int `cbor:"6,keyasint"`
	Refusals int `cbor:"7,keyasint"`
	Early    int `cbor:"8,keyasint"` // feedback that waits for its message
	// Keep is how long messages and the history are remembered by the account's clock;
	// 0: for ever.
	Keep time.Duration `cbor:"9,keyasint,omitempty"`
	// Journal is how many journal entries lie at least behind what can be taken back, once
	// there were so many and Keep does not end it before; 0: 50,000.
	Journal int `cbor:"10,keyasint,omitempty"`
}

// Kernel makes the learner one over supports. The zero value leaves it linear.
type Kernel struct {
	Degree model.Kernel `cbor:"1,keyasint"`
	Budget int          `cbor:"2,keyasint"` // most supports
}

// Linear reports whether there is none.
func (k Kernel) Linear() bool { return k == Kernel{} }

// KernelSpec returns what a kernel learner is made of; its Kernel is 0 for a linear one.
func (o Options) KernelSpec() model.KernelSpec {
	return model.KernelSpec{Spec: o.Learner, Kernel: o.Kernel.Degree, Budget: o.Kernel.Budget}
}

// Another reports whether what was learnt under the options p is of no use under o.
func (o Options) Another(p Options) bool { return o.Kernel.Degree != p.Kernel.Degree }

// DefaultOptions returns the settings that measured best (docs/results.md).
func DefaultOptions() Options {
	return Options{
		Learner:     model.DefaultSpec(),
		Featurize:   featurize.DefaultOptions(),
		Threshold:   Threshold{Mode: ModeAuto, Precision: 0.45, Missed: 0.05, Share: 0.1, Cost: 3, UnsureShare: 0.03},
		Shadow:      ShadowAuto,
		Marks:       []string{"$Important"},
		Companion:   ingest.Companion,
		Settle:      time.Minute,
		SilenceDays: 7,
		TimeZone:    "UTC",
		Limits: Limits{
			Senders: 20_000, Threads: 50_000, IDs: 100_000,
			Messages: 100_000, Weights: 1 << 20, Ledger: 50_000, Refusals: 50_000,
			Early: 1_000,
		},
		ImplicitWeight: 1.0 / 3,
		AnswerWeight:   2.0 / 3,
		Dual: Dual{
			Window: 1000, Steps: 13, Horizon: 6 * time.Hour,
			MarkedHorizon: 3 * 24 * time.Hour, MarkedWeight: 1.0 / 6, Bold: 100,
		},
		Bulk:       50,
		OwedDays:   3,
		MarkWithin: 3 * 24 * time.Hour,
		Elsewhere:  3 * time.Minute,
		EarlyFor:   7 * 24 * time.Hour,
		NamesFor:   store.NamesFor,
	}
}

// Validate reports every reason why o cannot be used, joined.
func (o Options) Validate() error {
	t, d, l := o.Threshold, o.Dual, o.Limits
	errs := []error{o.Learner.Validate(), ValidateRules(o.Rules)}
	if !o.Kernel.Linear() && errs[0] == nil {
		errs = append(errs, o.KernelSpec().Validate())
	}
	_, zone := zones.Load(o.TimeZone)
	in := func(m Mode, ok bool) bool { return t.Mode != m || ok }
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	weight := func(w float64) bool { return w > 0 && w <= 1 }
	least := min(l.Senders, l.Threads, l.IDs, l.Messages, l.Weights, l.Ledger, l.Refusals, l.Early)
	shortest := min(o.Settle, o.EarlyFor, o.NamesFor, o.MarkWithin, o.Elsewhere, d.Horizon, d.MarkedHorizon, l.Keep)
	for _, c := range []struct {
		ok   bool
		what string
		is   any
		must string
	}{
		{o.Kernel.Linear() || o.Kernel.Budget >= 1 && o.Kernel.Budget <= 100_000, "the most supports", o.Kernel.Budget, "be from 1 to 100000"},
		{slices.Contains([]Mode{ModeAuto, ModeMissed, ModeBudget, ModeCost, ModeFixed}, t.Mode), "threshold mode", t.Mode, "be auto, missed, budget, cost or fixed"},
		{in(ModeAuto, t.Precision >= 0 && t.Precision < 1), "the precision promised", t.Precision, "be at least 0 and below 1"},
		{in(ModeMissed, t.Missed > 0 && t.Missed < 1), "the share that may be missed", t.Missed, "lie between 0 and 1"},
		{in(ModeBudget, t.Share > 0 && t.Share < 1), "threshold share", t.Share, "lie between 0 and 1"},
		{in(ModeCost, t.Cost > 0 && finite(t.Cost)), "threshold cost", t.Cost, "be a finite number above 0"},
		{in(ModeFixed, finite(t.Value)), "threshold value", t.Value, "be a finite number"},
		{t.UnsureShare >= 0 && t.UnsureShare < 1, "unsure share", t.UnsureShare, "be at least 0 and below 1"},
		{t.PerDay >= 0, "marks per day", t.PerDay, "be 0 (no cap) or more"},
		{slices.Contains([]Shadow{ShadowAuto, ShadowOn, ShadowOff}, o.Shadow), "shadow", o.Shadow, "be auto, on or off"},
		{o.SilenceDays >= 0, "days of silence", o.SilenceDays, "be 0 (off) or more"},
		{zone == nil, "time zone", o.TimeZone, "be a name of the IANA database"},
		{weight(o.ImplicitWeight), "implicit weight", o.ImplicitWeight, "be above 0 and at most 1"},
		{weight(o.AnswerWeight), "the weight of an answer", o.AnswerWeight, "be above 0 and at most 1"},
		{d.MarkedHorizon <= 0 || weight(d.MarkedWeight), "the weight of marked mail left alone", d.MarkedWeight, "be above 0 and at most 1"},
		{d.Window >= 0 && d.Window <= 10_000, "the replay window", d.Window, "be from 0 (no replay) to 10000"},
		{d.Steps >= 0 && d.Steps <= 100, "steps of replay for each message", d.Steps, "be from 0 to 100"},
		{d.Bold >= 0 && d.Bold <= 1000, "how many times more lessons may weigh", d.Bold, "be from 0 to 1000"},
		{o.OwedDays >= 0 && o.OwedDays <= OpenDays, "days until a letter is owed an answer", o.OwedDays, fmt.Sprintf("be from 0 (never) to %d", OpenDays)},
		{o.Bulk >= 0, "bulk", o.Bulk, "be 0 (every change counts) or more"},
		{o.Companion == "" || ingest.IsCompanion(ingest.CanonicalFlag(o.Companion)), "the companion", o.Companion, "begin with " + ingest.Companion + ", so that every hinged knows it"},
		{shortest >= 0, "a duration", shortest, "be 0 or more"},
		{l.Journal >= 0, "journal entries to keep", l.Journal, "be 0 or more"},
		{least >= 100, "a limit", least, "be at least 100"},
	} {
		if !c.ok {
			errs = append(errs, fmt.Errorf("%s is %v; it must %s", c.what, c.is, c.must))
		}
	}
	return errors.Join(errs...)
}

// optionsOf returns the options in force in a state.
func optionsOf(st *store.State) (Options, error) {
	set, _ := st.Settings.Get(store.SettingsKey)
	if len(set.Options) == 0 {
		return DefaultOptions(), nil
	}
	var o Options
	if err := decMode.Unmarshal(set.Options, &o); err != nil {
		return o, fmt.Errorf("reading the account's options: %w", err)
	}
	return o, nil
}

// SetsMarks reports whether anything is to be done with important messages.
func (o *Options) SetsMarks() bool { return len(o.Marks) > 0 || o.CopyTo != "" }
