// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// A lookup finds the same row by looking at all of them, by an index that it makes, and by
// the one that was kept while the rows changed.
func TestALookupFindsTheSameHoweverItLooks(t *testing.T) {
	testkit.Computes(t)
	for seed := range uint64(3) {
		w := newWorld(t, testOptions())
		w.undos = true
		w.storm(seed, 400)
		f := w.f
		lessons := compareLookups(t, &f.lessons.lookup, func() lookup { return newLessonWindow(f.st).lookup }, f.st.Messages.Keys())
		if lessons < 50 {
			t.Errorf("seed %d: %d messages have a lesson; the test means little", seed, lessons)
		}
	}
}

func compareLookups(t *testing.T, kept *lookup, anew func() lookup, messages []string) (found int) {
	t.Helper()
	if kept.index == nil {
		t.Fatal("no index was kept")
	}
	made := anew()
	made.all()
	for _, key := range messages {
		k := store.MessageKey([]byte(key))
		looking := anew()
		n, ok := looking.find(k)
		for name, other := range map[string]*lookup{"made": &made, "kept": kept} {
			if m, there := other.find(k); m != n || there != ok {
				t.Fatalf("message %x has row %d, %v; with the index that was %s %d, %v", k[:4], n, ok, name, m, there)
			}
		}
		if row := made.rows; ok {
			found++
			number := 0
			row.Each(func(key string, v *store.Windowed) {
				if v.Message == k && windowNumber(key) == n {
					number++
				}
			})
			if number != 1 {
				t.Fatalf("message %x has %d rows with the number %d", k[:4], number, n)
			}
		}
	}
	return found
}
