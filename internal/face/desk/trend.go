// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/measure/ceiling"
	"github.com/hinged/hinged/store"
)

// GetTrend shows how an account has been doing over time. The lessons are read outside
// of Look: that takes its time.
var GetTrend = offer(Verb[TrendRequest, Trend]{
	Name: "trend", do: ofAccount(getTrend),
	API: &API{Summary: "Mistakes, loss, decisions and marks over time", Reads: true, Figures: true},
})

// TrendRequest says about which days.
type TrendRequest struct {
	Days  int        `json:"days,omitempty" jsonschema:"minimum=0"` // Days is the number of days, the last one included; 0: 28, and never more than 370.
	Until *time.Time `json:"until,omitempty"`                       // Until is a moment of the last day; absent: today.
}

// Trend is how an account has been doing over time. The curves are about the lessons in
// the lesson log, as in bound; days and weeks are about the messages that arrived in
// them.
type Trend struct {
	Account  string `json:"account"`   // Account is the account that the figures belong to.
	TimeZone string `json:"time_zone"` // TimeZone is the time zone in which the days begin.

	FirstLesson      uint64     `json:"first_lesson"`            // FirstLesson is the number of the first lesson of the curves: the oldest one in the lesson log.
	LessonsSince     *time.Time `json:"lessons_since,omitempty"` // LessonsSince is the time of that lesson; absent if there are no lessons.
	Lessons          int        `json:"lessons"`                 // Lessons is the number of lessons of the curves.
	EarlierMistakes  uint64     `json:"earlier_mistakes"`        // EarlierMistakes is the number of mistakes before that. With those of the curve it is the number in status.
	EarlierHingeLoss float64    `json:"earlier_hinge_loss"`      // EarlierHingeLoss is the hinge loss summed over the lessons before that.
	// Mistakes are points of the curves of mistakes, ceiling and summed hinge loss, in
	// the order of the lessons, at most 300. The last point is about the last lesson.
	Mistakes  []TrendPoint `json:"mistakes"`
	NoCeiling string       `json:"no_ceiling,omitempty"` // NoCeiling says why no theorem covers the lessons; "" if one does.

	From time.Time `json:"from"` // From is the beginning of the first day.
	To   time.Time `json:"to"`   // To is the end of the last day.
	// CountedSince is when the oldest message arrived that is still known, if there were
	// earlier ones. Days before that have no figures, and the first one has too few.
	CountedSince *time.Time    `json:"counted_since,omitempty"`
	MarkingSince *time.Time    `json:"marking_since,omitempty"` // MarkingSince is when the shadow ended by itself; absent if it did not.
	Days         []TrendDay    `json:"days"`                    // Days are in order, each day once.
	Weeks        []TrendPeriod `json:"weeks"`                   // Weeks are periods of seven days, the newest first. The last one may be shorter.
	Sum          TrendPeriod   `json:"sum"`                     // Sum is about all of the days.

	MarkedShare float64 `json:"marked_share"`            // MarkedShare is the share of decided messages that were marked.
	Budget      float64 `json:"budget,omitempty"`        // Budget is the share of mail that may be marked; absent if the threshold is not set by a budget.
	PerDay      int     `json:"marks_per_day,omitempty"` // PerDay is the most marks that may be set on one day; absent if there is no limit.
	// KeptShare is the share of marks that the owner left on, among those and the marks
	// that the owner removed; absent if there are none. Marks that hinged removed at the
	// owner's request count as neither. It is the precision of the marks, as the owner
	// judges them.
	KeptShare *float64 `json:"kept_share,omitempty"`
	// FoundShare is the share of important messages that were decided important; absent
	// if there were none. It is the recall of the decisions.
	FoundShare *float64 `json:"found_share,omitempty"`
}

// TrendPoint is a point of the curves over the lessons.
type TrendPoint struct {
	At        time.Time `json:"at"`         // At is when the lesson was learnt.
	Lesson    int       `json:"lesson"`     // Lesson counts the lessons of the curves up to this point, this one included.
	Mistakes  uint64    `json:"mistakes"`   // Mistakes counts the mistakes in these lessons.
	Ceiling   int64     `json:"ceiling"`    // Ceiling is the certified maximum of mistakes in these lessons; -1 if there is none.
	HingeLoss float64   `json:"hinge_loss"` // HingeLoss is the hinge loss summed over these lessons.
}

