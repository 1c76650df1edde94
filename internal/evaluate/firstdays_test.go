// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func TestTheFirstDaysBeginWithTheOwnersFirstMessage(t *testing.T) {
	var d firstDays
	d.note(9, true, model.Ordinary) // before it
	if d.results() != nil {
		t.Error("there are results without the owner")
	}
	d.begun = true
	for i := range 1200 {
		// Of the first 200, the 50 that score the most are important and called so; later,
		// everything is ordinary and called important.
		label, score := model.Ordinary, 0.0
		if i < 50 {
			label, score = model.Important, 1
		}
		d.note(score, i < 50 || i >= 200, label)
	}
	got := d.results()
	if len(got) != 3 || got[0] != (First{Examples: 200, Important: 50, AveragePrecision: 1, F1: 1}) {
		t.Fatalf("got %+v", got)
	}
	if got[2].Examples != 1000 || got[2].Important != 50 || got[2].F1 != F1(50, 800, 0) {
		t.Errorf("got %+v", got[2])
	}
	if short := (&firstDays{begun: true, examples: d.examples[:499], called: d.called[:499]}).results(); len(short) != 1 {
		t.Errorf("499 examples give %d rows, want 1", len(short))
	}
}

// TestAPlayBeginsWithItsPrior: the first scores are the prior's, the ceiling holds from
// there, and the weights in the end are handed over.
func TestAPlayBeginsWithItsPrior(t *testing.T) {
	mbox, _ := testkit.Answered(120, 1)
	path := save(t, t.TempDir(), "m.mbox", mbox)
	prior := store.PackVector(model.Vector{
		{Index: model.Affine, Value: -0.25},
		{Index: featurize.IndexOf("addressed:elsewhere"), Value: -1},
	})
	for _, kind := range model.Kinds() {
		var last *model.Weights
		var results [2]*Result
		for i, p := range []store.PackedVector{nil, prior} {
			play := Play{Paths: []string{path}, Options: testOptions(), Feedback: Delayed, Prior: p, Weights: func(w *model.Weights) { last = w }}
			play.Options.Learner.Kind = kind
			r, err := play.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Ceiling.Ceiling == nil || *r.Ceiling.Ceiling < r.Mistakes {
				t.Errorf("%s: %d mistakes, ceiling %v", kind, r.Mistakes, r.Ceiling)
			}
			if last == nil || last.Len() != r.Weights {
				t.Errorf("%s: the weights in the end were not handed over", kind)
			}
			results[i] = r
		}
		if results[0].ModelDigest == results[1].ModelDigest {
			t.Errorf("%s: the prior changes nothing", kind)
		}
		if results[0].Lessons != results[1].Lessons {
			t.Errorf("%s: %d lessons without a prior, %d with one", kind, results[0].Lessons, results[1].Lessons)
		}
	}
	var out bytes.Buffer
	r, err := Play{Paths: []string{path}, Options: testOptions(), Prior: prior}.Run(t.Context())
	if err == nil {
		err = r.WriteJSON(&out)
	}
	if err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("%v: %s", err, out.String())
	}
}
