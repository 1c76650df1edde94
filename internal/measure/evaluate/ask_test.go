// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// TestEveningsAreTheSameOnEveryRun: asked or not, heard or not, and with any number
// of workers. What is asked and what is heard changes what is learnt, never the truth.
func TestEveningsAreTheSameOnEveryRun(t *testing.T) {
	testkit.Computes(t)
	mbox, _ := testkit.Answered(300, 7)
	path := save(t, t.TempDir(), "m", mbox)
	digests := map[string]bool{}
	for _, feedback := range []Feedback{Delayed, Live} {
		examples, important := -1, -1
		for _, ask := range []int{0, 1, 3} {
			for _, heard := range []float64{0, 0.25} {
				play := Play{Paths: []string{path}, Feedback: feedback, Options: testOptions(), Ask: ask, Heard: heard}
				r := ran(t, play)
				play.Workers = 3
				again, err := play.Run(context.Background())
				if err != nil || again.Digest != r.Digest || again.AveragePrecision != r.AveragePrecision {
					t.Errorf("%s, ask %d, heard %v: %s, then %s, %v", feedback, ask, heard, r.Digest, again.Digest, err)
				}
				if digests[r.Digest] {
					t.Errorf("%s, ask %d, heard %v: nothing else was learnt than in another play", feedback, ask, heard)
				}
				digests[r.Digest] = true
				if examples < 0 {
					examples, important = r.Examples, r.Important
				}
				if r.Examples != examples || r.Important != important {
					t.Errorf("%s, ask %d, heard %v: %d examples, %d important, want %d and %d", feedback, ask, heard, r.Examples, r.Important, examples, important)
				}
				switch a := r.Ask; {
				case ask == 0 && a != nil:
					t.Errorf("%s: unasked, it asked %+v", feedback, a)
				case ask > 0 && (a.Daily != ask || a.Evenings == 0 || a.Messages < a.Evenings || a.Messages > ask*a.Evenings || a.Important > a.Messages || a.Wrong > a.Messages):
					t.Errorf("%s, ask %d: %+v", feedback, ask, a)
				}
			}
		}
	}
}

// TestEveningsAskOfTheirDay looks at what is asked, and when.
func TestEveningsAskOfTheirDay(t *testing.T) {
	o := testOptions()
	o.TimeZone = "America/New_York"
	e, err := newEvenings(3, o)
	testkit.OK(t, err)
	at := func(s string) store.Moment {
		m, err := time.Parse(time.RFC3339, s)
		testkit.OK(t, err)
		return store.MomentOf(m)
	}
	for _, step := range []struct{ at, since, end string }{
		{at: "2026-03-07T15:00:00Z"},
		{at: "2026-03-08T04:59:59Z"},
		{at: "2026-03-08T05:00:00Z", since: "2026-03-07T05:00:00Z", end: "2026-03-08T04:59:59.999Z"},
		{at: "2026-03-06T12:00:00Z"}, // older mail does not turn the day back
		{at: "2026-03-09T03:59:59Z"}, // the day of 23 hours
		{at: "2026-03-20T12:00:00Z", since: "2026-03-08T05:00:00Z", end: "2026-03-09T03:59:59.999Z"},
		{at: "2026-03-21T04:00:00Z", since: "2026-03-20T04:00:00Z", end: "2026-03-21T03:59:59.999Z"},
	} {
		since, end, over := e.over(at(step.at))
		if over != (step.since != "") || over && (since != at(step.since) || end != at(step.end)) {
			t.Errorf("%s: from %v to %v, %v", step.at, since.Time().UTC(), end.Time().UTC(), over)
		}
	}
	if _, _, over := e.over(0); over {
		t.Error("a message without a date ended the day")
	}
}

func TestAHashDecidesWhatIsHeard(t *testing.T) {
	f := readerOf(t, testOptions().Featurize)
	own := func(i int) *featurize.Message {
		return f.Read([]byte("From: " + owner + "\nIn-Reply-To: <a@x>\nMessage-ID: <" + string(rune('A'+i)) + "@x>\n\nyes\n"))
	}
	n := 0
	for i := range 4000 {
		m := own(i)
		if !heard(0).hears(m.MessageID) || !heard(1).hears(m.MessageID) {
			t.Fatal("not all is heard")
		}
		meta := heard(0.25).meta(m)
		if heard(0.25).hears(m.MessageID) {
			n++
		}
		if heard(0.25).hears(m.MessageID) != (len(meta.Replies) == 1) || len(meta.Parents) != 1 || !meta.Own {
			t.Fatalf("got %+v", meta)
		}
		if heard(0.25).hears(m.MessageID) && !heard(0.5).hears(m.MessageID) {
			t.Fatal("what is heard of a quarter is not heard of half")
		}
	}
	if share := float64(n) / 4000; math.Abs(share-0.25) > 0.03 {
		t.Errorf("%.3f are heard", share)
	}
	ordinary := f.Read([]byte("From: ann@example.org\nIn-Reply-To: <a@x>\nMessage-ID: <q@x>\n\nyes\n"))
	if meta := heard(1e-9).meta(ordinary); len(meta.Replies) != 1 || meta.Own {
		t.Errorf("of another's message: %+v", meta)
	}
}

// TestEveryPlayStaysBelowItsCeiling: every learner, both kinds of feedback, and
// weights given up on the way.
func TestEveryPlayStaysBelowItsCeiling(t *testing.T) {
	testkit.Computes(t)
	mbox, _ := testkit.Answered(300, 21)
	path := save(t, t.TempDir(), "mail.mbox", mbox)
	for _, kind := range model.Kinds() {
		for _, feedback := range []Feedback{Immediate, Delayed} {
			for _, weights := range []int{1 << 20, 100} {
				o := testOptions()
				o.Learner.Kind, o.Limits.Weights = kind, weights
				r := ran(t, Play{Paths: []string{path}, Feedback: feedback, Options: o})
				c := r.Ceiling
				if c.NoCeiling != "" || c.Ceiling == nil || c.Bound == nil || c.BoundGap == nil {
					t.Fatalf("%s, %s: no ceiling: %+v", kind, feedback, c)
				}
				if r.Mistakes == 0 || *c.Ceiling < r.Mistakes || *c.Ceiling > r.Lessons || *c.Bound < float64(*c.Ceiling) {
					t.Errorf("%s, %s, %d weights: %d mistakes of %d lessons, the ceiling is %d, the bound %v",
						kind, feedback, weights, r.Mistakes, r.Lessons, *c.Ceiling, *c.Bound)
				}
				if weights > 100 && *c.Ceiling == r.Lessons {
					t.Errorf("%s, %s: the ceiling %d says nothing", kind, feedback, *c.Ceiling)
				}
			}
		}
	}
}

// A play without the search is the same play otherwise.
func TestAPlayNeedsNoCeiling(t *testing.T) {
	mbox, _ := testkit.Answered(300, 22)
	p := Play{Paths: []string{save(t, t.TempDir(), "mail.mbox", mbox)}, Options: testOptions()}
	with := ran(t, p)
	p.NoCeiling = true
	without := ran(t, p)
	if without.Ceiling.Ceiling != nil || without.NoCeiling == "" {
		t.Errorf("got the ceiling %+v", without.Ceiling)
	}
	for _, r := range []*Result{with, without} {
		r.Ceiling = Ceiling{}
		r.Seconds, r.MessagesPerSecond, r.MegabytesPerSecond = 0, 0, 0
	}
	if !reflect.DeepEqual(with, without) {
		t.Errorf("got %+v\nwant %+v", without, with)
	}
}
