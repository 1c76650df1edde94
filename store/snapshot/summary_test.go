// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"testing"

	"github.com/hinged/hinged/internal/testkit/filetest"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// An account gives the same chunks with summaries and without; what is taken over has none
// until its next checkpoint.
func TestASummaryIsInNoSnapshot(t *testing.T) {
	var manifests []Manifest
	kept := newShelf()
	for _, with := range []bool{true, false} {
		s := filetest.Open(t, storetest.TempStore(t), filetest.Options())
		storetest.Begin(t, s, storetest.Inbox3)
		c := storetest.NewCrowd(5, 3)
		for range 40 {
			batch := c.Change()
			for _, a := range batch {
				if with {
					a.State.Summarise = func() []byte { return []byte("a summary") }
				}
			}
			if err := s.CommitPartition(store.LogPosition{Next: c.Next}, batch); err != nil {
				t.Fatal(err)
			}
			c.Committed(batch)
		}
		manifests = append(manifests, kept.dumpOf(t, s, nil))
		if n := summaries(t, s); (n > 0) != with {
			t.Errorf("%d accounts have a summary", n)
		}
	}
	if a, b := fmt.Sprint(manifests[0]), fmt.Sprint(manifests[1]); a != b {
		t.Errorf("with summaries the snapshot is\n%s\nwithout\n%s", a, b)
	}
	there := filetest.Open(t, storetest.TempStore(t), filetest.Options())
	if err := Begin(context.Background(), there, &manifests[0]); err != nil {
		t.Fatal(err)
	}
	for _, a := range manifests[0].Accounts {
		if err := Restore(there, a.Account, kept.get); err != nil {
			t.Fatal(err)
		}
	}
	if n := summaries(t, there); n > 0 {
		t.Errorf("%d accounts that were taken over have a summary", n)
	}
}

// summaries counts the accounts that have one.
func summaries(t *testing.T, s *boltfile.Store) (n int) {
	t.Helper()
	names, err := s.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		st, err := s.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if st.TakeSummary() != nil {
			n++
		}
	}
	return n
}
