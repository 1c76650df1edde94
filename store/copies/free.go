// SPDX-License-Identifier: Apache-2.0

package copies

import "golang.org/x/sys/unix"

// freeBytes returns how much an ordinary user may still write below dir.
func freeBytes(dir string) (n uint64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return uint64(max(0, st.Bavail)) * uint64(st.Bsize), true //nolint:unconvert // the types differ from system to system
}
