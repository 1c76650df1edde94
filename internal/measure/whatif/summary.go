// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Bounds of what an answer holds.
const (
	mostPoints      = 400
	mostDifferences = 100
)

// summarise fills in what is known so far.
func (p *course) summarise(out *Run) {
	out.Messages, out.Total, out.FromStart = len(p.records), max(p.total, len(p.records)), p.fromStart
	if p.end > p.first {
		out.Progress = float64(p.next-p.first) / float64(p.end-p.first)
	}
	if len(p.records) > 0 {
		from, to := p.records[0].at.Time(), p.records[len(p.records)-1].at.Time()
		out.From, out.UpTo = &from, &to
	}
	out.Today, out.Other = p.figures(0), p.figures(1)
	out.Points, out.Weeks = p.points(), p.weeks()
	silent := p.compare(out)
	out.Verdict = out.judge()
	out.Recommendation = out.recommend(silent)
}

// called is what one judgement comes to.
type called struct{ right, takenOff, leftAlone, open, missed bool }

func (r *record) called(i int) (c called) {
	marked, important := r.by[i].marked, r.known.label == model.Important
	switch {
	case !r.judged():
		c.open = marked
	case marked && important:
		c.right = true
	case marked && r.known.source == store.SourceSilence:
		c.leftAlone = true
	case marked:
		c.takenOff = true
	case important:
		c.missed = true
	}
	return c
}

func (c called) wrong() bool { return c.takenOff || c.missed }

func add(n *int, is bool) {
	if is {
		*n++
	}
}

// figures are those of one group of settings.
func (p *course) figures(i int) Figures {
	f := Figures{Decided: len(p.records)}
	for at := range p.records {
		r := &p.records[at]
		c := r.called(i)
		add(&f.Marked, r.by[i].marked)
		add(&f.Unsure, r.by[i].outcome == store.DecidedUnsure)
		add(&f.Right, c.right)
		add(&f.TakenOff, c.takenOff)
		add(&f.LeftAlone, c.leftAlone)
		add(&f.Open, c.open)
		add(&f.Missed, c.missed)
	}
	if f.Decided > 0 {
		f.Share = float64(f.Marked) / float64(f.Decided)
	}
	f.Wrong, f.Kept = f.TakenOff+f.Missed, f.Marked-f.TakenOff
	t := filter.Tally{Hits: f.Right, FalseAlarms: f.TakenOff + f.LeftAlone, Missed: f.Missed}
	f.Precision, f.Recall, f.F1 = t.Precision(), t.Recall(), t.F1()
	l := p.learnt[i]
	f.Lessons, f.Mistakes, f.HingeLoss = int(l.Lessons), int(l.Mistakes), l.HingeLoss
	if l.ProvenAt != 0 {
		at := l.ProvenAt.Time()
		f.MarksFrom = &at
	}
	return f
}

// points are the curves: the beginning, every change, thinned out where there are too
// many, and the end.
func (p *course) points() []Point {
	if len(p.records) == 0 {
		return []Point{}
	}
	now := Point{At: p.records[0].at.Time()}
	all := []Point{now}
	for at := range p.records {
		r := &p.records[at]
		was := now
		add(&now.Today, r.called(0).wrong())
		add(&now.Other, r.called(1).wrong())
		if now.At = r.at.Time(); now.Today != was.Today || now.Other != was.Other {
			all = append(all, now)
		}
	}
	if last := len(all) - 1; last > mostPoints-2 {
		thin := make([]Point, 0, mostPoints)
		for i := range mostPoints - 1 {
			thin = append(thin, all[i*last/(mostPoints-2)])
		}
		all = thin
	}
	return append(all, now)
}

// weeks are the figures by week.
func (p *course) weeks() []Week {
	out := []Week{}
	for at := range p.records {
		r := &p.records[at]
		from := monday(r.at.Time().In(p.zone))
		if len(out) == 0 || !out[len(out)-1].From.Equal(from) {
			out = append(out, Week{From: from})
		}
		w := &out[len(out)-1]
		w.Decided++
		for i, part := range []*WeekPart{&w.Today, &w.Other} {
			add(&part.Marked, r.by[i].marked)
			add(&part.Wrong, r.called(i).wrong())
		}
	}
	return out
}

// monday is when the week of t began.
func monday(t time.Time) time.Time {
	since := (int(t.Weekday()) + 6) % 7
	return time.Date(t.Year(), t.Month(), t.Day()-since, 0, 0, 0, 0, t.Location())
}

