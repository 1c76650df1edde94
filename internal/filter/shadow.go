// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Tally counts how often a way to decide was right and wrong.
type Tally struct {
	Hits        int // important, and called so
	FalseAlarms int // ordinary, and called important
	Missed      int // important, and not called so
}

// Precision is the share of what was called important that was; 0 when nothing
// was called important.
func (t Tally) Precision() float64 { return share(t.Hits, t.Hits+t.FalseAlarms) }

// Recall is the share of what was important that was called so; 0 when nothing
// was important.
func (t Tally) Recall() float64 { return share(t.Hits, t.Hits+t.Missed) }

// F1 is the harmonic mean of precision and recall; 0 when nothing was hit.
func (t Tally) F1() float64 { return share(2*t.Hits, 2*t.Hits+t.FalseAlarms+t.Missed) }

func share(part, whole int) float64 {
	if part == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Count enters, n times, a message that was called important or not and was
// labelled so or not.
func (t *Tally) Count(called, important bool, n int) {
	switch {
	case called && important:
		t.Hits += n
	case called:
		t.FalseAlarms += n
	case important:
		t.Missed += n
	}
}

// Standing compares the decisions with the better of two baselines over the last
// labels, at most 2,000: each message as it was judged when it arrived, against
// the label that was learnt of it later.
//
// A decision counts here also while too few labels were learnt for it to be
// taken: what would have been called important. A share or a cost that the owner
// chose is no matter of quality, so decisions are compared at the threshold of
// the best F1, or at the fixed one.
type Standing struct {
	Labels    int // in the window
	Important int // of those
	// Mistakes are labels that the score at arrival was wrong about; 0 is wrong.
	Mistakes  int
	Decisions Tally
	// Correspondents calls important what comes from an address that the owner
	// had written to before. The other baseline calls nothing important; its F1
	// is 0.
	Correspondents Tally
}

func (s *Standing) count(e *store.Scored, n int) {
	if e.Unknown {
		return
	}
	important := e.Label == model.Important
	s.Labels += n
	if important {
		s.Important += n
	}
	if model.ZeroUnsure.Mistake(e.Label, float64(e.Score)) {
		s.Mistakes += n
	}
	s.Decisions.Count(e.Above, important, n)
	s.Correspondents.Count(e.Correspondent, important, n)
}

// Baseline is a simple rule, and how it would have decided.
type Baseline struct {
	Name string // what it calls important, in words
	Tally
}

// Baselines are the simple rules that the decisions are compared with.
func (s Standing) Baselines() []Baseline {
	return []Baseline{
		{"mail from people you write to", s.Correspondents},
		{"all mail", Tally{Hits: s.Important, FalseAlarms: s.Labels - s.Important}},
		{"no mail", Tally{Missed: s.Important}},
	}
}

// BetterBy is by how much an F1 must be greater than that of a simple rule to be called
// better: less is chance, and no use to anybody.
const BetterBy = 0.05

// Better reports whether the decisions are better than each of the baselines.
func (s Standing) Better() bool {
	return !slices.ContainsFunc(s.Baselines(), func(b Baseline) bool { return s.Decisions.F1() < b.F1()+BetterBy })
}

// InShadow reports whether decisions are recorded and nothing is marked.
//
// ShadowAuto ends by itself once a few important labels are known and the promise of
// precision can be kept, and comes back only where even the surest messages can't keep it.
// From FirstLabels important labels on it marks a few messages a day; from judgedLabels on, as
// many as the threshold calls important, and then an account has Proven itself: it goes on
// marking also when the window holds fewer. The owner brings the shadow back with ShadowOn;
// after that ShadowAuto begins anew.
func (f *Line) InShadow() bool {
	switch f.opts.Shadow {
	case ShadowOff:
		return false
	case ShadowOn:
		return true
	default:
		return !f.ready()
	}
}

// The first days. With 3 labels, not 4, a reader who answers three questions a day gets the first
// mark a day earlier, F1 of who answers is .02 higher without a past and .01 after 30 messages, and
// marks are right as often; 8 or 16, not 12, give less on one of two generators (bench/mailbox).
const (
	// FirstLabels is after how many important labels the first marks are set.
	FirstLabels = 3
	// firstMarks is how many messages of a day are marked until the promise can be judged.
	firstMarks = 3
	// judgedLabels is from how many important labels on it can.
	judgedLabels = 12
)

// judgeable reports whether enough labels are known to tell how often marks are right.
func (f *Line) judgeable() bool { return f.standing.Important >= judgedLabels }

// fewADay reports whether only the surest few messages of a day are marked.
func (f *Line) fewADay() bool {
	return f.opts.Shadow == ShadowAuto && !f.st.Account.Proven && !f.judgeable()
}

// amongSurest reports whether fewer than firstMarks messages of the last 24 hours scored more
// than m. A rule needs no score. With it precision in the first days is .01 to .02 higher.
func (f *Messages) amongSurest(m *store.Message) bool {
	since, above := f.st.Account.Clock.Add(-24*time.Hour), 0
	for _, other := range f.Newest() {
		if other.Arrived < since {
			break
		}
		if other.Outcome != store.Undecided && other.Score > m.Score {
			above++
		}
	}
	return above < firstMarks || m.Rule != 0
}

// ready reports whether ShadowAuto marks: a few important labels are known, and the promise can
// be kept, as far as one can tell.
func (f *Line) ready() bool {
	few := !f.Trained() || f.standing.Important < FirstLabels
	return f.fitted().Kept && (f.st.Account.Proven || !few)
}

// earned reports whether marks are set without the limit of the first days.
func (f *Line) earned() bool { return f.judgeable() && f.ready() }

// Marking says in words whether marks are set and, if not, what is missing.
func (f *Status) Marking() string {
	a, t := &f.st.Account, f.opts.Threshold
	switch c := f.line.fitted(); {
	case a.Paused:
		return "no: paused"
	case f.opts.Shadow == ShadowOn:
		return "no: shadow is on; hinged records its decisions and sets no mark"
	case !f.opts.marking():
		return "no: no mark is configured"
	case f.line.InShadow() && !c.Kept:
		return fmt.Sprintf("no: even of the messages that it is surest of, only %.0f %% are likely to be important; it marks nothing until %s",
			100*c.Precision, f.asked())
	case f.line.InShadow():
		return fmt.Sprintf("not yet: of the messages that it learnt from, %d are important; the first marks come with %d", f.line.standing.Important, FirstLabels)
	default:
		marks := f.opts.Marks
		if f.opts.CopyTo != "" {
			marks = append(slices.Clone(marks), "a copy in "+f.opts.CopyTo)
		}
		yes := "yes: " + strings.Join(marks, ", ")
		if f.line.fewADay() {
			return fmt.Sprintf("%s; at most %d a day, the surest, until %d important messages are known (now %d)", yes, firstMarks, judgedLabels, f.line.standing.Important)
		}
		if t.Mode == ModeMissed {
			return fmt.Sprintf("%s; to miss at most %.0f %% of what matters takes about %.0f marks per 100 messages", yes, 100*t.Missed, 100*f.Counts().Above)
		}
		return yes
	}
}

// asked says in words which precision marks must have.
func (f *Status) asked() string {
	t, s := f.opts.Threshold, f.line.standing
	if promise := share(s.Important, s.Labels) + betterBy; promise > t.Precision {
		return fmt.Sprintf("%.0f %% are, more than if everything was marked", 100*promise)
	}
	return fmt.Sprintf("%.0f %% are, as promised (threshold.precision)", 100*t.Precision)
}

// EndOfShadow says in words what would end the shadow; "" when there is none, or
// nothing but the owner's word can end it.
func (f *Status) EndOfShadow() string {
	if !f.line.InShadow() || f.opts.Shadow == ShadowOn || f.st.Account.Paused || !f.opts.marking() {
		return ""
	}
	want := "better decisions, which it learns from what you star, answer or mark"
	if c := f.line.fitted(); !c.Kept {
		want += "; or a lower threshold.precision"
	} else if n := FirstLabels - f.line.standing.Important; n > 0 {
		noun := "messages"
		if n == 1 {
			noun = "message"
		}
		want = fmt.Sprintf("%d more %s that you star, answer or mark", n, noun)
	} else {
		want = "a message that you throw away unread or leave alone"
	}
	return want + `; or shadow = "off" in the configuration`
}

// WouldMark returns the messages, newest first and n at most, that hinged would have marked if
// marks were set without limit: of the last wouldMarkWithin messages.
func (f *Messages) WouldMark(n int) []store.MessageKey {
	var out []store.MessageKey
	for _, k := range slices.Backward(f.oldest[max(0, len(f.oldest)-wouldMarkWithin):]) {
		m, known := f.st.Messages.Get(string(k[:]))
		if len(out) < n && known && m.Outcome == store.DecidedImportant && m.Reason == store.ReasonShadow {
			out = append(out, k)
		}
	}
	return out
}

// wouldMarkWithin bounds the time that WouldMark takes.
const wouldMarkWithin = 1000

// Warnings says in words what the owner should look into, the gravest first.
func (f *Status) Warnings() []string {
	a := &f.st.Account
	out := []string{}
	if why := f.silentLearning(); why != "" {
		out = append(out, why)
	}
	if why := f.Strangers(); why != "" {
		out = append(out, why)
	}
	if d, c := f.line.standing.Decisions, f.line.standing.Correspondents; f.opts.Shadow == ShadowAuto && a.Proven && d.F1() <= c.F1() && d.Precision() <= c.Precision() {
		out = append(out, fmt.Sprintf("over the last %d labels its decisions have F1 %.2f, knowing your correspondents alone has %.2f: its marks are of little use now; shadow = \"on\" stops them",
			f.line.standing.Labels, d.F1(), c.F1()))
	}
	if n, long := f.Passed(); long && !f.line.InShadow() && !a.Paused && f.opts.marking() {
		out = append(out, fmt.Sprintf("hinged has marked nothing for a long time: none of the last %d messages scored above the threshold, but %.0f %% of those judged recently were important; star or mark what hinged should have marked, and it learns from that",
			n, 100*share(f.line.standing.Important, f.line.standing.Labels)))
	}
	if why := Forgeable(f.learning.rules.list, f.opts.Featurize.AuthServID); why != "" {
		out = append(out, why)
	}
	return out
}

// Strangers says in words that another program sets the mark, or did not long ago; ""
// if none did.
func (f *Status) Strangers() string {
	a := &f.st.Account
	if a.Strangers == 0 || a.Clock > a.StrangerAt.Add(strangerMemory) {
		return ""
	}
	who, also := "another program sets the same mark in this mailbox", ""
	switch {
	case a.Twins == a.Strangers:
		who = "another hinged sets the same mark in this mailbox"
	case a.Twins > 0:
		who = "another hinged and another program set the same mark in this mailbox"
	}
	day := func(at store.Moment) string { return at.Time().In(f.zone).Format("2 January 2006") }
	if f.Voice.programKnown() {
		also = ", nor, until " + day(a.HastyAt.Add(strangerMemory)) + ", from marks that appear while it isn't running"
	}
	return fmt.Sprintf("%s (%d so far, last on %s); hinged learns nothing from its marks%s, and you can't tell them from hinged's: choose another mark here, or switch one of the programs off",
		who, a.Strangers, day(a.StrangerAt), also)
}
