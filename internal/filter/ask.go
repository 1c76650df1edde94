// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// Questions are the messages to ask the owner about, and why there are no more.
type Questions struct {
	// Messages are the best first.
	Messages []store.MessageKey
	// Seen counts the messages of the time in question. TeachNothing counts those
	// of them that teach nothing (the owner's own mail, and mail of excluded folders),
	// Ruled those that a rule decided, Labelled those about which the owner has said
	// something, and Lost those whose words are not kept any more.
	Seen, TeachNothing, Ruled, Labelled, Lost int
}

// Ask finds the messages that arrived at since or later whose label would teach most,
// n at most: those whose scores, with the weights as they are now, are the nearest to
// the threshold; of equals, those that came first. It changes nothing.
func (f *Filter) Ask(n int, since store.Moment) (Questions, error) {
	type candidate struct {
		key  store.MessageKey
		seq  uint64
		away float64 // from the threshold
	}
	var q Questions
	var found []candidate
	threshold := f.fitted().Threshold
	for i := len(f.oldest.keys) - 1; i >= f.oldest.head; i-- {
		k := f.oldest.keys[i]
		m, ok := f.st.Messages.Get(string(k[:]))
		if !ok {
			continue
		}
		if m.Arrived < since {
			break // those before it arrived earlier still
		}
		q.Seen++
		switch {
		case m.Own, m.Outcome == store.Undecided, Excluded(ingest.Role(m.Role)):
			q.TeachNothing++
			continue
		case m.Rule != 0:
			q.Ruled++
			continue
		case m.Source > store.SourceSilence, m.Pending.Label != 0:
			q.Labelled++
			continue
		}
		x, err := f.vector(k)
		switch {
		case errors.Is(err, store.ErrNotFound):
			q.Lost++
			continue
		case err != nil:
			return Questions{}, err
		}
		found = append(found, candidate{k, m.Seq, math.Abs(f.learner.Score(x) - threshold)})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.away, b.away), cmp.Compare(a.seq, b.seq))
	})
	for _, c := range found[:min(n, len(found))] {
		q.Messages = append(q.Messages, c.key)
	}
	return q, nil
}

// Features returns the frozen features of a message, which the caller must not
// change.
func (f *Filter) Features(k store.MessageKey) (*featurize.Features, error) {
	x, err := f.vectors.Features(k)
	if err != nil {
		return nil, fmt.Errorf("message %x: %w", k[:4], err)
	}
	return x, nil
}
