// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Holder returns the process that has the store at path open to write, and its command
// line. It returns 0 where no process has, or it can't be found out, as for processes of
// another container.
func Holder(path string) (pid int, command []string) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, nil
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0, nil
	}
	pid = lockedBy(string(locks), stat.Ino)
	if pid == 0 {
		return 0, nil
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return 0, nil
	}
	for _, word := range bytes.Split(bytes.TrimSuffix(line, []byte{0}), []byte{0}) {
		command = append(command, string(word))
	}
	return pid, command
}

// lockedBy finds in /proc/locks (proc_locks(5)) the process that holds an exclusive lock of
// flock on the file with this inode; 0: none. Inodes are compared without their devices,
// which some file systems tell otherwise here.
func lockedBy(locks string, inode uint64) int {
	for line := range strings.Lines(locks) {
		words := strings.Fields(line)
		if len(words) < 6 || words[1] != "FLOCK" || words[3] != "WRITE" {
			continue
		}
		if !strings.HasSuffix(words[5], ":"+strconv.FormatUint(inode, 10)) {
			continue
		}
		if pid, err := strconv.Atoi(words[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
