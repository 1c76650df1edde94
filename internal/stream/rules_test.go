// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
)

func rulesRecord(account, value string, at time.Time) kafka.Record {
	r := messageRecord(account, []byte(value), at)
	r.Headers = []kafka.Header{
		{Key: "ce_type", Value: []byte(kafka.TypeRules)}, {Key: "ce_id", Value: []byte(value)},
		{Key: "ce_source", Value: []byte("test")}, {Key: "ce_specversion", Value: []byte("1.0")},
	}
	return r
}

// Rules that come as records decide what comes after them, are replaced by the
// next, and may come before any message.
func TestRulesOfTheTopicDecide(t *testing.T) {
	c := newCluster(1)
	at := epoch
	letter := func(n int) {
		at = at.Add(time.Minute)
		c.put(testTopics.Input, messageRecord("a", fmt.Appendf(nil, "Message-ID: <%d@x>\r\nFrom: boss@example.com\r\nSubject: number %d\r\n\r\ntext\r\n", n, n), at))
	}
	c.put(testTopics.Input, rulesRecord("a", `{"rules":[{"match":"from:boss@example.com","label":"important"}]}`, at))
	letter(1)
	c.put(testTopics.Input, rulesRecord("a", `{"rules":[{"match":"from:boss@example.com","label":"important"},{"match":"From:Boss@example.com","label":"ordinary"}]}`, at))
	letter(2)
	c.put(testTopics.Input, rulesRecord("a", `{"rules":[{"match":"subject:number","label":"ordinary"}]}`, at))
	letter(3)
	c.put(testTopics.Input, rulesRecord("a", `{"rules":[]}`, at))
	letter(4)
	p := newProcess(t, c)
	p.start()
	eventually(t, func() error { return caughtUp(c, p) })
	var got []string
	for _, r := range c.all(testTopics.Decisions) {
		var d kafka.Decision
		if err := json.Unmarshal(r.Value, &d); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %v", d.Decision, d.Reason, d.Mark))
	}
	if len(got) != 4 || got[0] != "important rule true" || got[1] != got[0] || got[2] != "ordinary rule false" || got[3] == got[0] || got[3] == got[2] {
		t.Errorf("decisions are %q", got)
	}
	eventually(t, func() error { // they are counted a moment after the commit
		if n := p.engine.Status().Counts; n.DeadLetters[kafka.BadValue] != 1 || len(n.DeadLetters) != 1 {
			return fmt.Errorf("dead letters are %v, want the rules that contradict each other", n.DeadLetters)
		}
		return nil
	})
}
