// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/whatif"
)

type whatIfData struct {
	Fields   []field
	Problem  string // why the settings of the form can't be replayed
	Run      *whatif.Run
	Title    string
	Sub      string
	Curve    template.HTML
	Caption  string
	Compared []compared
	Learnt   uint64 // lessons of the account
	Differ   []differRow
}

type field struct {
	Name, Label string
	Choices     []choice
}

type choice struct {
	Value, Text string
	Here        bool
}

type compared struct {
	Name         string
	Today, Other string
	Key          bool // the one that counts
}

// differRow is a message that the settings decide differently.
type differRow struct {
	Key, Subject, From string
	Arrived            time.Time
	Today, Other       string // marked, or not
	Truth              string // what the owner did, in words
	Right              string // which of the two was right
}

// The fields of the form. A value of threshold has the mode and its number.
var whatIfFields = []field{
	{"learner", "Learner", []choice{{"", "as today", false}, {"dual", "dual", false}, {"passive-aggressive", "passive-aggressive", false}, {"margin", "margin", false}, {"perceptron", "perceptron", false}}},
	{"threshold", "Threshold", []choice{
		{"", "as today", false}, {"auto", "best F1", false}, {"budget:0.02", "budget: 2 % of mail", false}, {"budget:0.05", "budget: 5 % of mail", false},
		{"budget:0.1", "budget: 10 % of mail", false}, {"budget:0.2", "budget: 20 % of mail", false},
		{"cost:0.5", "a miss costs half a false alarm", false}, {"cost:2", "a miss costs 2 false alarms", false}, {"cost:5", "a miss costs 5 false alarms", false},
		{"fixed:0", "fixed at 0", false},
	}},
	{"per_day", "Marks a day", []choice{{"", "as today", false}, {"0", "no limit", false}, {"3", "at most 3", false}, {"5", "at most 5", false}, {"10", "at most 10", false}, {"20", "at most 20", false}}},
	{"prior", "Begins with", []choice{{"", "as today", false}, {"default", "hinged’s prior", false}, {"none", "the constant alone", false}}},
}

func (s *Server) whatIf(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active, p.Live = "What if", "whatif", true
	d, err := s.whatIfOf(r.Context(), p)
	if err != nil {
		return err
	}
	d.Fields = chosen(r.URL.Query())
	d.Problem = s.told(p, nil).Problem
	return s.render(w, r, p, "whatif", d)
}

func chosen(form url.Values) []field {
	out := make([]field, len(whatIfFields))
	for i, f := range whatIfFields {
		out[i] = field{f.Name, f.Label, make([]choice, len(f.Choices))}
		for j, c := range f.Choices {
			c.Here = form.Get(f.Name) == c.Value
			out[i].Choices[j] = c
		}
	}
	return out
}

func (s *Server) whatIfOf(ctx context.Context, p *page) (d whatIfData, err error) {
	d.Learnt = p.Status.Important + p.Status.Ordinary
	run, err := desk.GetWhatIf.Do(ctx, s.opts.Host, p.Account, desk.WhatIfQuery{})
	if errors.Is(err, whatif.ErrNoRun) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	d.Run = &run
	d.Title, d.Sub = whatIfTitle(&run)
	d.Curve = whatIfCurve(p, &run)
	d.Compared = comparedOf(&run)
	d.Caption = "Side by side"
	if run.From != nil && run.UpTo != nil {
		d.Caption += ", " + p.Date(*run.From) + " to " + p.Date(*run.UpTo)
	}
	if run.State.Ended() {
		d.Differ = s.differing(ctx, p, &run)
	}
	return d, nil
}

// Percent is how far the run is.
func (d whatIfData) Percent() int { return int(100 * d.Run.Progress) }

// Seconds is the estimated time left, in words.
func (d whatIfData) Seconds() string {
	if d.Run.State == whatif.Waiting {
		return "waiting for the replay of another account"
	}
	n := int(math.Ceil(d.Run.Left))
	if n <= 0 {
		return ""
	}
	return "about " + plural(n, "second", "seconds") + " left"
}

func whatIfTitle(run *whatif.Run) (title, sub string) {
	var changes []string
	for _, c := range run.Changes {
		changes = append(changes, c.Key+" = "+c.Other+" (today "+c.Today+")")
	}
	with := "With " + strings.Join(changes, ", ") + "."
	switch run.State {
	case whatif.Failed:
		return "The replay failed.", sentence(run.Problem)
	case whatif.Stopped:
		return "The replay was stopped.", with
	case whatif.Done:
		// What to do is the heading; what shows it follows.
		do, shown, _ := strings.Cut(strings.ReplaceAll(run.Recommendation, "'", "’"), ". ")
		if shown != "" {
			do, shown = do+".", shown+" "
		}
		return do, shown + with + " Over the same " + plural(run.Total, "message", "messages") + " and what you did with them."
	}
	so := "So far both are equal."
	switch t, o := run.Today.Wrong, run.Other.Wrong; {
	case o > t:
		so = fmt.Sprintf("So far it would have been worse: %s marks taken off or messages missed, beside %s.", count(o), count(t))
	case o < t:
		so = fmt.Sprintf("So far it would have been better: %s marks taken off or messages missed, beside %s.", count(o), count(t))
	}
	return "Replaying your mail.", with + " " + so + " Nothing in your mailbox changes."
}

// sentence makes a sentence of an error.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return title(s) + "."
}

