// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"reflect"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

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
				r, err := Play{Paths: []string{path}, Feedback: feedback, Options: o}.Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
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
	with, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.NoCeiling = true
	without, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
