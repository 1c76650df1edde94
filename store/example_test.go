// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// A State is tables of rows in memory. Its digests say whether two states are the same.
func ExampleState() {
	st := store.NewState()
	ann := store.ID(0xA11) // a hash of the address
	st.Senders.Put(ann.Key(), store.Sender{Received: 3, Answered: 1})
	x := model.Vector{{Index: 7, Value: 0.5}}
	st.SetWeights(model.Vector{{Index: 7, Value: 0.25}})

	// Rows are values: change one by putting it again.
	s, known := st.Senders.Get(ann.Key())
	s.Answered++
	st.Senders.Put(ann.Key(), s)
	fmt.Println(known, s.Answered, "of", s.Received, "answered; score", st.Weights.Dot(x))

	model1, state1 := store.Digest(st)
	st.Account.Clock = 1_700_000_000_000 // no digest covers a Moment
	model2, state2 := store.Digest(st)
	fmt.Println(model1 == model2, state1 == state2)
	st.Senders.Delete(ann.Key())
	model3, state3 := store.Digest(st)
	fmt.Println(model2 == model3, state2 == state3)
	// Output:
	// true 2 of 3 answered; score 0.125
	// true true
	// true false
}
