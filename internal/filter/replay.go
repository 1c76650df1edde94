// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"fmt"
	"iter"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/store"
)

// ReplayVectors give back features as they were in the live run.
type ReplayVectors interface {
	// Features of Vectors are those that a message had at that moment of the
	// replay: frozen before the base, or by an arrival replayed since.
	Vectors
	// Arriving returns the features frozen when the message arrived after the
	// base; an error that wraps store.ErrNotFound when none were.
	Arriving(key store.MessageKey) (*featurize.Features, error)
}

// Replay applies journal entries, in order, to a state and returns the filter
// at their end. The features of arrivals are taken from v, as they were frozen;
// so the result must have the digest of the state that the live run committed.
//
// entries yields an error when the journal itself cannot be read.
func Replay(base *store.State, entries iter.Seq2[store.JournalEntry, error], v ReplayVectors) (*Filter, error) {
	f, _, err := ReplayCounted(base, entries, v)
	return f, err
}

// ReplayCounted is Replay that counts the lessons learnt.
func ReplayCounted(base *store.State, entries iter.Seq2[store.JournalEntry, error], v ReplayVectors) (f *Filter, lessons int, err error) {
	if f, err = New(base, v); err != nil {
		return nil, 0, err
	}
	for entry, err := range entries {
		if err != nil {
			return nil, 0, fmt.Errorf("reading the journal: %w", err)
		}
		e, err := Decode(entry.Data)
		if err != nil {
			return nil, 0, fmt.Errorf("journal entry %d: %w", entry.Seq, err)
		}
		if err := thaw(e, v); err != nil {
			return nil, 0, fmt.Errorf("journal entry %d: %w", entry.Seq, err)
		}
		r, err := f.Apply(e)
		if err != nil {
			return nil, 0, fmt.Errorf("journal entry %d: %w", entry.Seq, err)
		}
		lessons += len(r.Lessons)
	}
	return f, lessons, nil
}

// thaw gives an event that brought a message the features that were frozen then.
func thaw(e Event, v ReplayVectors) error {
	var a *Arrived
	switch e := e.(type) {
	case *Arrived:
		a = e
	case *Labelled:
		a = e.Handed
	}
	if a == nil {
		return nil
	}
	var err error
	a.Features, err = v.Arriving(a.Meta.Key)
	if errors.Is(err, store.ErrNotFound) {
		return nil // none were: another copy, the owner's own, or an excluded folder
	}
	return err
}
