// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// release lets go of the memory that the mapping of the file takes: the pages
// stay in the system's cache and come back at the next access. The kernel maps
// 64 KiB around every page that is touched, and counts it all as the process's,
// so that without this the whole file would come to be resident.
//
// tx must be open: it keeps the mapping where it is. Other transactions may read
// at the same time. The advice is advice, so its failure costs memory only.
func release(tx *bolt.Tx) {
	size := uintptr(tx.Size())
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, tx.DB().Info().Data, size, syscall.MADV_DONTNEED)
}

// mapped returns how many bytes of files the process has resident, its program among them:
// the third field of statm (proc_pid_statm(5)). Where that can't be read it says that it is
// all there can be.
func mapped() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(statm)
	if err != nil || len(fields) < 3 {
		return math.MaxInt64
	}
	pages, err := strconv.ParseInt(string(fields[2]), 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return pages * int64(os.Getpagesize())
}