// whatIfCurve compares the marks taken off and messages missed, added up. They are the
// wrong decisions that the owner's own actions show.
func whatIfCurve(p *page, run *whatif.Run) template.HTML {
	if len(run.Points) < 2 {
		return ""
	}
	first, last := run.Points[0], run.Points[len(run.Points)-1]
	var today, other []plot.Point
	for _, point := range run.Points {
		x := float64(point.At.Unix())
		today, other = append(today, plot.Point{X: x, Y: float64(point.Today)}), append(other, plot.Point{X: x, Y: float64(point.Other)})
	}
	mid := first.At.Add(last.At.Sub(first.At) / 2)
	ticks := []plot.Tick{{X: float64(first.At.Unix()), Label: p.ShortDate(first.At)}, {X: float64(mid.Unix()), Label: p.ShortDate(mid)}, {X: float64(last.At.Unix()), Label: p.ShortDate(last.At)}}
	return plot.Curves{
		Finding: fmt.Sprintf("Marks taken off and messages missed since %s: today’s settings %d, what if %d.", p.Date(first.At), last.Today, last.Other),
		From:    float64(first.At.Unix()), To: float64(last.At.Unix()), Ticks: ticks,
		Curves: []plot.Curve{
			{Points: today, Class: "ln2", Steps: true, Label: count(last.Today), Name: "today’s"},
			{Points: other, Class: "ln", Steps: true, Label: count(last.Other), Name: "what if"},
		},
	}.Draw()
}

func comparedOf(run *whatif.Run) []compared {
	both := func(name string, of func(*whatif.Figures) int) compared {
		return compared{Name: name, Today: count(of(&run.Today)), Other: count(of(&run.Other))}
	}
	wrong := both("Taken off or missed", func(f *whatif.Figures) int { return f.Wrong })
	wrong.Key = true
	return []compared{
		both("Marked", func(f *whatif.Figures) int { return f.Marked }),
		both("You would have kept", func(f *whatif.Figures) int { return f.Kept }),
		both("You would have taken off", func(f *whatif.Figures) int { return f.TakenOff }),
		both("Missed", func(f *whatif.Figures) int { return f.Missed }),
		wrong,
		both("Marked and left alone", func(f *whatif.Figures) int { return f.LeftAlone }),
		{Name: "Share of mail", Today: percent(run.Today.Share), Other: percent(run.Other.Share)},
		{Name: "Important mail found", Today: percent(run.Today.Recall), Other: percent(run.Other.Recall)},
		both("Mistakes in learning", func(f *whatif.Figures) int { return f.Mistakes }),
	}
}

// differing are some of the messages that the settings decide differently.
func (s *Server) differing(ctx context.Context, p *page, run *whatif.Run) (rows []differRow) {
	const most = 12
	var keys []string
	for _, d := range run.Differences[:min(most, len(run.Differences))] {
		keys = append(keys, d.Message)
	}
	if len(keys) == 0 {
		return nil
	}
	known := s.headings(ctx, p, keys)
	about, err := s.summaries(ctx, p, keys)
	if err != nil {
		s.log.Debug("messages that what-if decides differently are not shown", "account", p.Account, "error", err)
		return nil
	}
	marked := func(d whatif.Decided) string {
		if d.Marked {
			return "marked"
		}
		return "not marked"
	}
	for _, d := range run.Differences[:len(keys)] {
		m := about[d.Message]
		row := differRow{
			Key: d.Message, Subject: subjectOf(known, d.Message, m.Subject), From: fromOf(known, d.Message, m.From),
			Arrived: d.Arrived, Today: marked(d.Today), Other: marked(d.Other), Truth: "not known yet",
		}
		if d.Label != "" {
			row.Truth = d.Label
			row.Right = "today’s"
			if d.Other.Marked == (d.Label == "important") {
				row.Right = "what if"
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (s *Server) startWhatIf(w http.ResponseWriter, r *http.Request, p *page) error {
	q, err := whatIfSettings(r.PostForm)
	if err == nil {
		_, err = desk.StartWhatIf.Do(r.Context(), s.opts.Host, p.Account, q)
	}
	form := url.Values{}
	for _, f := range whatIfFields {
		if v := r.PostFormValue(f.Name); v != "" {
			form.Set(f.Name, v)
		}
	}
	switch {
	case errors.Is(err, whatif.ErrRunning):
		s.tell(p, noticed{Text: "A replay is under way already. Stop it first, or wait for it."})
	case errors.Is(err, whatif.ErrSettings):
		s.tell(p, noticed{Problem: strings.TrimPrefix(err.Error(), whatif.ErrSettings.Error()+": ")})
	case err != nil:
		return err
	}
	return back(w, r, p.URL("whatif")+"?"+form.Encode(), p.URL("whatif"))
}

func whatIfSettings(form url.Values) (q whatif.Settings, err error) {
	bad := func(name string) error {
		return fmt.Errorf("%w: %s is %q", whatif.ErrSettings, name, form.Get(name))
	}
	q.Learner, q.Prior = form.Get("learner"), form.Get("prior")
	if v := form.Get("per_day"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return q, bad("per_day")
		}
		q.PerDay = &n
	}
	mode, number, given := strings.Cut(form.Get("threshold"), ":")
	q.Threshold = mode
	if !given {
		return q, nil
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return q, bad("threshold")
	}
	switch mode {
	case "budget":
		q.Share = &x
	case "cost":
		q.Cost = &x
	case "fixed":
		q.Value = &x
	default:
		return q, bad("threshold")
	}
	return q, nil
}

func (s *Server) stopWhatIf(w http.ResponseWriter, r *http.Request, p *page) error {
	if _, err := desk.StopWhatIf.Do(r.Context(), s.opts.Host, p.Account, desk.WhatIfQuery{}); err != nil && !errors.Is(err, whatif.ErrNoRun) {
		return err
	}
	return back(w, r, p.URL("whatif"), p.URL("whatif"))
}
