// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// connectionsTo adds to seen the ports from which connections go, or lately went, to an address of
// this machine. Linux keeps those that are closed for a minute.
func connectionsTo(t *testing.T, addr string, seen map[string]bool) {
	t.Helper()
	var port int
	if _, err := fmt.Sscanf(addr, "127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("/proc/net/tcp")
	theirs, err6 := os.ReadFile("/proc/net/tcp6") // Java's, where they closed first
	if err != nil || err6 != nil {
		t.Skipf("SKIPPED: connections can't be counted: %v, %v", err, err6)
	}
	for line := range strings.Lines(string(ours) + string(theirs)) {
		local, remote := strings.Fields(line)[1], strings.Fields(line)[2]
		if strings.HasSuffix(local, fmt.Sprintf(":%04X", port)) {
			local, remote = remote, local
		}
		if from := local[len(local)-4:]; strings.HasSuffix(remote, fmt.Sprintf(":%04X", port)) && from != "0000" {
			seen[from] = true
		}
	}
}

// TestSessionsThatEndDisturbNoStream: a broker ends each connection after KafkaSession unless
// somebody logs in on it again. While records come in, the daemon does so, three times on each
// connection: it makes no new ones, keeps its partitions, and decides each record once, as a
// process that needs no login. Each login asks for the password, and so can be counted.
func TestSessionsThatEndDisturbNoStream(t *testing.T) {
	t.Parallel()
	testkit.NeedKafka(t)
	broker := testkit.StartKafka(t, testkit.KafkaOptions{})
	in := newTopic(t, broker, "in", 2)
	mail := newOwners(3, 10)
	asked := filepath.Join(t.TempDir(), "asked")
	s := in.process("again", fmt.Sprintf("sasl = 'scram-sha-256'\nusername = %q\npassword_command = ['sh', '-c', 'echo >> %s; echo %s']",
		testkit.KafkaUser, asked, testkit.KafkaPassword))
	s.rewrite(func(text string) string { return strings.Replace(text, broker.Addrs()[0], broker.LoginAddrs()[0], 1) })
	s.start()
	logins := func() int {
		text, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n"))
	}
	seen, first, again := map[string]bool{}, 0, 0
	warnings := func() int { return s.logged("level=WARN") + s.logged("level=ERROR") }
	warned := 0 // while the broker made the group's topic
	for deadline := time.Now().Add(2 * patience); first == 0 || again < 3*first; time.Sleep(testkit.KafkaSession / 8) {
		records, _ := mail.next(20)
		in.produce(records)
		in.done(patience, s)
		connectionsTo(t, broker.LoginAddrs()[0], seen)
		if first == 0 {
			first, warned = len(seen), warnings()
		}
		again = logins() - len(seen)
		if time.Now().After(deadline) {
			t.Fatalf("%d connections at first, %d in all, %d logins\n%s", first, len(seen), logins(), tail(s.log.String()))
		}
	}
	// A machine that stands still for a tenth of a session loses a connection now and then.
	lost := max(0, len(seen)-first-2) // kafka-go may want another by itself
	t.Logf("%d records, %d connections at first, %d in all; %d logins again", mail.n, first, len(seen), again)
	if lost > again/4 {
		t.Errorf("%d connections were lost, and %d kept by a login", lost, again)
	}
	got := in.accountDigests(s)
	if assigned := s.logged("partition assigned"); assigned != 2 {
		t.Errorf("2 partitions were assigned %d times\n%s", assigned, tail(s.log.String()))
	}
	if more := warnings() - warned; more > lost {
		t.Errorf("%d connections were lost, and the log has %d warnings more\n%s", lost, more, tail(s.log.String()))
	}
	if _, twice := in.of("again").outputs("again.decisions"); twice > 0 && lost == 0 {
		t.Errorf("%d decisions are there twice", twice)
	}
	in.likeOneAlone("again", got)
}
