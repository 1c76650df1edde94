// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// TestACatchUpStaysWithinTheMemoryOfItsContainer: a daemon in a cgroup finds a topic full
// of small records and takes all of it; the kernel ends no process for want of memory.
// By default 12,000 messages in 160 MiB; make soak has 120,000 (HINGED_STREAM_MESSAGES)
// in 512 MiB (HINGED_STREAM_MIB).
func TestACatchUpStaysWithinTheMemoryOfItsContainer(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: it needs root, to make a cgroup")
	}
	mib := testkit.FromEnv("HINGED_STREAM_MIB", 160)
	group, file := memoryCgroup(t, mib)
	broker := testkit.StartKafka(t, testkit.KafkaOptions{})
	in := newTopic(t, broker, "catchup", 8)
	mail := newOwners(9, 400)
	for left := testkit.FromEnv("HINGED_STREAM_MESSAGES", 12_000); left > 0; left -= 2000 {
		records, _ := mail.next(min(left, 2000))
		in.produce(records)
	}
	path := program(t)
	s := in.process("catchup", "")
	s.binary = filepath.Join(s.dir, "contained")
	script := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs || exit 1\nexec %s \"$@\"\n", group, path)
	testkit.WriteProgram(t, s.binary, []byte(script), 0o700)
	s.start()
	in.done(20*time.Minute, s)
	s.kill()
	peak, err := os.ReadFile(filepath.Join(group, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	t.Logf("limit %d MiB; the most, pages of files included: %s bytes", mib, strings.TrimSpace(string(peak)))
	want := fmt.Sprintf("bytes=%d by=", mib<<20)
	if log := s.log.String(); !strings.Contains(log, want) || !strings.Contains(log, `by="the container"`) {
		t.Errorf("the daemon did not find its limit, %q, in\n%.2000s", want, log)
	}
}

// memoryCgroup makes a cgroup that may use so much memory, of either version, and returns
// it with the name of the file that has the most that was used.
func memoryCgroup(t *testing.T, mib int) (dir, peak string) {
	t.Helper()
	name := fmt.Sprintf("hinged-memory-%d", os.Getpid())
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatalf("making a cgroup: %v", err)
		}
	}
	limit := fmt.Sprint(mib << 20)
	root, most, peak := "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		root, most, peak = "/sys/fs/cgroup", "memory.max", "memory.peak"
		write(filepath.Join(root, "cgroup.subtree_control"), "+memory")
	}
	dir = filepath.Join(root, name)
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED: cgroups can't be made here, not even as root: %v", err)
	}
	if err != nil {
		t.Fatalf("making a cgroup: %v", err)
	}
	t.Cleanup(func() { vacate(t, dir) })
	write(filepath.Join(dir, most), limit)
	return dir, peak
}
