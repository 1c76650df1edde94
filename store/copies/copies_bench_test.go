// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// large is a store with the account of a mailbox of 20,000 messages, each with
// 1.5 KB of features, after it was checkpointed a few times.
func large(b *testing.B) *boltfile.Store {
	b.Helper()
	s, err := boltfile.Open(storetest.TempStore(b), boltfile.Options{CheckpointEvery: 10})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	r := rand.New(rand.NewPCG(1, 1))
	st := storetest.Busy(r, 20_000)
	for n := range 40 {
		var batch store.Batch
		for i := range 500 {
			data := make([]byte, 1500)
			for j := range data {
				data[j] = byte(r.Uint32())
			}
			batch.Journal = append(batch.Journal, data[:120])
			batch.Features = append(batch.Features, store.FeatureRecord{Key: storetest.KeyOf(500*n + i), Data: data})
		}
		st.Account.Messages++
		if err := s.Commit("ann", st, batch); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// What one copy of each kind takes, the disk included.
func BenchmarkCopies(b *testing.B) {
	s := large(b)
	size := func(path string) float64 {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		return float64(info.Size()) / (1 << 20)
	}
	dir := b.TempDir()
	toFile := func(write func(io.Writer) error) (path string) {
		f, err := os.CreateTemp(dir, "copy-*")
		if err == nil {
			err = errors.Join(write(f), f.Sync(), f.Close())
		}
		if err != nil {
			b.Fatal(err)
		}
		return f.Name()
	}
	b.Run("backup", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(size(toFile(func(w io.Writer) error { _, err := s.Backup(w); return err })), "MiB")
		}
	})
	var export string
	b.Run("export", func(b *testing.B) {
		for b.Loop() {
			export = toFile(func(w io.Writer) error { return s.CopyAccount("ann", w) })
			b.ReportMetric(size(export), "MiB")
		}
	})
	b.Run("import", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			if _, err := Import(b.Context(), filepath.Join(dir, fmt.Sprint(n), "hinged.db"), export, "", false, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compact", func(b *testing.B) {
		before := size(s.Path())
		for b.Loop() {
			if _, _, err := s.Compact(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(before, "MiB-before")
		b.ReportMetric(size(s.Path()), "MiB-after")
	})
}
