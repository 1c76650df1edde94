// SPDX-License-Identifier: Apache-2.0

// Package weightlist writes the weights of an account in plain text, with the words
// behind them.
//
// Data flow: an export of the account → weights and names of features → one line of
// JSON for each weight.
package weightlist

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/copies"
)

// Weight is one line of `hinged export --weights`. The weights come by
// descending magnitude, and where that is equal by ascending index. Those of a
// kernel learner are what each feature weighs by itself.
type Weight struct {
	Index   string  `json:"index"`             // hash of the feature, 16 hexadecimal digits
	Weight  float64 `json:"weight"`            // what it adds to the score of a message that has it, times its share there
	Feature string  `json:"feature,omitempty"` // the word or fact, where a message that was learnt from still tells it
	Group   string  `json:"group,omitempty"`   // where in the message it is looked for
}

// Write writes the weights of one account of the source's store to file, a
// Weight in JSON a line, as copies.Export does the account. It returns how many lines
// there are.
func Write(ctx context.Context, from copies.Source, storePath, account, file string, force bool, stdout io.Writer) (lines int, err error) {
	_, err = copies.Write(file, storePath, force, stdout, func(w io.Writer) error {
		r, pipe := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := from.Export(ctx, account, pipe)
			_ = pipe.CloseWithError(err) // never fails
			ended <- err
		}()
		x, err := copies.OpenExport(ctx, r, storePath, boltfile.Options{})
		_ = r.Close() // never fails; ends the exporter if it is not through
		if sent := <-ended; sent != nil && !errors.Is(sent, io.ErrClosedPipe) {
			// Where the sending failed, what was read only fails for that.
			err = sent
		}
		if err != nil {
			if x != nil {
				err = errors.Join(err, x.Close())
			}
			return err
		}
		lines, err = writeWeights(x, w)
		return errors.Join(err, x.Close())
	}, func(string) error { return nil })
	if err != nil {
		return 0, fmt.Errorf("weights to %s: %w", file, err)
	}
	return lines, nil
}

func writeWeights(x *copies.Exported, w io.Writer) (lines int, err error) {
	st, err := x.Store().Load(x.Account)
	if err != nil {
		return 0, err
	}
	names, err := learntNames(x)
	if err != nil {
		return 0, err
	}
	weights, err := filter.WeightsOf(st)
	if err != nil {
		return 0, err
	}
	all := weights.Sorted()
	slices.SortStableFunc(all, func(a, b model.Feature) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
	out := bufio.NewWriter(w)
	lineByLine := json.NewEncoder(out)
	lineByLine.SetEscapeHTML(false)
	for _, f := range all {
		n := names[f.Index]
		line := Weight{Index: fmt.Sprintf("%016x", uint64(f.Index)), Weight: f.Value, Feature: n.Name}
		if n.Name != "" {
			line.Group = n.Group.String()
		}
		if err := lineByLine.Encode(line); err != nil {
			return 0, err
		}
	}
	return len(all), out.Flush()
}

// learntNames collects the names of features from the messages that lessons were
// learnt from. Of several for one feature the first counts.
func learntNames(x *copies.Exported) (map[model.Index]featurize.Named, error) {
	names := map[model.Index]featurize.Named{}
	for lesson, err := range x.Store().Lessons(x.Account, 0) {
		if err != nil {
			return nil, err
		}
		data, err := x.Store().Names(x.Account, lesson.Message)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		features := new(featurize.Features)
		if err := features.UnmarshalBinary(data); err != nil {
			return nil, fmt.Errorf("names of message %x: %w", lesson.Message[:4], err)
		}
		for n := range features.All() {
			if n.Index == model.Affine {
				n.Name = "(always there)"
			}
			if _, known := names[n.Index]; !known {
				names[n.Index] = n
			}
		}
	}
	return names, nil
}
