// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Damage that is met while the daemon runs ends marking and learning, and status names the newest
// backup. The next start sets the file aside; the one after that begins an empty store.
func TestDamageMetWhileRunningEndsMarkingAndNamesTheNewestBackup(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), every(t, 0)
	newest := filepath.Join(o.Rotation.Dir, "hinged-20260102T000000Z.db")
	if err := errors.Join(os.Mkdir(o.Rotation.Dir, 0o700), os.WriteFile(newest, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s, damaged := newScript(), errors.New("the store is damaged")
	d, stop := startSource(t, dir, func([]ingest.Known) (ingest.Source, error) { return s, nil }, &damaged)
	d.UseBackups(o)
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	file := filepath.Join(dir, "store.db")
	if err := testkit.Garble(file); err != nil {
		t.Fatal(err)
	}
	if report, err := d.store.Verify(t.Context()); err != nil || report.OK() {
		t.Fatalf("Verify: %+v, %v, want a problem", report, err)
	}
	s.events <- arrival(3, mail(3, "boss@example.com", "urgent matter"))
	until(t, d, "the newest backup", func(a desk.AccountStatus) bool { return strings.Contains(a.Problem, "hinged restore "+newest) })
	stop()
	if asked := s.requests(); len(asked) > 0 {
		t.Errorf("it asked for marks: %+v", asked)
	}
	if _, err := New(Options{StorePath: file}); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), file+".damaged-1") {
		t.Errorf("the next start: %v, want ErrDamaged that says where the file is", err)
	}
	empty, err := New(Options{StorePath: file, Store: boltfile.Options{NoSync: true}})
	if err != nil {
		t.Fatal(err)
	}
	if was := empty.store.Instead(); was != file+".damaged-1" {
		t.Errorf("the store was begun in the place of %q", was)
	}
	if err := empty.Close(); err != nil {
		t.Error(err)
	}
}
