// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit/filetest"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// runImporter imports the export beside the store again and again, and says so
// each time.
func runImporter(path string) int {
	err := func() error {
		for {
			x, err := boltfile.OpenReadOnly(filepath.Join(filepath.Dir(path), "ann.export"), boltfile.Options{})
			if err != nil {
				return err
			}
			s, err := boltfile.Open(path, filetest.Options())
			if err != nil {
				return err
			}
			fmt.Println("ready")
			if err := errors.Join(s.AddAccount(x, "ann", "ann"), s.Close(), x.Close()); err != nil {
				return err
			}
			fmt.Println("imported")
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// Whenever an import is killed, the account is the one from before or the one
// imported, whole, and the others are as they were.
func TestKilledWhileImportingTheAccountIsOldOrNew(t *testing.T) {
	data, _, _, _ := exported(t)
	x := asStore(t, data)
	s := filetest.Open(t, storetest.TempStore(t), filetest.Options())
	if err := s.Commit("ben", store.NewState(), store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	old := store.NewState()
	old.Account.Messages = 12
	if err := s.Commit("ann", old, store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	before := storetest.DigestsOf(t, s)
	var backup strings.Builder
	if _, err := s.Backup(&backup); err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	filetest.CloseVerified(t, s)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "ann.export"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	after := strings.Replace(before, strings.SplitAfter(before, "\n")[0], storetest.DigestsOf(t, x), 1)
	if before == after {
		t.Fatalf("nothing would change: %q", after)
	}
	r := rand.New(rand.NewPCG(9, 9))
	was, is := 0, 0
	for n := range 25 {
		if err := os.WriteFile(path, []byte(backup.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		v := storetest.StartVictim(t, "importer", path)
		if said := v.Line(); said != "ready" {
			t.Fatalf("the importer said %q", said)
		}
		imported := n%5 == 0 && v.Line() == "imported" // of the others some end it in the midst
		imported = slices.Contains(v.KillAfter(time.Duration(r.IntN(12_000))*time.Microsecond), "imported") || imported
		s, err := boltfile.Open(path, filetest.Options())
		if err != nil {
			t.Fatal(err)
		}
		switch got := storetest.DigestsOf(t, s); {
		case got == before && !imported:
			was++
		case got == after:
			is++
		default:
			t.Errorf("the store has\n%swant\n%sor\n%s", got, before, after)
		}
		filetest.CloseVerified(t, s)
		if t.Failed() {
			break
		}
	}
	t.Logf("killed before the import counted %d times, after it %d times", was, is)
	if is < 5 {
		t.Error("imports that had ended were lost")
	}
}
