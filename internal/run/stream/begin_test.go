// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"testing"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
)

func TestWhereAPartitionBegins(t *testing.T) {
	now := kafka.TopicID{2}
	at := func(n int64) *store.LogPosition {
		return &store.LogPosition{Next: n, Partitions: 4, TopicID: now}
	}
	old := func(n int64) *store.LogPosition {
		return &store.LogPosition{Next: n, Partitions: 4, TopicID: kafka.TopicID{1}}
	}
	unknown := func(n int64) *store.LogPosition { return &store.LogPosition{Next: n, Partitions: 4} }
	recovered := func(n int64, from string) *store.LogPosition {
		return &store.LogPosition{Next: n, Partitions: 4, TopicID: now, Recovered: from}
	}
	log := kafka.Watermark{First: 1000, End: 90_000}
	for _, c := range []struct {
		name string
		s    situation
		want choice
		err  error
	}{
		{"nothing is known and nobody ever read it", situation{log: log}, atStart, nil},
		{"another process read it and nothing is left of that", situation{log: log, committed: true}, 0, ErrNoState},
		{"another process read it, and all of the log is there", situation{log: kafka.Watermark{End: 50}, committed: true}, atStart, nil},
		{"the local copy", situation{log: log, local: at(70_000)}, atLocal, nil},
		{"the local copy at the very start", situation{log: log, local: at(1000)}, atLocal, nil},
		{"the local copy at the very end", situation{log: log, local: at(90_000)}, atLocal, nil},
		{"the local copy is below the start", situation{log: log, local: at(999)}, 0, ErrNoState},
		{"the local copy is above the end", situation{log: log, local: at(90_001)}, 0, ErrNoState},
		{"the local copy is below the start, whoever published what", situation{log: log, local: at(999), committed: true}, 0, ErrNoState},
		{"a snapshot and nothing local", situation{log: log, snapshot: at(60_000), committed: true}, atSnapshot, nil},
		{"a snapshot below the start", situation{log: log, snapshot: at(600)}, 0, ErrNoState},
		{"a snapshot above the end", situation{log: log, snapshot: at(90_001)}, 0, ErrNoState},
		{"the local copy is as good as the snapshot", situation{log: log, local: at(60_000), snapshot: at(60_000)}, atLocal, nil},
		{"the local copy is a little behind the snapshot", situation{log: log, local: at(55_000), snapshot: at(60_000)}, atLocal, nil},
		{"the local copy is far behind the snapshot", situation{log: log, local: at(54_999), snapshot: at(60_000)}, atSnapshot, nil},
		{"the local copy is above the end, the snapshot is not", situation{log: log, local: at(90_001), snapshot: at(60_000)}, atSnapshot, nil},
		{"the snapshot is above the end, the local copy is not", situation{log: log, local: at(2000), snapshot: at(90_001)}, atLocal, nil},
		{"the topic has more partitions now", situation{log: log, local: &store.LogPosition{Next: 70_000, Partitions: 3, TopicID: now}}, 0, ErrRepartitioned},
		{"the snapshot is of other partitions", situation{log: log, snapshot: &store.LogPosition{Next: 70_000, Partitions: 8, TopicID: now}}, 0, ErrRepartitioned},
		{"the topic was created again, and the position is within the new log", situation{log: log, local: old(70_000)}, 0, kafka.ErrRecreated},
		{"the topic was created again, and the position is at its start", situation{log: kafka.Watermark{}, local: old(0)}, 0, kafka.ErrRecreated},
		{"the topic was created again, and the position is above its end", situation{log: log, local: old(90_001)}, 0, kafka.ErrRecreated},
		{"a snapshot of the old topic alone", situation{log: log, snapshot: old(60_000)}, 0, kafka.ErrRecreated},
		{"both are of the old topic", situation{log: log, local: old(60_000), snapshot: old(60_000)}, 0, kafka.ErrRecreated},
		{"the store is of the old topic, a snapshot of the new one", situation{log: log, local: old(70_000), snapshot: at(60_000)}, atSnapshot, nil},
		{"the store is of the new topic, the snapshot of the old one", situation{log: log, local: at(60_000), snapshot: old(70_000)}, atLocal, nil},
		{"both are of the new topic, of which neither fits", situation{log: log, local: at(90_001), snapshot: at(600)}, 0, ErrNoState},
		{"the store is of the old topic, the snapshot of the new one does not fit", situation{log: log, local: old(70_000), snapshot: at(600)}, 0, ErrNoState},
		{"brokers told no id when it was read", situation{log: log, local: unknown(70_000)}, atLocal, nil},
		{"brokers told no id when the snapshot was made", situation{log: log, snapshot: unknown(70_000)}, atSnapshot, nil},
		{"a replay", situation{log: kafka.Watermark{End: 90}, snapshot: at(60), fromStart: true}, atStart, nil},
		{"a replay of a log without its first record", situation{log: log, snapshot: at(60_000), fromStart: true}, atSnapshot, nil},
		{"a replay of a partition recovered from its start", situation{log: kafka.Watermark{End: 90}, snapshot: recovered(60, FromStart), fromStart: true}, atStart, nil},
		{"a replay of a partition recovered from its snapshot", situation{log: kafka.Watermark{End: 90}, snapshot: recovered(60, FromSnapshot), fromStart: true}, atSnapshot, nil},
		{"a replay of a partition recovered with nothing", situation{log: kafka.Watermark{End: 90}, snapshot: recovered(60, FromNothing), fromStart: true}, atSnapshot, nil},
		{"a replay of a topic that was created again", situation{log: kafka.Watermark{End: 90}, snapshot: old(60), fromStart: true}, 0, kafka.ErrRecreated},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.s.topic, c.s.partitions, c.s.behind = now, 4, 5000
			got, err := c.s.choose()
			if !errors.Is(err, c.err) || err == nil && got != c.want {
				t.Errorf("got %v, %v; want %v, %v", got, err, c.want, c.err)
			}
		})
	}
}
