// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"testing"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/stream"
)

// A process that has not fetched since the last record was produced believes that
// it has everything. The demo once compared digests then, and saw a replay that had
// one record more.
func TestAProcessHasCaughtUpOnlyWithWhatTheBrokersHave(t *testing.T) {
	ends := []kafka.Watermark{{End: 10}, {End: 20}}
	for name, c := range map[string]struct {
		all  []stream.PartitionStatus
		want bool
	}{
		"it has all":                     {[]stream.PartitionStatus{{Partition: 0, Position: 10, End: 10}, {Partition: 1, Position: 20, End: 20}}, true},
		"it knows an older end":          {[]stream.PartitionStatus{{Partition: 1, Position: 19, End: 19}}, false},
		"more has come since":            {[]stream.PartitionStatus{{Partition: 0, Position: 10, End: 12}}, false},
		"it does not know the end":       {[]stream.PartitionStatus{{Partition: 0, Position: 10, End: -1}}, false},
		"the brokers know no such thing": {[]stream.PartitionStatus{{Partition: 2, Position: 1, End: 1}}, false},
	} {
		if got := caughtUp(c.all, ends); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
