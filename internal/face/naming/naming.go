// SPDX-License-Identifier: Apache-2.0

// Package naming finds the names of features: those of words in the messages that were
// learnt from, as long as the store keeps them, and no name that would give a single
// message away.
package naming

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// after is in how many learnt messages a feature must have been met before it
// is named to somebody who did not name it: what only one message had is that
// message's own.
const after = 3

// namedVectors gives back the features of messages with their names: an error that
// wraps store.ErrNotFound where those are no longer kept.
type namedVectors interface {
	Named(key store.MessageKey) (*featurize.Features, error)
}

// Find names features of an account, by index, as far as its learnt messages tell. It
// reads those and is not for the account's writer. What was found before an error is
// returned with it.
func Find(ctx context.Context, s *boltfile.Store, account string, features ...model.Vector) (map[model.Index]string, error) {
	n := newNaming(writer.NewVectors(s, account), features...)
	err := n.all(ctx, s.Lessons(account, 0))
	return n.names, err
}

type naming struct {
	vectors namedVectors
	names   map[model.Index]string
	met     map[model.Index]int
	left    int // features still to be named
}

func newNaming(v namedVectors, features ...model.Vector) *naming {
	n := &naming{vectors: v, names: map[model.Index]string{}, met: map[model.Index]int{}}
	for _, x := range features {
		for _, f := range x {
			// What names nobody needs no message to be named, and with a prior none had it.
			if name, ok := words.ImpersonalName(f.Index); ok {
				n.names[f.Index] = name
				continue
			}
			n.met[f.Index] = 0
		}
	}
	n.left = len(n.met)
	return n
}

func (n *naming) read(k store.MessageKey) error {
	x, err := n.vectors.Named(k)
	if errors.Is(err, store.ErrNotFound) {
		return nil // its words are gone
	}
	if err != nil {
		return err
	}
	for f := range x.All() {
		met, wanted := n.met[f.Index]
		if !wanted || f.Name == "" || met == after {
			continue
		}
		n.met[f.Index] = met + 1
		if met+1 < after {
			continue
		}
		n.left--
		if words.Telling(f.Name) {
			n.names[f.Index] = f.Name
		}
	}
	return nil
}

// all reads learnt messages, each once, until every feature is named.
func (n *naming) all(ctx context.Context, lessons iter.Seq2[store.Lesson, error]) error {
	return eachMessage(ctx, lessons, func(k store.MessageKey) (done bool, err error) {
		err = n.read(k)
		return n.left == 0, err
	})
}

// eachMessage reads learnt messages, each once, until read is done.
func eachMessage(ctx context.Context, lessons iter.Seq2[store.Lesson, error], read func(store.MessageKey) (done bool, err error)) error {
	seen := map[store.MessageKey]bool{}
	for lesson, err := range lessons {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("looking for the names of features: %w", err)
		}
		if seen[lesson.Message] || !lesson.Learnt() {
			continue
		}
		seen[lesson.Message] = true
		done, err := read(lesson.Message)
		if err != nil {
			return fmt.Errorf("looking for the names of features: %w", err)
		}
		if done {
			break
		}
	}
	return nil
}
