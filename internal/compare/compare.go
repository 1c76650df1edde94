// SPDX-License-Identifier: Apache-2.0

// Package compare teaches several learners of package lab the lessons that one play of an
// archive gave, in the same order, and judges each as package evaluate does.
package compare

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hinged/hinged/internal/evaluate"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/model/theory"
)

// Comparison says how several learners do on the lessons of one play. Each lesson is
// scored before it is learnt.
type Comparison struct {
	Lessons   int `json:"lessons"`   // number of lessons; every learner was taught all of them
	Important int `json:"important"` // number of lessons with the label important
	// Learners are in the order of the --compare flag.
	Learners []Learned `json:"learners"`
}

// Learned is the result of one learner.
type Learned struct {
	Name     string `json:"name"`               // name of the learner, as --compare accepts it
	Learner  string `json:"learner"`            // the learner and its parameters
	Mistakes int    `json:"mistakes"`           // number of lessons that its score was wrong about
	Updates  int    `json:"updates"`            // lessons that moved the weights
	Supports int    `json:"supports,omitempty"` // number of supports of a kernel learner at the end
	// Displaced is how far the weights were moved by dropping supports (D).
	Displaced float64 `json:"displaced,omitempty"`

	AveragePrecision    float64 `json:"average_precision"`      // average precision of the scores, 0 to 1
	OneMinusROCAPercent float64 `json:"one_minus_roca_percent"` // 100 × (1 − area under the ROC curve), from the scores

	evaluate.Ceiling         // on the mistakes
	Seconds          float64 `json:"seconds"` // time that learning all lessons took
}

// onMail lists the learners of package lab that make sense on vectors made of mail:
// these are lifted and normalised already, and have too many features for a map of all
// products of two, whose kernel is among them.
var onMail = []string{"perceptron", "margin", "pa-1", "pa-2", "dual", "averaged", "averaged-pa-2", "descent", "modified", "polynomial-2", "polynomial-3", budgeted}

const (
	budgeted     = "polynomial-2-budget"
	usualSupport = 1000 // supports of that learner
	// With as many features as mail has, a random start is at right angles to
	// everything, nearly: at the usual 0.1 of package lab it would never learn.
	usualSigma = 0.001
)

// Names lists the learners that Named knows, in the order of tables.
func Names() []string { return slices.Clone(onMail) }

// Lessons are those of a play. The dual learner replays and takes back
// among them as the play did.
type Lessons struct {
	list   []model.Lesson
	course []lab.Course
}

// replayed reports whether the play was one of a learner with a window.
func (l *Lessons) replayed() bool {
	return len(l.course) > 0 && l.course[len(l.course)-1].Replayed > 0
}

// Add is a Learnt of evaluate.Play.
func (l *Lessons) Add(e model.Lesson, c evaluate.Course) {
	l.list, l.course = append(l.list, e), append(l.course, lab.Course(c))
}

// Named makes experiments of names, each one of Names, or "all", with the parameters of
// learner and replay and the usual ones of package lab.
func Named(learner model.Spec, replay lab.Replay, names []string) ([]lab.Experiment, error) {
	if slices.Contains(names, "all") {
		names = onMail
	}
	for _, name := range names {
		if !slices.Contains(onMail, name) {
			return nil, fmt.Errorf("%w: there is no learner %q to compare on mail; there are all, %s", evaluate.ErrPlay, name, strings.Join(onMail, ", "))
		}
	}
	x := lab.Experiment{
		Learner: learner, Replay: replay, Passes: 1, Budget: usualSupport,
		Modified: &theory.ModifiedOptions{Sigma: usualSigma, Delta: 0.01, Seed: 1},
	}
	return x.Named(names)
}

// Run teaches every learner the lessons once, in order, and looks for its ceiling at
// the end. progress, where not nil, is told how many learners are done.
func Run(ctx context.Context, taught Lessons, experiments []lab.Experiment, progress func(done, total int64)) (*Comparison, error) {
	lessons := taught.list
	c := &Comparison{Lessons: len(lessons)}
	for _, e := range lessons {
		if e.Label == model.Important {
			c.Important++
		}
	}
	if len(lessons) == 0 {
		return nil, fmt.Errorf("%w: nothing was learnt, so there is nothing to compare", evaluate.ErrPlay)
	}
	for n, x := range experiments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if taught.replayed() {
			x.Replay.Course = taught.course
		}
		t, err := x.Pass(lessons)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name, err)
		}
		judged := make([]evaluate.Judged, len(lessons))
		for i, e := range lessons {
			judged[i] = evaluate.Judged{Score: t.Scores[i], Label: e.Label}
		}
		one := Learned{
			Name: x.Name, Learner: x.String(), Mistakes: t.Mistakes, Updates: t.Updates, Supports: t.Supports, Displaced: t.Displaced,
			AveragePrecision: evaluate.AveragePrecision(judged), OneMinusROCAPercent: evaluate.OneMinusROCAPercent(judged),
			Seconds: t.Learning.Seconds(),
		}
		one.NoCeiling, one.CeilingSeconds = t.Ceiling.Reason, t.Searching.Seconds()
		if c := &t.Ceiling; c.Reason == "" {
			one.Ceiling.Ceiling, one.Bound, one.BoundGap = &c.Mistakes, &c.Bound, &c.Gap
		}
		c.Learners = append(c.Learners, one)
		if progress != nil {
			progress(int64(n+1), int64(len(experiments)))
		}
	}
	return c, nil
}

// columns are those of the table.
var columns = []string{"learner", "mistakes", "average precision", "1-ROCA%", "ceiling", "bound", "gap", "updates", "supports", "D", "learning, s", "ceiling, s"}

// cells are the figures of one learner, by column.
func (l *Learned) cells() []string {
	ceiling, bound, gap, supports, displaced := "none", "", "", "", ""
	if c := l.Ceiling; c.Ceiling != nil {
		ceiling, bound, gap = fmt.Sprint(*c.Ceiling), fmt.Sprintf("%.1f", *c.Bound), fmt.Sprintf("%.2g", *c.BoundGap)
	}
	if l.Supports > 0 {
		supports, displaced = fmt.Sprint(l.Supports), fmt.Sprintf("%.4g", l.Displaced)
	}
	return []string{
		l.Name, fmt.Sprint(l.Mistakes), fmt.Sprintf("%.3f", l.AveragePrecision), fmt.Sprintf("%.2f", l.OneMinusROCAPercent),
		ceiling, bound, gap, fmt.Sprint(l.Updates), supports, displaced, fmt.Sprintf("%.1f", l.Seconds), fmt.Sprintf("%.1f", l.CeilingSeconds),
	}
}

// WriteTable writes c for people.
func (c *Comparison) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "%d lessons, %d of them important\n\n", c.Lessons, c.Important)
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	for _, l := range c.Learners {
		fmt.Fprintln(t, strings.Join(l.cells(), "\t"))
	}
	fmt.Fprintln(t)
	for _, l := range c.Learners {
		line := l.Name + "\t" + l.Learner
		if l.NoCeiling != "" {
			line += "; no ceiling: " + l.NoCeiling
		}
		fmt.Fprintln(t, line)
	}
	return t.Flush()
}
