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
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Questions are the messages that the owner may be asked about, and why there are no
// more.
type Questions struct {
	Messages []store.MessageKey
	// Seen counts the messages of the time in question. TeachNothing counts those
	// of them that teach nothing (the owner's own mail, and mail of excluded folders),
	// Ruled those that a rule decided, Labelled those about which the owner has said
	// something, and Lost those whose words are not kept any more.
	Seen, TeachNothing, Ruled, Labelled, Lost int
}

// Ask finds the messages that arrived at since or later whose label would teach most,
// n at most: of those that are Askable the nearest to the threshold; of equals, those
// that came first. It changes nothing.
func (f *Filter) Ask(n int, since store.Moment) (Questions, error) {
	q := f.Askable(since)
	slices.Reverse(q.Messages)
	away := make(map[store.MessageKey]float64, len(q.Messages))
	var failed error
	q.Messages = slices.DeleteFunc(q.Messages, func(k store.MessageKey) bool {
		x, err := f.vector(k)
		switch {
		case errors.Is(err, store.ErrNotFound):
			q.Lost++
			return true
		case err != nil:
			failed = err
			return true
		}
		away[k] = f.Away(x)
		return false
	})
	slices.SortStableFunc(q.Messages, func(a, b store.MessageKey) int { return cmp.Compare(away[a], away[b]) })
	q.Messages = q.Messages[:min(n, len(q.Messages))]
	return q, failed
}

// Askable finds the messages that arrived at since or later whose label would teach
// something, the newest first: those teach most whose scores are nearest to the threshold
// (Away). It reads no vectors, so that the caller may do that elsewhere.
func (f *Filter) Askable(since store.Moment) Questions {
	var q Questions
	for k, m := range f.Newest() {
		if m.Arrived < since {
			break // those before it arrived earlier still
		}
		q.Seen++
		switch {
		case m.Own, m.Outcome == store.Undecided, Excluded(ingest.Role(m.Role)):
			q.TeachNothing++
		case m.Rule != 0:
			q.Ruled++
		case spokenOf(&m):
			q.Labelled++
		default:
			q.Messages = append(q.Messages, k)
		}
	}
	return q
}

// spokenOf reports whether the owner has said something of a message.
func spokenOf(m *store.Message) bool {
	return m.Source > store.SourceSilence || m.Pending.Label != 0
}

// SpokenOf reports whether a message is unknown, or the owner has said something of it.
func (f *Filter) SpokenOf(k store.MessageKey) bool {
	m, ok := f.st.Messages.Get(string(k[:]))
	return !ok || spokenOf(&m)
}

// Away returns how far the score of x, with the weights as they are now, is from the
// threshold.
func (f *Filter) Away(x model.Vector) float64 {
	return math.Abs(f.learner.Score(x) - f.fitted().Threshold)
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
