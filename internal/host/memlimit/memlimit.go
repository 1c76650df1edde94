// SPDX-License-Identifier: Apache-2.0

// Package memlimit finds out how much memory the container of this process may use. It
// reads the files of cgroups and changes nothing.
//
// It is our own because the module proxy here does not have
// github.com/KimMachine/automemlimit, and what containerd has for it brings a dozen
// modules along.
package memlimit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// none is above what any machine has: cgroups v1 says "no limit" by a number near 2⁶³.
const none = 1 << 60

// Container returns the least limit on memory, in bytes, of the cgroups that the process
// is in; 0 if there is none. root is "/" outside of tests. An error means that a limit
// may be there and can't be read. (cgroups(7); memory.max of version 2,
// memory.limit_in_bytes of version 1.)
func Container(root string) (bytes int64, err error) {
	member, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // no cgroups on this system
	}
	if err != nil {
		return 0, fmt.Errorf("reading the cgroups of this process: %w", err)
	}
	least := int64(none)
	for line := range strings.Lines(string(member)) {
		// hierarchy:controllers:path
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		dir, file := "sys/fs/cgroup", "memory.max"
		if fields[1] != "" {
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		limit, err := leastOf(filepath.Join(root, dir), fields[2], file)
		if err != nil {
			return 0, err
		}
		least = min(least, limit)
	}
	if least >= none {
		return 0, nil
	}
	return least, nil
}

// leastOf returns the least limit of a cgroup and those above it. In a container a
// cgroup's path may be that outside; then only the topmost is there.
func leastOf(mount, cgroup, file string) (int64, error) {
	least := int64(none)
	for dir := path.Clean("/" + cgroup); ; dir = path.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(mount, dir, file))
		switch {
		case err == nil:
			limit, err := parse(strings.TrimSpace(string(data)))
			if err != nil {
				return 0, fmt.Errorf("limit of memory in %s: %w", filepath.Join(mount, dir, file), err)
			}
			least = min(least, limit)
		case !errors.Is(err, fs.ErrNotExist):
			return 0, fmt.Errorf("reading the limit of memory: %w", err)
		}
		if dir == "/" {
			return least, nil
		}
	}
}

func parse(s string) (int64, error) {
	if s == "max" {
		return none, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of bytes and not \"max\"", s)
	}
	return int64(min(n, none)), nil
}
