// SPDX-License-Identifier: Apache-2.0

package words

import (
	"testing"

	"github.com/hinged/hinged/featurize"
)

// TestWhatIsNotThereIsNoReason: no decision shall hang on what a message has none of.
func TestWhatIsNotThereIsNoReason(t *testing.T) {
	f := newTest(t)
	x := f.Freeze(f.Read([]byte("From: ann@example.org\nTo: owner@example.org\nSubject: [PATCH] trousers\n\ndear partner\n")), featurize.History{})
	unspoken := Unspoken(x)
	for n := range x.All() {
		facet := FacetOf(n.Name)
		if want := facet == FacetAbsent || facet == FacetPatch; unspoken[n.Index] != want {
			t.Errorf("%q is unspoken %v, want %v", n.Name, unspoken[n.Index], want)
		}
	}
	if len(unspoken) < 5 {
		t.Errorf("only %d features are unspoken", len(unspoken))
	}
}
