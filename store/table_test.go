// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func TestKeysAscend(t *testing.T) {
	table := store.NewState().Refusals
	want := []string{"", "a", "aaaaaaaa", "aaaaaaaaaaaaaaaa", "ab", "b", "bbbbbbbb"}
	for _, key := range []string{"b", "aaaaaaaaaaaaaaaa", "bbbbbbbb", "", "ab", "aaaaaaaa", "a"} {
		table.Put(key, store.Refusal{})
	}
	if got := table.Keys(); !slices.Equal(got, want) {
		t.Errorf("Keys() = %q, want %q", got, want)
	}
}

// Places share equal flags, whether put or loaded, and not with the caller.
func TestPlacesShareTheirFlags(t *testing.T) {
	st := store.NewState()
	mine := []string{"\\answered", "\\seen"}
	st.Places.Put(store.PlaceKey("INBOX", 1), store.Place{Flags: mine})
	st.Places.Put(store.PlaceKey("INBOX", 2), store.Place{Flags: []string{"\\answered", "\\seen"}})
	st.Places.Put(store.PlaceKey("INBOX", 3), store.Place{Flags: []string{"\\answered\\seen"}})
	mine[0] = "changed"
	loaded := store.NewState()
	if _, err := st.Records(1000, func(record []byte) error { return loaded.Apply(record, nil) }); err != nil {
		t.Fatal(err)
	}
	for name, st := range map[string]*store.State{"put": st, "loaded": loaded} {
		one, _ := st.Places.Get(store.PlaceKey("INBOX", 1))
		two, _ := st.Places.Get(store.PlaceKey("INBOX", 2))
		three, _ := st.Places.Get(store.PlaceKey("INBOX", 3))
		if !slices.Equal(one.Flags, []string{"\\answered", "\\seen"}) || &one.Flags[0] != &two.Flags[0] {
			t.Errorf("%s: flags %q and %q are not one slice", name, one.Flags, two.Flags)
		}
		if !slices.Equal(three.Flags, []string{"\\answered\\seen"}) {
			t.Errorf("%s: flags are %q", name, three.Flags)
		}
	}
}

// However often weights are touched between commits, each is written once.
func TestWeightsTouchedOverAndOverAreWrittenOnce(t *testing.T) {
	st := store.NewState()
	var x model.Vector
	for i := range 1000 {
		x = append(x, model.Feature{Index: model.Index(i + 1), Value: 1})
	}
	for range 1000 {
		st.Weights.Add(1, x)
		st.TouchWeights(x)
	}
	if n := len(st.Weights.Marked()); n != 1000 {
		t.Errorf("%d touches are noted, of 1000 weights", n)
	}
	record, err := st.Changes(nil)
	if err != nil || len(record) > 17_000 {
		t.Errorf("the record of 1000 weights has %d bytes, %v", len(record), err)
	}
	loaded := store.NewState()
	if _, err := st.Records(1000, func(record []byte) error { return loaded.Apply(record, nil) }); err != nil {
		t.Fatal(err)
	}
	want, _ := store.Digest(st)
	if got, _ := store.Digest(loaded); got != want {
		t.Errorf("weights digest to %s, want %s", got, want)
	}
}
