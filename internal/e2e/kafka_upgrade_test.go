// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// TestARollingUpgradeChangesNoDecision: three processes of one group are replaced by
// another build of hinged one after the other while mail comes in, two with their disks
// and one without. Meanwhile builds of both versions share the partitions.
// Accounts, decisions and dead letters are those of one process that nobody touched.
func TestARollingUpgradeChangesNoDecision(t *testing.T) {
	t.Parallel() // they mostly wait
	newer := filepath.Join(t.TempDir(), "hinged")
	if err := build(newer, "-X main.version=v99.0.0"); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(newer, "version").Output(); err != nil || !bytes.Contains(said, []byte("v99.0.0")) {
		t.Fatalf("the newer build calls itself %q, %v", said, err)
	}
	broker := testkit.StartKafka(t, testkit.KafkaOptions{})
	in := newTopic(t, broker, "in", 6)
	mail := newOwners(3, 40)
	const often = "snapshot_every = 100\nsnapshot_interval = \"1s\""
	group := func() *site { return in.process("three", often) }
	three := []*site{group(), group(), group()}
	for _, s := range three {
		s.start()
	}
	send := func() {
		records, _ := mail.next(150)
		in.produce(records)
	}
	for i, s := range three {
		send()
		if err := s.stop(syscall.SIGTERM); err != nil {
			t.Fatalf("process %d, asked to make way: %v", i, err)
		}
		send() // the others do its work
		if i == len(three)-1 {
			s = group() // as a new container has nothing of the old one
			three[i] = s
		}
		s.binary = newer
		s.start()
		send()
	}
	got := in.accountDigests(three...)
	for _, s := range three {
		s.end()
	}

	in.pin("three", got)
	in.likeOneAlone("three", got)
}
