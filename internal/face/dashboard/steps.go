// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

// step is one row of a score that is taken apart: a part, or several of one kind.
type step struct {
	Text    string
	Amount  float64 // to a thousandth; those of all steps add up to the score as it is shown
	Named   string  // the strongest of several
	Starred bool    // without it and the others like it the decision would be another
	Bar     template.HTML
}

const (
	// ownStep is from what amount on a part has a row of its own, at most ownSteps.
	ownStep  = 0.08
	ownSteps = 6
	// fewParts is how many parts are named one by one.
	fewParts = 4
	// namedParts is how many of a kind are named.
	namedParts = 3
)

// steps takes the score apart: parts that count for much, then all others by kind. What
// pulls up comes first.
func (d *messageData) steps(ex *desk.Explanation) {
	starred := map[int]bool{}
	if len(ex.Without) > 0 && len(ex.Without[0].Parts) <= fewParts {
		for _, i := range ex.Without[0].Parts {
			starred[i] = true
		}
		d.Starred = true
	}
	rest := make([][]int, desk.Kinds)
	for i := range ex.Parts {
		p := &ex.Parts[i]
		if starred[i] || len(d.Steps) < ownSteps && !p.Absent() && abs(p.Amount) >= ownStep {
			d.Steps = append(d.Steps, step{Text: partText(p), Amount: p.Amount, Starred: starred[i]})
			continue
		}
		rest[p.Kind()] = append(rest[p.Kind()], i)
	}
	for kind, parts := range rest {
		if len(parts) > 0 {
			d.Steps = append(d.Steps, sumStep(ex, kind, parts))
		}
	}
	slices.SortStableFunc(d.Steps, func(a, b step) int {
		if (a.Amount < 0) != (b.Amount < 0) {
			return cmp.Compare(b.Amount, a.Amount)
		}
		return cmp.Compare(abs(b.Amount), abs(a.Amount))
	})
	d.drawSteps(ex)
}

// drawSteps rounds the steps so that they add up as they are shown, and draws them.
func (d *messageData) drawSteps(ex *desk.Explanation) {
	score := thousandth(ex.Score)
	left, greatest := score, 0
	amounts := make([]float64, len(d.Steps))
	for i := range d.Steps {
		st := &d.Steps[i]
		st.Amount = thousandth(st.Amount)
		left -= st.Amount
		if st.Named != "" && (d.Steps[greatest].Named == "" || abs(st.Amount) > abs(d.Steps[greatest].Amount)) {
			greatest = i
		}
	}
	if len(d.Steps) > 0 { // a sum of several takes up what rounding leaves
		d.Steps[greatest].Amount = thousandth(d.Steps[greatest].Amount + left)
	}
	for i, st := range d.Steps {
		amounts[i] = st.Amount
	}
	fall := plot.NewFall(amounts, ex.Now)
	sum := 0.0
	for i := range d.Steps {
		d.Steps[i].Bar = fall.Step(sum, sum+amounts[i])
		sum += amounts[i]
	}
	d.Total = fall.Sum(score)
}

// sumStep is the row of parts of one kind. It names the strongest of those that pull the
// way that all do together.
func sumStep(ex *desk.Explanation, kind int, parts []int) step {
	out := step{Text: desk.KindText(kind, len(parts))}
	for _, i := range parts {
		out.Amount += ex.Parts[i].Amount
	}
	var named []string
	for _, i := range parts { // the strongest come first
		p := &ex.Parts[i]
		if len(named) < namedParts && (p.Amount < 0) == (out.Amount < 0) && abs(p.Amount) >= 0.0005 {
			named = append(named, partText(p))
		}
	}
	out.Named = strings.Join(named, "; ")
	if len(parts) == 1 && len(named) == 1 {
		out.Text, out.Named = named[0], ""
	}
	return out
}

func partText(p *desk.Part) string { return curly(p.Text) }

// thousandth rounds as scores are shown.
func thousandth(x float64) float64 { return math.Round(1000*x)/1000 + 0 }

func flips(ex *desk.Explanation) (out []flip) {
	switch {
	case ex.RuleNow != "":
		out = append(out, flip{Text: "Your rule " + ex.RuleNow + " decides, whatever the score."})
	case ex.Missing != "":
		out = append(out, flip{Text: "Nothing is decided before enough is learnt. It lacks messages: " + ex.Missing + "."})
	}
	for n, w := range ex.Without {
		out = append(out, flip{Score: plot.Signed(w.Score), Outcome: w.Outcome, Text: withoutText(ex, w.Parts, n == 0)})
	}
	if ex.Missing == "" && ex.RuleNow == "" && len(ex.Without) == 0 {
		out = append(out, flip{Text: "No parts taken away would change it."})
	}
	for _, c := range ex.Corrections {
		f := flip{Score: plot.Signed(c.Score), Outcome: c.Outcome, Text: "once you call it " + c.Label}
		if ex.Missing != "" || ex.RuleNow != "" {
			f.Outcome = ""
		}
		if f.Outcome == ex.OutcomeNow {
			f.Outcome = "still " + f.Outcome
		}
		out = append(out, f)
	}
	return out
}

// withoutText names the parts that a decision hangs on, all or the strongest.
func withoutText(ex *desk.Explanation, parts []int, first bool) string {
	n := len(parts)
	if first && n <= fewParts {
		s := "without the " + plural(n, "part", "parts") + " marked *"
		if n == 1 {
			s = "without the part marked *"
		} else {
			s += "; fewer are not enough"
		}
		return s
	}
	var named []string
	for _, i := range parts {
		if p := &ex.Parts[i]; len(named) < namedParts && !p.Absent() {
			named = append(named, partText(p))
		}
	}
	s := "without " + plural(n, "part", "parts")
	if len(named) > 0 {
		s += ", the strongest of them " + strings.Join(named, ", ")
	}
	return s + "; fewer are not enough"
}
