// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store/boltfile"
)

// TestAScoreComesFromLessons: for every learner the lessons' pulls, and what is older, are
// the score; where every lesson is kept, nothing is older.
func TestAScoreComesFromLessons(t *testing.T) {
	testkit.Computes(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		set   func(*filter.Options)
		store boltfile.Options
		older bool // something is
	}{
		"dual":                            {set: func(o *filter.Options) { o.Dual.Window, o.Dual.Steps = 1000, 3 }},
		"dual with a short window":        {set: func(o *filter.Options) { o.Dual.Window, o.Dual.Steps = 12, 3 }, older: true},
		"dual without a window":           {set: func(o *filter.Options) { o.Dual.Window = 0 }},
		"perceptron":                      {set: func(o *filter.Options) { o.Learner.Kind = model.KindPerceptron }},
		"margin":                          {set: func(o *filter.Options) { o.Learner.Kind, o.Learner.Margin = model.KindMargin, 0.5 }},
		"passive-aggressive":              {set: func(o *filter.Options) { o.Learner.Kind = model.KindPassiveAggressive }},
		"perceptron, with a log that ran": {set: func(o *filter.Options) { o.Learner.Kind, o.Limits.Journal = model.KindPerceptron, 20 }, store: boltfile.Options{JournalCap: 20, CheckpointEvery: 5}, older: true},
		"weights given up": {set: func(o *filter.Options) {
			o.Learner.Kind, o.Limits.Weights = model.KindPassiveAggressive, 100
		}, older: true},
		"polynomial": {set: func(o *filter.Options) {
			o.Learner.Kind, o.Kernel = model.KindPerceptron, filter.Kernel{Degree: 2, Budget: 1000}
		}},
		"gaussian": {set: func(o *filter.Options) {
			o.Learner.Kind, o.Kernel = model.KindPassiveAggressive, filter.Kernel{Degree: 3, Budget: 1000}
		}},
		"gaussian with few examples": {set: func(o *filter.Options) {
			o.Learner.Kind, o.Kernel = model.KindPerceptron, filter.Kernel{Degree: 3, Budget: 10}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			tt.set(&o)
			dir := t.TempDir()
			d, stop := open(t, dir, o, tt.store)
			lessons(t, d, 0, 45)
			faces(t, dir, d, stop, func(face string, b answerer) {
				older, others := 0.0, 0
				for i := range 45 {
					ex := must(t, b, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: fmt.Sprintf("m%d@x", 5000+i)}})
					pullsAddUp(t, face, ex)
					older, others = max(older, math.Abs(ex.OlderPull)), max(others, ex.OtherLessons)
				}
				if tt.older != (older > 1e-9) {
					t.Errorf("%s: up to %v comes from what is older", face, older)
				}
				if others == 0 {
					t.Errorf("%s: no message had more lessons than are shown", face)
				}
				raw := mail(7000, "boss@example.com", "urgent file 3")
				never := must(t, b, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: "new", Content: &raw}})
				pullsAddUp(t, face, never)
				for _, l := range never.Lessons {
					if l.Itself {
						t.Errorf("%s: a new message has the lesson %+v", face, l)
					}
				}
			})
		})
	}
}

func pullsAddUp(t *testing.T, face string, ex desk.Explanation) {
	t.Helper()
	sum := ex.OtherPull + ex.OlderPull
	itself := 0
	for i, l := range ex.Lessons {
		sum += l.Pull
		if i > 0 && math.Abs(l.Pull) > math.Abs(ex.Lessons[i-1].Pull) {
			t.Errorf("%s: %v comes after %v", face, l.Pull, ex.Lessons[i-1].Pull)
		}
		if l.Message == "" || l.From == "" || len(l.Subject) == 0 || l.At == nil || l.Source != "explicit" || l.Pull > 0 != (l.Label == "important") {
			t.Errorf("%s: %+v", face, l)
		}
		if l.Itself {
			itself++
		}
		if l.Itself != (l.Message == ex.Message) {
			t.Errorf("%s: message %s has the lesson %+v", face, ex.Message, l)
		}
	}
	if !near(sum, ex.Score) || len(ex.Lessons) > 8 || len(ex.Lessons) == 0 || itself > 1 {
		t.Errorf("%s: the pulls add up to %v, the score is %v: %+v", face, sum, ex.Score, ex.LessonPulls)
	}
}

func TestALessonThatWasForgottenPullsNoMore(t *testing.T) {
	t.Parallel()
	d, stop := open(t, t.TempDir(), testOptions(), boltfile.Options{})
	defer stop()
	lessons(t, d, 0, 30)
	about := func() desk.Explanation {
		ex := must(t, d, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: "m5003@x"}})
		pullsAddUp(t, "daemon", ex)
		return ex
	}
	other := func(l desk.LessonPull) bool { return !l.Itself }
	before := about().Lessons
	gone := before[slices.IndexFunc(before, other)].Message
	must(t, d, desk.Forget, desk.ForgetRequest{Message: gone})
	if after := about().Lessons; slices.ContainsFunc(after, func(l desk.LessonPull) bool { return l.Message == gone }) {
		t.Errorf("%s is forgotten and still pulls: %+v", gone, after)
	}
}
