// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"testing"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store/boltfile"
)

func TestWhereAPartitionBegins(t *testing.T) {
	at := func(n int64) *boltfile.PartitionInfo { return &boltfile.PartitionInfo{Next: n, Partitions: 4} }
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
		{"the topic has more partitions now", situation{log: log, local: &boltfile.PartitionInfo{Next: 70_000, Partitions: 3}}, 0, ErrRepartitioned},
		{"the snapshot is of other partitions", situation{log: log, snapshot: &boltfile.PartitionInfo{Next: 70_000, Partitions: 8}}, 0, ErrRepartitioned},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.s.partitions, c.s.behind = 4, 5000
			got, err := c.s.choose()
			if !errors.Is(err, c.err) || err == nil && got != c.want {
				t.Errorf("got %v, %v; want %v, %v", got, err, c.want, c.err)
			}
		})
	}
}
