// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"

	"github.com/hinged/hinged/internal/measure/ceiling"
)

// GetBound compares the mistakes of an account's lesson log with their ceiling. The
// search is outside of Look: it takes its time.
var GetBound = offer(Verb[None, ceiling.Bound]{
	Name: "bound", do: ofAccount(getBound),
	API: &API{Summary: "Mistakes compared with the ceiling that theory certifies", Reads: true, Figures: true},
})

func getBound(ctx context.Context, a Account, _ None) (b ceiling.Bound, err error) {
	var past Past
	var now ceiling.State
	var kept *ceiling.Kept
	err = a.Look(ctx, func(d *Desk) error {
		past, kept, now = d.Past, d.Ceilings, ceiling.StateOf(d.Filter, d.Rewrites)
		return nil
	})
	if err != nil {
		return b, err
	}
	return kept.Find(ctx, past.Store, past.Account, now)
}
