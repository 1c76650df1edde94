// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// TestAReloadOfTheStreamChangesNoDecision: while mail comes in, a process is given other
// settings of [kafka] again and again: bounds, connections, mistakes, brokers that don't
// answer, and another group, which it doesn't take over. Accounts, decisions and dead
// letters are those of a process that nobody touched.
func TestAReloadOfTheStreamChangesNoDecision(t *testing.T) {
	t.Parallel()
	broker := testkit.StartKafka(t, testkit.KafkaOptions{})
	in := newTopic(t, broker, "in", 3)
	mail := newOwners(9, 20)
	shaken := in.process("shaken", `snapshot_every = 100`)
	shaken.start()
	good := testkit.Read(t, shaken.config)
	put := func(pattern, text string) {
		t.Helper()
		with := regexp.MustCompile(pattern).ReplaceAllString(string(good), text)
		if with == string(good) {
			t.Fatalf("there is no %s", pattern)
		}
		shaken.rewrite(func(string) string { return with })
		records, _ := mail.next(50)
		in.produce(records)
		shaken.hangUp()
	}
	logged := func(n int, words ...string) {
		t.Helper()
		testkit.Until(t, func() bool { return shaken.logged(words...) >= n }, words, " was not logged so often:\n", shaken.log)
	}
	for n := range 12 {
		text := fmt.Sprintf("snapshot_every = %d", 200+n)
		if n%4 == 3 {
			text += fmt.Sprintf("\nclient_id = %q", fmt.Sprint("shaken", n))
		}
		put("snapshot_every = 100", text)
		logged(n+1, "the configuration was read again", "stream_changed=true")
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // it goes on between reloads
			if st, _ := shaken.stream(); st.Records > uint64(40*n) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("after reload %d nothing more is decided\n%s", n, tail(shaken.log.String()))
			}
		}
	}
	put("snapshot_every = 100", "max_weights = -5")
	logged(1, "the new configuration is not used", "key=kafka.max_weights")
	put("brokers = .*", `brokers = ["127.0.0.1:1"]`)
	logged(1, "the new configuration is not used", "kafka, with the new settings")
	put(`group = "shaken"`, `group = "other"`)
	logged(1, "takes effect only after a restart", "kafka.group")
	got := in.accountDigests(shaken)
	shaken.end()

	in.pin("shaken", got)
	in.likeOneAlone("shaken", got)
}
