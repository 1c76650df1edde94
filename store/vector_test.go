// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func TestPackedVectorsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 500 {
		x := storetest.DrawVector(r)
		p := store.PackVector(x)
		got, err := p.Unpack()
		if err != nil || !slices.Equal(got, x) {
			t.Fatalf("%v came back as %v, %v", x, got, err)
		}
		// What is cut off anywhere is refused, or is a shorter vector, never a crash.
		for n := range p {
			if got, err := p[:n].Unpack(); err == nil && len(got) >= len(x) {
				t.Fatalf("%d bytes of %d of %v are %v", n, len(p), x, got)
			}
		}
	}
	if x, err := store.PackVector(nil).Unpack(); err != nil || len(x) != 0 {
		t.Errorf("an empty vector came back as %v, %v", x, err)
	}
	twice := store.PackVector(model.Vector{{Index: 5, Value: 1}})
	if _, err := append(slices.Clone(twice), twice...).Unpack(); err == nil {
		t.Error("a vector that has an index twice was accepted")
	}
	if slot := store.SupportSlot(store.SupportKey(77)); slot != 77 {
		t.Errorf("slot 77 came back as %d", slot)
	}
}

// TestOnlyTheSupportsThatChangedAreWritten: a commit of one support among many is as
// small as one among none.
func TestOnlyTheSupportsThatChangedAreWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	st := store.NewState()
	for slot := range 1000 {
		st.Supports.Put(store.SupportKey(slot), store.Support{Born: uint64(slot), Alpha: 1, Vector: store.PackVector(storetest.DrawVector(r))})
	}
	st.Settle(st.At())
	model1, state1 := store.Digest(st)
	st.Supports.Put(store.SupportKey(500), store.Support{Born: 1000, Vector: store.PackVector(storetest.DrawVector(r))})
	st.Supports.Delete(store.SupportKey(501))
	record, err := st.Changes(nil)
	if err != nil || len(record) > 300 {
		t.Errorf("%d bytes, %v", len(record), err)
	}
	if model2, state2 := store.Digest(st); model1 == model2 || state1 == state2 {
		t.Error("the digests have not changed")
	}
	// The tally is part of the model, too.
	before, _ := store.Digest(st)
	st.Account.Kernel.Added = 5
	if after, _ := store.Digest(st); after == before {
		t.Error("the tally is not in the model's digest")
	}
	if !bytes.Equal(store.PackVector(nil), []byte{}) {
		t.Error("an empty vector is packed as something")
	}
}