// TrendDay is what happened to the messages that arrived on one day.
type TrendDay struct {
	Day string `json:"day"` // Day is the date, such as 2026-03-12.
	TrendCounts
}

// TrendPeriod is what happened to the messages that arrived within some days.
type TrendPeriod struct {
	From string `json:"from"` // From is the date of the first day.
	To   string `json:"to"`   // To is the date of the last day.
	TrendCounts
}

// TrendCounts counts messages by their day of arrival, as they are known now.
type TrendCounts struct {
	Decided     int `json:"decided"`         // Decided counts the messages that were decided.
	Important   int `json:"important"`       // Important counts those that were decided important.
	Unsure      int `json:"unsure"`          // Unsure counts those that were decided unsure.
	Ordinary    int `json:"ordinary"`        // Ordinary counts those that were decided ordinary.
	Marked      int `json:"marked"`          // Marked counts messages on which hinged set a mark.
	TakenOff    int `json:"taken_off"`       // TakenOff counts marked messages from which the owner removed the mark.
	Undone      int `json:"undone"`          // Undone counts marked messages from which hinged removed the mark at the owner's request.
	Kept        int `json:"kept"`            // Kept counts all other marked messages.
	Judged      int `json:"judged"`          // Judged counts decided messages whose label is known by now.
	Found       int `json:"found"`           // Found counts messages that were decided important and are important according to their label.
	Missed      int `json:"missed"`          // Missed counts messages that are important according to their label and were not decided so.
	FalseAlarms int `json:"false_alarms"`    // FalseAlarms counts messages that were decided important and are ordinary according to their label.
	ByOwner     int `json:"wrong_by_owner"`  // ByOwner counts the wrong decisions that the owner's own actions show; silence shows the others.
	Wrong       int `json:"wrong_decisions"` // Wrong counts missed messages and false alarms together.
	// SimpleRule counts the decisions that would have been wrong with a simple rule: a
	// message is important if the owner had written to its sender before.
	SimpleRule int `json:"simple_rule_wrong"`
}

const (
	trendUsual = 28
	trendMost  = 370
	weekDays   = 7
)

// getTrend reads the lessons outside of Look.
func getTrend(ctx context.Context, a Account, q TrendRequest) (out Trend, err error) {
	var past Past
	var now ceiling.State
	var kept *ceiling.Kept
	var mistakes uint64
	var loss float64
	err = a.Look(ctx, func(d *Desk) error {
		past, kept, now = d.Past, d.Ceilings, ceiling.StateOf(d.Filter, d.Rewrites)
		acc := &d.Filter.State().Account
		mistakes, loss = acc.Mistakes, acc.HingeLoss
		out = d.trend(q)
		return nil
	})
	if err != nil {
		return out, err
	}
	c, err := kept.Course(ctx, past.Store, past.Account, now)
	if err != nil {
		return out, err
	}
	out.FirstLesson, out.Lessons, out.NoCeiling = c.FirstLesson, c.Lessons, c.NoCeiling
	out.EarlierMistakes = mistakes - min(mistakes, c.Mistakes)
	out.EarlierHingeLoss = max(0, loss-c.HingeLoss)
	out.Mistakes = []TrendPoint{}
	if !c.Since.IsZero() {
		out.LessonsSince = &c.Since
	}
	for _, p := range c.Points {
		out.Mistakes = append(out.Mistakes, TrendPoint{At: p.At, Lesson: p.Lessons, Mistakes: p.Mistakes, Ceiling: p.Ceiling, HingeLoss: p.HingeLoss})
	}
	return out, nil
}

