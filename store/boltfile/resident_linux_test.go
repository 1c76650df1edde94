// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file that is mapped and read shows in what the process has mapped, and is gone from it
// when it is released.
func TestMappedCountsWhatIsResidentOfFiles(t *testing.T) {
	const size = 64 << 20
	f, err := os.Create(filepath.Join(t.TempDir(), "mapped"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(data) }()
	before := mapped()
	if before <= 0 || before > 1<<40 {
		t.Fatalf("%d bytes are mapped before", before)
	}
	sum := 0
	for at := 0; at < size; at += os.Getpagesize() {
		sum += int(data[at])
	}
	if read := mapped() - before; read < size*3/4 {
		t.Errorf("%d bytes were read, %d more are mapped; %d", size, read, sum)
	}
	if err := syscall.Madvise(data, syscall.MADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if left := mapped() - before; left > size/4 {
		t.Errorf("%d bytes were released, %d are mapped still", size, left)
	}
}
