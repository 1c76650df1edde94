// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// lessons says what a stopped site learnt, in order.
func (s *site) lessons() (out []string) {
	s.t.Helper()
	db, err := boltfile.OpenReadOnly(filepath.Join(s.dir, "state", "hinged.db"), boltfile.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	for l, err := range db.Lessons("me", 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%x %v %v %v", l.Message, l.Label, l.Source, l.Step))
	}
	return out
}

// differences names, for a person to read, rows that differ between the states
// of two stopped sites.
func differences(t testing.TB, a, b *site) string {
	t.Helper()
	var states [2]*store.State
	for i, s := range []*site{a, b} {
		db, err := boltfile.OpenReadOnly(filepath.Join(s.dir, "state", "hinged.db"), boltfile.Options{})
		if err != nil {
			return err.Error()
		}
		defer db.Close()
		if states[i], err = db.Load("me"); err != nil {
			return err.Error()
		}
	}
	out := []string{"lessons: " + firstDifference(a.lessons(), b.lessons())}
	x, y := states[0], states[1]
	if !reflect.DeepEqual(x.Account, y.Account) {
		out = append(out, fmt.Sprintf("account %+v\n        %+v", x.Account, y.Account))
	}
	out = append(out, rows("senders", x.Senders, y.Senders)...)
	out = append(out, rows("threads", x.Threads, y.Threads)...)
	out = append(out, rows("ids", x.IDs, y.IDs)...)
	out = append(out, rows("messages", x.Messages, y.Messages)...)
	out = append(out, rows("places", x.Places, y.Places)...)
	out = append(out, rows("boxes", x.Boxes, y.Boxes)...)
	out = append(out, rows("ledger", x.Ledger, y.Ledger)...)
	out = append(out, rows("refusals", x.Refusals, y.Refusals)...)
	return strings.Join(out, "\n")
}

// rows lists the first few rows that differ; moments differ always.
func rows[V any](name string, x, y *store.Table[V]) (out []string) {
	keys := append(x.Keys(), y.Keys()...)
	for _, k := range keys {
		v, inX := x.Get(k)
		w, inY := y.Get(k)
		if inX != inY || !reflect.DeepEqual(v, w) {
			if out = append(out, fmt.Sprintf("%s %x: %+v\n  or %+v", name, k, v, w)); len(out) == 3 {
				return out
			}
		}
	}
	return out
}
