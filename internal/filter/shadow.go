// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"slices"
	"strings"

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

// Beats reports whether the decisions have a better F1 than both baselines. A
// tie is no win.
func (s Standing) Beats() bool {
	return s.Decisions.F1() > max(s.Correspondents.F1(), 0)
}

// Standing returns how the decisions compare now.
func (f *Filter) Standing() Standing { return f.standing }

// InShadow reports whether decisions are recorded and nothing is marked.
//
// ShadowAuto ends by itself once that is earned: enough was learnt of each class,
// the decisions beat the baselines and are right as often as MinPrecision asks, and
// were so at each of the last important labels, half as many as MinImportant, for of
// many comparisons one is won by chance. With
// the first mark that is set it has ended for good, also when the decisions fall
// behind later: marks that come and go by themselves would be worse than a few
// wrong ones, and status says how the comparison stands. The owner brings it back
// with ShadowOn; after that ShadowAuto begins anew.
func (f *Filter) InShadow() bool {
	switch f.opts.Shadow {
	case ShadowOff:
		return false
	case ShadowOn:
		return true
	default:
		return !f.st.Account.Proven && !f.earned()
	}
}

// keepAhead counts, with every label learnt, at how many important ones in a row
// the decisions were good enough.
func (f *Filter) keepAhead(label model.Label) {
	a := &f.st.Account
	switch {
	case !f.good():
		a.Ahead = 0
	case label == model.Important:
		a.Ahead++
	}
}

// good reports whether the decisions of late are better than the baselines and would
// have marked few enough messages wrongly.
func (f *Filter) good() bool {
	return f.standing.Beats() && f.standing.Decisions.Precision() >= f.opts.MinPrecision
}

func (f *Filter) earned() bool {
	return f.trained() && f.good() && int(f.st.Account.Ahead) >= f.opts.MinImportant/2
}

// Marking says in words whether marks are set and, if not, what is missing and
// what would end it.
func (f *Filter) Marking() string {
	a, s := &f.st.Account, f.standing
	learnt := fmt.Sprintf("learnt %d of %d important, %d of %d ordinary", a.Important, f.opts.MinImportant, a.Ordinary, f.opts.MinOrdinary)
	switch {
	case a.Paused:
		return "no: paused"
	case f.opts.Shadow == ShadowOn:
		return "no: shadow is on; hinged records its decisions and sets no mark"
	case !f.opts.marking():
		return "no: no mark is configured"
	case !f.trained() && f.InShadow():
		return "not yet: " + learnt
	case !f.trained():
		return "not yet: shadow is off, but hinged has not learnt enough to decide: " + learnt
	case f.InShadow() && s.Beats() && !f.good():
		return fmt.Sprintf("not yet: of the messages that it would have marked over the last %d labels, %.0f %% were important; it marks nothing until %.0f %% are",
			s.Labels, 100*s.Decisions.Precision(), 100*f.opts.MinPrecision)
	case f.InShadow() && s.Beats():
		return fmt.Sprintf("not yet: its decisions (F1 %.2f) are better than knowing your correspondents alone (%.2f) since %d important labels; it must stay so for %d",
			s.Decisions.F1(), s.Correspondents.F1(), a.Ahead, f.opts.MinImportant/2)
	case f.InShadow() && s.Correspondents.F1() > 0:
		return fmt.Sprintf("not yet: over the last %d labels its decisions have F1 %.2f; knowing your correspondents alone: %.2f; it marks nothing until they are better",
			s.Labels, s.Decisions.F1(), s.Correspondents.F1())
	case f.InShadow():
		return fmt.Sprintf("not yet: over the last %d labels its decisions have F1 %.2f, no better than marking nothing; it marks nothing until they are better",
			s.Labels, s.Decisions.F1())
	default:
		marks := f.opts.Marks
		if f.opts.CopyTo != "" {
			marks = append(slices.Clone(marks), "a copy in "+f.opts.CopyTo)
		}
		return "yes: " + strings.Join(marks, ", ")
	}
}

// EndOfShadow says in words what would end the shadow; "" when there is none, or
// nothing but the owner's word can end it.
func (f *Filter) EndOfShadow() string {
	a := &f.st.Account
	if !f.InShadow() || f.opts.Shadow == ShadowOn || a.Paused || !f.opts.marking() {
		return ""
	}
	var want []string
	if need := uint64(f.opts.MinImportant); a.Important < need {
		want = append(want, moreMessages(need-a.Important))
	}
	if need := uint64(f.opts.MinOrdinary); a.Ordinary < need {
		left := ""
		if f.opts.SilenceDays > 0 {
			left = fmt.Sprintf(", or leave alone for %d days of yours", f.opts.SilenceDays)
		}
		want = append(want, fmt.Sprintf("%d more that you throw away unread or call junk%s", need-a.Ordinary, left))
	}
	if len(want) == 0 && f.good() {
		want = append(want, moreMessages(uint64(f.opts.MinImportant/2-int(a.Ahead)))+", if it stays better until then")
	}
	if len(want) == 0 {
		want = append(want, "decisions that are better than that")
	}
	return strings.Join(want, ", and ") + `; or shadow = "off" in the configuration`
}

// moreMessages says how many messages are still wanted that the owner shows to be important.
func moreMessages(n uint64) string {
	noun := "messages"
	if n == 1 {
		noun = "message"
	}
	return fmt.Sprintf("%d more %s that you star, answer or mark", n, noun)
}

// Warnings says in words what the owner should look into, the gravest first.
func (f *Filter) Warnings() []string {
	a := &f.st.Account
	out := []string{}
	if why := f.silentLearning(); why != "" {
		out = append(out, why)
	}
	if why := f.strangers(); why != "" {
		out = append(out, why)
	}
	if s := f.standing; f.opts.Shadow == ShadowAuto && a.Proven && !s.Beats() {
		out = append(out, fmt.Sprintf("over the last %d labels its decisions have F1 %.2f, knowing your correspondents alone has %.2f: its marks are of little use now; shadow = \"on\" stops them",
			s.Labels, s.Decisions.F1(), s.Correspondents.F1()))
	}
	if n, long := f.Passed(); long && !f.InShadow() && !a.Paused && f.opts.marking() {
		out = append(out, fmt.Sprintf("hinged has marked nothing for a long time: none of the last %d messages scored above the threshold, but %.0f %% of those judged recently were important; star or mark what hinged should have marked, and it learns from that",
			n, 100*share(f.standing.Important, f.standing.Labels)))
	}
	if why := Forgeable(f.rules.list, f.opts.Featurize.AuthServID); why != "" {
		out = append(out, why)
	}
	return out
}

// strangers says in words that another program sets the mark, or did not long ago; ""
// if none did.
func (f *Filter) strangers() string {
	a := &f.st.Account
	if a.Strangers == 0 || a.Clock > a.StrangerAt.Add(strangerMemory) {
		return ""
	}
	who := "another program sets the same mark in this mailbox"
	switch {
	case a.Twins == a.Strangers:
		who = "another hinged sets the same mark in this mailbox"
	case a.Twins > 0:
		who = "another hinged and another program set the same mark in this mailbox"
	}
	return fmt.Sprintf("%s (%d so far, last on %s); hinged learns nothing from its marks, but you can't tell them from hinged's: choose another mark here, or switch one of the programs off",
		who, a.Strangers, a.StrangerAt.Time().In(f.zone).Format("2 January 2006"))
}
