// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Weights that a checkpoint holds are those of the state, whatever share of them have one value
// and wherever the records are cut; and they take less than 16 bytes each.
func TestWeightsOfACheckpointAreThoseOfTheState(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, values := range []int{1, 100, 5000, 1 << 30} { // more than are remembered, too
		st := store.NewState()
		for range 20_000 {
			i := model.Index(2 + r.Uint64N(1<<model.IndexBits-2))
			st.Weights.Set(i, float64(r.IntN(values))/3)
		}
		wantModel, wantState := store.Digest(st)
		for _, most := range []int{200, 1000, 64 << 10} {
			got, size := store.NewState(), 0
			seen := store.Tally{}
			rows, err := st.Records(most, func(record []byte) error {
				if size += len(record); len(record) > most {
					t.Errorf("a record has %d bytes, want %d at most", len(record), most)
				}
				return got.Pack(bytes.Clone(record), seen)
			})
			if err != nil {
				t.Fatal(err)
			}
			model, state := store.Digest(got)
			if model != wantModel || state != wantState {
				t.Errorf("%d values, records of %d bytes: digest is %s %s, want %s %s", values, most, model, state, wantModel, wantState)
			}
			if n := uint64(st.Weights.Len()); rows.Weights() != n || seen.Weights() != n {
				t.Errorf("%d weights were written and %d read, want %d", rows.Weights(), seen.Weights(), n)
			}
			if most > 1000 && size > 16*st.Weights.Len()*4/5 {
				t.Errorf("%d values: they take %d bytes", values, size)
			}
		}
	}
}
