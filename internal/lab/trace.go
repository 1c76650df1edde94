// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"math"
	"time"

	"github.com/hinged/hinged/model"
)

// Trace is how a learner did, example after example.
type Trace struct {
	Name      string // of the experiment; else the learner
	Scores    []float64
	Mistaken  []bool // by the score; a step of the modified perceptron where it is restarted
	Updates   int    // examples that moved w
	Supports  int    // in the end, of a kernel learner
	Radius    float64
	Displaced float64 // D
	Learning  time.Duration
	Searching time.Duration // for the ceilings
	// Ceilings on the mistakes up to some examples, the last of them up to all; none
	// where NoCeiling says why.
	Ceilings  []Look
	NoCeiling string
}

// Look is a ceiling on the mistakes of the first so many examples.
type Look struct {
	Examples int
	model.Ceiling
}

// Trace teaches the learner all passes once more, 1 where passes is 0, and looks for its
// ceiling at the end and so many times before. The modified perceptron is traced through
// the rounds of Algorithm 3, and its mistakes are its steps, if x allows more than one
// pass; else it is Algorithm 2 and one stream.
func (x Experiment) Trace(lessons []model.Lesson, passes, looks int) (*Trace, error) {
	lessons, err := x.prepare(lessons)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExperiment, err)
	}
	t := &Trace{Name: x.Name}
	if t.Name == "" {
		t.Name = x.String()
	}
	passes = max(1, passes)
	if x.Modified != nil && x.Passes > 1 {
		o := *x.Modified
		o.Watch = func(_ model.Lesson, step bool) { t.Mistaken = append(t.Mistaken, step) }
		_, err := model.SolveModified(lessons, o)
		_, _, t.NoCeiling = x.theory()
		return t, err
	}
	l, err := x.pupil(lessons)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExperiment, err)
	}
	start := time.Now()
	if x.Kernel != nil {
		looks = min(looks, kernelLooks)
	}
	at := places(passes*len(lessons), looks)
	var tallies []model.DualTally
	sum := x.tallied(l)
	for range passes {
		for _, e := range lessons {
			u := l.Learn(e)
			sum.learnt(e, u)
			if n := len(t.Mistaken) + 1; n == at[len(tallies)] {
				tallies = append(tallies, sum.tally())
			}
			t.Scores, t.Mistaken = append(t.Scores, u.Score), append(t.Mistaken, u.Mistake)
			if u.Step != 0 {
				t.Updates++
			}
		}
	}
	t.Learning = time.Since(start)
	if k, ok := l.(*model.KernelLearner); ok {
		t.Supports, t.Displaced = k.Len(), k.Displaced()
	}
	if n, most := len(t.Mistaken), x.mostForCeiling(); n > most {
		t.NoCeiling = fmt.Sprintf("not sought: %d lessons in all passes, more than %d", n, most)
		return t, nil
	}
	h := x.hindsight(l)
	if t.NoCeiling = h.reason; h.reason != "" {
		return t, nil
	}
	start = time.Now()
	defer func() { t.Searching = time.Since(start) }()
	for n := range t.Mistaken {
		h.add(lessons[n%len(lessons)])
		if n+1 != at[0] {
			continue
		}
		h.Tally(model.DualTally{}, tallies[0])
		at, tallies = at[1:], tallies[1:]
		c, reason := h.ceiling()
		if reason != "" {
			t.Ceilings, t.NoCeiling = nil, reason
			break
		}
		t.Ceilings = append(t.Ceilings, Look{n + 1, c})
	}
	// What holds for the mistakes of more examples holds for those of fewer.
	for i := len(t.Ceilings) - 2; i >= 0; i-- {
		t.Ceilings[i].Mistakes = min(t.Ceilings[i].Mistakes, t.Ceilings[i+1].Mistakes)
	}
	return t, nil
}

// Mistakes counts them.
func (t *Trace) Mistakes() (n int) {
	for _, m := range t.Mistaken {
		if m {
			n++
		}
	}
	return n
}

// places returns about so many places from 1 to n, half of them at equal distances and
// half at equal ratios. They ascend; the last is n.
func places(n, about int) []int {
	want := make([]bool, n+1)
	want[n] = true
	half := max(1, about/2)
	for i := range half {
		want[max(1, (i+1)*n/(half+1))] = true
		want[max(1, int(math.Pow(float64(n), float64(i)/float64(half))))] = true
	}
	if about <= 1 {
		clear(want[:n])
	}
	var out []int
	for i, w := range want[1:] {
		if w {
			out = append(out, i+1)
		}
	}
	return out
}

// kernelLooks is how many ceilings of a kernel are sought at most: each takes its time.
const kernelLooks = 6