// trend counts the messages of some days.
func (d *Desk) trend(q TrendRequest) Trend {
	f := d.Filter
	o, acc, zone := f.Options(), &f.State().Account, f.Zone()
	n := min(max(q.Days, 0), trendMost)
	if n == 0 {
		n = trendUsual
	}
	until := d.Now().Time()
	if q.Until != nil {
		until = *q.Until
	}
	y, m, day := until.In(zone).Date()
	begins := make([]time.Time, n+1)
	for i := range begins {
		begins[i] = time.Date(y, m, day-n+1+i, 0, 0, 0, 0, zone)
	}
	out := Trend{
		Account: d.Account, TimeZone: zone.String(), From: begins[0], To: begins[n],
		Days: make([]TrendDay, n), Weeks: []TrendPeriod{}, PerDay: o.Threshold.PerDay,
	}
	if o.Threshold.Mode == filter.ModeBudget {
		out.Budget = o.Threshold.Share
	}
	if acc.Proven {
		out.MarkingSince = TimeOf(acc.ProvenAt)
	}
	for i := range out.Days {
		out.Days[i].Day = begins[i].Format(time.DateOnly)
	}
	last := n - 1
	for k, m := range f.Messages.Newest() {
		at := m.Arrived.Time()
		for last >= 0 && at.Before(begins[last]) {
			last--
		}
		if last < 0 {
			break
		}
		if at.Before(begins[n]) {
			state, entered := f.Ledger().LastMark(k)
			out.Days[last].count(&m, state, entered)
		}
	}
	if oldest, ok := f.Messages.Oldest(); ok && uint64(f.State().Messages.Len()) < acc.Messages {
		out.CountedSince = TimeOf(oldest)
	}
	for end := n; end > 0; end -= weekDays {
		week := TrendPeriod{From: out.Days[max(0, end-weekDays)].Day, To: out.Days[end-1].Day}
		for _, day := range out.Days[max(0, end-weekDays):end] {
			week.Add(&day.TrendCounts)
		}
		out.Sum.Add(&week.TrendCounts)
		out.Weeks = append(out.Weeks, week)
	}
	out.Sum.From, out.Sum.To = out.Days[0].Day, out.Days[n-1].Day
	out.shares()
	return out
}

func (t *Trend) shares() {
	share := func(part, whole int) *float64 {
		if whole == 0 {
			return nil
		}
		s := float64(part) / float64(whole)
		return &s
	}
	if s := share(t.Sum.Marked, t.Sum.Decided); s != nil {
		t.MarkedShare = *s
	}
	t.KeptShare = share(t.Sum.Kept, t.Sum.KeptOrTakenOff())
	t.FoundShare = share(t.Sum.Found, t.Sum.Found+t.Sum.Missed)
}

// count enters one message; state is that of its newest mark, if it has an entry in the
// ledger at all.
func (c *TrendCounts) count(m *store.Message, state store.LedgerState, entered bool) {
	judged, wrong := filter.Judged(m)
	if !judged {
		return
	}
	c.Decided++
	switch m.Outcome {
	case store.DecidedImportant:
		c.Important++
	case store.DecidedUnsure:
		c.Unsure++
	default:
		c.Ordinary++
	}
	if entered && state != store.MarkIntended && state != store.MarkAbandoned {
		c.Marked++
		switch state {
		case store.MarkRefused:
			c.TakenOff++
		case store.MarkUndoing, store.MarkUndone:
			c.Undone++
		default:
			c.Kept++
		}
	}
	label := filter.LabelOf(m)
	if label == 0 {
		return
	}
	c.Judged++
	important := label > 0
	switch {
	case wrong && important:
		c.Missed++
	case wrong:
		c.FalseAlarms++
	case important:
		c.Found++
	}
	if wrong {
		c.Wrong++
		if m.Source > store.SourceSilence {
			c.ByOwner++
		}
	}
	if m.Correspondent != important {
		c.SimpleRule++
	}
}

// KeptOrTakenOff counts the marks that the owner has judged: what Kept is a share of. An
// undone mark is not among them: the owner asked for that whatever the message was.
func (c *TrendCounts) KeptOrTakenOff() int { return c.Kept + c.TakenOff }

// Add adds the counts of other messages.
func (c *TrendCounts) Add(o *TrendCounts) {
	c.Decided += o.Decided
	c.Important += o.Important
	c.Unsure += o.Unsure
	c.Ordinary += o.Ordinary
	c.Marked += o.Marked
	c.TakenOff += o.TakenOff
	c.Undone += o.Undone
	c.Kept += o.Kept
	c.Judged += o.Judged
	c.Found += o.Found
	c.Missed += o.Missed
	c.FalseAlarms += o.FalseAlarms
	c.ByOwner += o.ByOwner
	c.Wrong += o.Wrong
	c.SimpleRule += o.SimpleRule
}
