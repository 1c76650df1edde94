// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"reflect"
	"testing"

	"github.com/hinged/hinged/store"
)

// TestOptionsAreKeptWhole: of two fields with the same number the encoding drops both.
func TestOptionsAreKeptWhole(t *testing.T) {
	o := DefaultOptions()
	enc, err := encMode.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	st := store.NewState()
	st.Settings.Put(store.SettingsKey, store.Settings{Options: enc})
	if got, err := optionsOf(st); err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("kept are %+v (%v), want %+v", got, err, o)
	}
	numbers := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		tag := f.Tag.Get("cbor")
		if before, taken := numbers[tag[:min(2, len(tag))]]; taken || tag == "" {
			t.Errorf("field %s has the number of %s: %q", f.Name, before, tag)
		}
		numbers[tag[:min(2, len(tag))]] = f.Name
	}
}
