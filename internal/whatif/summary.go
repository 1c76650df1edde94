// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"encoding/hex"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/filter"
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
