// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"sync"

	"github.com/hinged/hinged/internal/dashboard/plot"
	"github.com/hinged/hinged/internal/desk"
)

// maxScales bounds how many accounts' scales are remembered.
const maxScales = 4096

// scales are what the score bars of each account's lists have in common, on all pages and
// in rows that come later: their range only grows. A page that is open has an older one for
// a moment, and loads itself anew (live.js). It is safe for concurrent use.
type scales struct {
	mu sync.Mutex
	by map[string]plot.Scale
}

// of returns the scale of a list.
func (t *scales) of(account string, list desk.Messages) plot.Scale {
	scores := []float64{list.Threshold}
	for _, m := range list.Messages {
		scores = append(scores, m.Score)
	}
	return t.grow(account, plot.Scale{Threshold: list.Threshold, UnsureFrom: list.UnsureFrom, Range: plot.RangeOf(scores...)})
}

// live returns the scale of a message that has just been decided. Its band is as wide as
// that of the list before.
func (t *scales) live(account string, threshold, score float64) plot.Scale {
	t.mu.Lock()
	was := t.by[account]
	t.mu.Unlock()
	move := threshold - was.Threshold
	return t.grow(account, plot.Scale{Threshold: threshold, UnsureFrom: was.UnsureFrom + move, Range: plot.RangeOf(score, threshold)})
}

func (t *scales) grow(account string, now plot.Scale) plot.Scale {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil || len(t.by) >= maxScales {
		t.by = map[string]plot.Scale{}
	}
	now.Range = max(now.Range, t.by[account].Range)
	t.by[account] = now
	return now
}
