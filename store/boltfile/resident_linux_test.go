// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// A file that is mapped and read shows in what the process has mapped, and is gone from it
// when it is released.
func TestMappedCountsWhatIsResidentOfFiles(t *testing.T) {
	const size = 64 << 20
	before := mapped()
	if before <= 0 || before > 1<<40 {
		t.Fatalf("%d bytes are mapped before", before)
	}
	data := readMapped(t, size)
	if read := mapped() - before; read < size*3/4 {
		t.Errorf("%d bytes were read, %d more are mapped", size, read)
	}
	if err := syscall.Madvise(data, syscall.MADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if left := mapped() - before; left > size/4 {
		t.Errorf("%d bytes were released, %d are mapped still", size, left)
	}
}

// A partition's file stays mapped as long as there is room, and is let go of past it; any
// other file is let go of at once.
func TestAPartitionsFileStaysMappedWhileThereIsRoom(t *testing.T) {
	const size = 16 << 20
	db, err := bolt.Open(filepath.Join(t.TempDir(), "s.db"), 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("b"))
		if err != nil {
			return err
		}
		return b.Put([]byte("k"), make([]byte, size))
	})
	if err != nil {
		t.Fatal(err)
	}
	// released is how much f lets go of after all of it was read.
	released := func(f *file) (bytes int64) {
		err := db.View(func(tx *bolt.Tx) error {
			touch(tx.Bucket([]byte("b")).Get([]byte("k")))
			before := mapped()
			f.relieve(tx)
			bytes = before - mapped()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	plain, partition := newFile(db.Path(), db, Options{}), newFile(db.Path(), db, Options{})
	partition.partition.Store(true)
	if got := released(plain); got < size*3/4 {
		t.Errorf("a file that is no partition's let go of %d bytes of %d", got, size)
	}
	if got := released(partition); got > size/4 {
		t.Errorf("with room left a partition's file let go of %d bytes", got)
	}
	readMapped(t, residentRoom)
	if got := released(partition); got < size*3/4 {
		t.Errorf("without room a partition's file let go of %d bytes of %d", got, size)
	}
}

// readMapped maps a file of so many bytes until the test ends, and reads it.
func readMapped(t *testing.T, size int) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "mapped"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Truncate(int64(size)); err != nil {
		t.Fatal(err)
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(data) })
	touch(data)
	return data
}

// touch reads a byte of each page.
func touch(data []byte) {
	for at := 0; at < len(data); at += os.Getpagesize() {
		touched += int(data[at])
	}
}

var touched int // so that the reading is not left out
