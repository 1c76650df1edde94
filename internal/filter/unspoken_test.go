// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"github.com/hinged/hinged/internal/filter"
	"slices"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
)

// TestNoDecisionHangsOnWhatIsNotThere: what a message has none of is never among the fewest
// parts without which the decision would be another, however much it weighs.
func TestNoDecisionHangsOnWhatIsNotThere(t *testing.T) {
	w := newWorld(t, testOptions())
	l, r := w.deliver("INBOX", mail("a@x", "ann@example.org", owner, "dear partner"))
	skip := filter.Unspoken(r.Features)
	if len(skip) == 0 {
		t.Fatal("the message lacks nothing")
	}
	weights := model.NewWeights(0)
	for n := range r.Features.All() {
		weights.Set(n.Index, map[bool]float64{true: 1, false: 0.5}[skip[n.Index]])
	}
	x := r.Features.Vector()
	for _, flip := range filter.Flips(x, weights, weights.Dot, filter.Cut{Threshold: weights.Dot(x) * 0.8}, skip) {
		for n := range r.Features.All() {
			if featurize.FacetOf(n.Name) == featurize.FacetAbsent && slices.Contains(flip.Features, n.Index) {
				t.Errorf("the decision on %x hangs on %q", l.key[:4], n.Name)
			}
		}
		if len(flip.Features) == 0 {
			t.Error("it hangs on nothing")
		}
	}
}
