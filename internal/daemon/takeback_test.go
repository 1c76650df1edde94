// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// TestAStarThatIsTakenBackIsUnlearnt: in the store, too, and a replay of the journal gives it.
func TestAStarThatIsTakenBackIsUnlearnt(t *testing.T) {
	t.Parallel()
	s := newScript()
	dir := t.TempDir()
	d, stop := startWith(t, dir, testOptions(), func([]ingest.Known) (ingest.Source, error) { return s, nil }, nil)
	teach(s)
	var places []ingest.Place
	for n := range 4 {
		a := arrival(uint32(10+n), mail(10+n, "ann@example.org", "watches offer"))
		places = append(places, a.Place)
		s.events <- a
	}
	model := func() string {
		var of string
		if err := d.all()[0].Look(t.Context(), func(d *desk.Desk) error { of, _ = store.Digest(d.Filter.State()); return nil }); err != nil {
			t.Fatal(err)
		}
		return of
	}
	until(t, d, "the mail", func(a desk.AccountStatus) bool { return a.Messages == 6 && a.Important == 1 })
	before := model()
	for _, p := range places {
		s.events <- ingest.FlagsChanged{Place: p, Flags: []string{`\flagged`}}
	}
	until(t, d, "the stars", func(a desk.AccountStatus) bool { return a.Important == 5 })
	if model() == before {
		t.Error("the stars taught nothing")
	}
	for _, p := range places {
		s.events <- ingest.FlagsChanged{Place: p}
	}
	until(t, d, "them gone", func(a desk.AccountStatus) bool { return a.Important == 1 && a.Pending == 0 })
	if after := model(); after != before {
		t.Errorf("the model is %s, want %s", after, before)
	}
	if v := must(t, d, desk.Verify, desk.VerifyRequest{}); !v.OK {
		t.Errorf("a replay gives another account: %+v", v)
	}
	stop()
	file, err := boltfile.Open(dir+"/store.db", boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	st, err := file.Load("me")
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := store.Digest(st); after != before {
		t.Errorf("the store has the model %s, want %s", after, before)
	}
}
