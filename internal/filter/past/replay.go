// SPDX-License-Identifier: Apache-2.0

package past

import (
	"errors"
	"fmt"
	"iter"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
)

// Vectors give back features as they were in the live run.
type Vectors interface {
	// Features of filter.Vectors are those that a message had at that moment of the
	// replay: frozen before the base, or by an arrival replayed since.
	filter.Vectors
	// Arriving returns the features frozen when the message arrived after the
	// base; an error that wraps store.ErrNotFound when none were.
	Arriving(key store.MessageKey) (*featurize.Features, error)
}

// Replay applies journal entries, in order, to a state, and returns the filter at their end and
// how many lessons it learnt. The features of arrivals are taken from v, as they were frozen; so
// the result must have the digest of the state that the live run committed.
//
// entries yields an error when the journal itself cannot be read.
func Replay(base *store.State, entries iter.Seq2[store.JournalEntry, error], v Vectors) (f *filter.Filter, lessons int, err error) {
	if f, err = filter.New(base, v); err != nil {
		return nil, 0, err
	}
	for entry, err := range entries {
		if err != nil {
			return nil, 0, fmt.Errorf("reading the journal: %w", err)
		}
		r, err := apply(f, entry, v)
		if err != nil {
			return nil, 0, err
		}
		lessons += len(r.Lessons)
	}
	return f, lessons, nil
}

// apply applies an entry of the journal. A message that it brought gets the features that were
// frozen then.
func apply(f *filter.Filter, entry store.JournalEntry, v Vectors) (r filter.Result, err error) {
	e, err := filter.Decode(entry.Data)
	if err == nil {
		if a := filter.Brought(e); a != nil {
			// None were of another copy, of the owner's own and in an excluded folder.
			if a.Features, err = v.Arriving(a.Meta.Key); errors.Is(err, store.ErrNotFound) {
				err = nil
			}
		}
	}
	if err == nil {
		r, err = f.Apply(e)
	}
	if err != nil {
		return r, fmt.Errorf("journal entry %d: %w", entry.Seq, err)
	}
	return r, nil
}
