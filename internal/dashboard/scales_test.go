// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"testing"

	"github.com/hinged/hinged/internal/dashboard/plot"
	"github.com/hinged/hinged/internal/desk"
)

// Bars of different scores side by side say nothing unless they have one scale.
func TestARowThatComesLaterHasTheScaleOfItsList(t *testing.T) {
	t.Parallel()
	var all scales
	list := desk.Messages{Threshold: 0.25, UnsureFrom: 0.125, Messages: []desk.MessageSummary{{Score: -1.2}, {Score: 0.4}}}
	want := plot.Scale{Threshold: 0.25, UnsureFrom: 0.125, Range: 1.5}
	if got := all.of("ann", list); got != want {
		t.Errorf("the list has %+v", got)
	}
	if got := all.live("ann", 0.25, 0.3); got != want {
		t.Errorf("a later row has %+v", got)
	}
	moved := plot.Scale{Threshold: 0.5, UnsureFrom: 0.375, Range: 1.5}
	if got := all.live("ann", 0.5, 1.5); got != moved {
		t.Errorf("after the threshold has moved, %+v", got)
	}
	if got := all.live("ann", 0.5, -1.51); got.Range != 2 {
		t.Errorf("a greater score has %+v", got)
	}
	list.Messages = list.Messages[1:]
	if got := all.of("ann", list); got.Range != 2 {
		t.Errorf("a page without great scores has %+v", got)
	}
	if got := all.live("bob", 0.1, 0.3); got != (plot.Scale{Threshold: 0.1, UnsureFrom: 0.1, Range: 1}) {
		t.Errorf("another account has %+v", got)
	}
	for i := range 2 * maxScales {
		all.live(fmt.Sprint(i), 0, 0)
	}
	if len(all.by) > maxScales {
		t.Errorf("%d accounts are remembered", len(all.by))
	}
}