// compare fills in where the two settings differ. silent counts the messages that are
// ordinary because the owner did nothing with them.
func (p *course) compare(out *Run) (silent int) {
	for at := range p.records {
		r := &p.records[at]
		out.Live.Decided++
		add(&out.Live.Differ, r.by[0].outcome != r.live)
		if r.by[0].marked == r.by[1].marked {
			continue
		}
		out.Differ++
		if r.judged() {
			important, other := r.known.label == model.Important, r.by[1].marked
			add(&out.FoundOther, important && other)
			add(&out.FoundToday, important && !other)
			add(&out.FalseOther, !important && other)
			add(&out.FalseToday, !important && !other)
			add(&silent, r.known.source == store.SourceSilence)
		}
	}
	for at := range slices.Backward(p.records) {
		r := &p.records[at]
		if r.by[0].marked != r.by[1].marked && len(out.Differences) < mostDifferences {
			out.Differences = append(out.Differences, r.difference())
		}
	}
	out.FoundChance, out.FalseChance = signTest(out.FoundOther, out.FoundToday), signTest(out.FalseOther, out.FalseToday)
	return silent
}

func (r *record) difference() Difference {
	d := Difference{Message: hex.EncodeToString(r.key[:]), Arrived: r.at.Time(), Today: r.by[0].told(), Other: r.by[1].told()}
	if r.judged() {
		d.Label, d.Source = r.known.label.String(), r.known.source.String()
	}
	return d
}

func (j *judgement) told() Decided {
	return Decided{Outcome: j.outcome.String(), Marked: j.marked, Score: j.score, Threshold: j.threshold}
}

// chanceMost is the chance from which on a difference counts as noise. Two are tested, so
// that together one in twenty comparisons of settings that are equally good says otherwise.
const chanceMost = 0.025

// fewest is how many messages must differ for a sign test to reach that: all of them
// in one direction.
const fewest = 7

// signTest returns the probability of a split at least as uneven as a to b if each of the
// a+b were as likely to fall on either side: the exact two-sided sign test, which on pairs
// is McNemar's. 1 if there are none.
func signTest(a, b int) float64 {
	n, sum := a+b, 0.0
	lfact := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	for k := range min(a, b) + 1 {
		sum += math.Exp(lfact(n) - lfact(k) - lfact(n-k) - float64(n)*math.Ln2)
	}
	return min(1, 2*sum)
}

// split is a number of messages that the other settings alone would have marked, and that
// of those that today's alone would have.
type split struct{ other, today int }

// direction is 1 if the other settings clearly mark more of them, -1 if fewer, and 0 if
// the difference may be chance.
func (s split) direction() int {
	switch {
	case signTest(s.other, s.today) >= chanceMost:
		return 0
	case s.other > s.today:
		return 1
	default:
		return -1
	}
}

// judge finds the verdict.
//
// The rule: of the messages that only one of the two settings would have marked, those
// count whose label is known, silence included. Among the important ones it matters which
// settings find more, among the ordinary ones which mark fewer; each by a sign test. One of
// the settings is better if it is so in one of the two, and the other one is not in the
// other. If each is better in one, that is a choice that no figure makes for the owner:
// F1 would set a price for it, and so would counting every message once.
func (r *Run) judge() Verdict {
	found, wrong := split{r.FoundOther, r.FoundToday}.direction(), split{r.FalseOther, r.FalseToday}.direction()
	switch {
	case r.Differ == 0:
		return Same
	case found == 0 && wrong == 0:
		return Unclear
	case found*wrong > 0:
		return Choice
	case found > 0 || wrong < 0:
		return Better
	default:
		return Worse
	}
}

// recommend says in words what the figures support. silent are those of the messages that
// differ that count as ordinary because the owner did nothing with them.
func (r *Run) recommend(silent int) string {
	if r.Messages == 0 {
		return "There is nothing to replay yet."
	}
	found, wrong := r.FoundOther-r.FoundToday, r.FalseOther-r.FalseToday
	var head string
	switch r.Verdict {
	case Same:
		return fmt.Sprintf("Nothing would be different: both settings would mark the same %s.", count(r.Today.Marked, "message"))
	case Better:
		head = "The other settings would have been better."
	case Worse:
		head = "Keep today's settings."
	case Choice:
		if found > 0 {
			head = fmt.Sprintf("This is for you to choose: the other settings find %s, and put %s on ordinary mail.",
				count(found, "more important message"), count(wrong, "more mark"))
		} else {
			head = fmt.Sprintf("This is for you to choose: the other settings put %s on ordinary mail, and miss %s.",
				count(-wrong, "fewer mark"), count(-found, "more important message"))
		}
	default:
		head = "The difference may be chance."
		if max(r.FoundOther+r.FoundToday, r.FalseOther+r.FalseToday) < fewest {
			head = "There are too few labels to tell."
		}
	}
	a, b := &r.Today, &r.Other
	out := fmt.Sprintf("%s The other settings would mark %.1f %% of the mail instead of %.1f %%. They find %d of %s instead of %d, and mark %s instead of %d.",
		head, 100*b.Share, 100*a.Share, b.Right, count(b.Right+b.Missed, "important message"), a.Right,
		count(b.TakenOff+b.LeftAlone, "ordinary message"), a.TakenOff+a.LeftAlone)
	if silent > 0 {
		out += fmt.Sprintf(" Of the %s on which they differ, %d count as ordinary because you did nothing with them.", count(r.Differ, "message"), silent)
	}
	return out
}

// count is a number of things, in words.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
