// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/evaluate"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

func testOptions() filter.Options {
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{"owner@example.org"}
	return o
}

// named makes experiments with the parameters of testOptions.
func named(names ...string) ([]lab.Experiment, error) {
	o := testOptions()
	return Named(o.Learner, lab.Replay{Window: o.Dual.Window, Steps: o.Dual.Steps}, names)
}

// played plays generated mail, and keeps what was learnt.
func played(t *testing.T, change func(*evaluate.Play)) (*evaluate.Result, Lessons) {
	t.Helper()
	mbox, _ := testkit.Answered(300, 21)
	path := filepath.Join(t.TempDir(), "mail.mbox")
	if err := os.WriteFile(path, mbox, 0o600); err != nil {
		t.Fatal(err)
	}
	var lessons Lessons
	p := evaluate.Play{Paths: []string{path}, Options: testOptions(), Learnt: lessons.Add}
	change(&p)
	r, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r, lessons
}

// TestACompareIsManyPlays: what a comparison says of a learner that an account can have
// is what a play of its own says.
func TestACompareIsManyPlays(t *testing.T) {
	testkit.Computes(t)
	_, lessons := played(t, func(p *evaluate.Play) { p.Options.Dual.Bold = 1 })
	names := []string{"perceptron", "margin", "pa-1", "pa-2", "dual"}
	experiments, err := named(names...)
	if err != nil {
		t.Fatal(err)
	}
	told := int64(0)
	c, err := Run(context.Background(), lessons, experiments, func(done, total int64) {
		if told++; done != told || total != 5 {
			t.Errorf("told of %d of %d learners", done, total)
		}
	})
	if err != nil || told != 5 {
		t.Fatal(err, told)
	}
	for i, x := range experiments {
		r, _ := played(t, func(p *evaluate.Play) { p.Options.Learner, p.Options.Dual.Bold = x.Learner, 1 })
		got := c.Learners[i]
		if got.Name != names[i] || uint64(got.Mistakes) != r.Mistakes || uint64(got.Updates) != r.Updates || *got.Ceiling.Ceiling != *r.Ceiling.Ceiling || *got.Bound != *r.Bound {
			t.Errorf("%s: %+v, a play of its own has %d mistakes, %d updates, ceiling %d", names[i], got, r.Mistakes, r.Updates, *r.Ceiling.Ceiling)
		}
		// Equal but for the last digit, where a score is summed in another order.
		if math.Abs(got.AveragePrecision-r.AveragePrecision) > 1e-9 || math.Abs(got.OneMinusROCAPercent-r.OneMinusROCAPercent) > 1e-9 {
			t.Errorf("%s: average precision %v, 1-ROCA%% %v; a play of its own has %v, %v", names[i], got.AveragePrecision, got.OneMinusROCAPercent, r.AveragePrecision, r.OneMinusROCAPercent)
		}
		if c.Lessons != len(lessons.list) || c.Important != r.Important {
			t.Errorf("%d lessons, %d important, want %d, %d", c.Lessons, c.Important, len(lessons.list), r.Important)
		}
	}
}

// TestEveryLearnerIsCompared: each gives figures, and a ceiling that it keeps or the
// reason why there is none.
func TestEveryLearnerIsCompared(t *testing.T) {
	testkit.Computes(t)
	r, lessons := played(t, func(p *evaluate.Play) { p.Feedback = evaluate.Delayed })
	experiments, err := named("all")
	if err != nil || len(experiments) != len(Names()) {
		t.Fatal(err, len(experiments))
	}
	c, err := Run(context.Background(), lessons, experiments, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range c.Learners {
		if (l.Ceiling.Ceiling == nil) == (l.NoCeiling == "") || l.Ceiling.Ceiling != nil && *l.Ceiling.Ceiling < uint64(l.Mistakes) {
			t.Errorf("%s: %d mistakes, %+v", l.Name, l.Mistakes, l.Ceiling)
		}
		if l.Mistakes == 0 || l.AveragePrecision <= 0 || l.AveragePrecision > 1 {
			t.Errorf("%s: %+v", l.Name, l)
		}
	}
	var table strings.Builder
	if err := c.WriteTable(&table); err != nil || strings.Count(table.String(), "\n") != 4+2*len(experiments) {
		t.Errorf("the table is, %v:\n%s", err, &table)
	}
	alone, err := named("dual")
	if err != nil {
		t.Fatal(err)
	}
	one, err := Run(context.Background(), lessons, alone, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := one.Learners[0]; uint64(l.Mistakes) != r.Mistakes || uint64(one.Lessons) != r.Lessons {
		t.Errorf("%d mistakes in %d lessons; the play had %d in %d", l.Mistakes, one.Lessons, r.Mistakes, r.Lessons)
	}
}

func TestWhatCanNotBeCompared(t *testing.T) {
	for _, names := range [][]string{{"quadratic"}, {"lifted", "perceptron"}, {"naive-bayes"}} {
		if _, err := named(names...); !errors.Is(err, evaluate.ErrPlay) || !strings.Contains(err.Error(), "there are all, perceptron") {
			t.Errorf("%q: %v", names, err)
		}
	}
	x, err := named("dual")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), Lessons{}, x, nil); !errors.Is(err, evaluate.ErrPlay) {
		t.Errorf("no lessons: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var lesson Lessons
	lesson.Add(model.Lesson{Vector: model.Vector{{Index: 9, Value: 1}}, Label: model.Important, Weight: 1}, evaluate.Course{})
	if _, err := Run(ctx, lesson, x, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := Run(context.Background(), lesson, []lab.Experiment{{Learner: model.Spec{Kind: "winnow"}}}, nil); err == nil {
		t.Error("a learner that there is none of was taught")
	}
}
