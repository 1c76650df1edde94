// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// TestHowOldAMessageIs: the older of what the server and what the message says; of the
// latter the last delivery, and what its sender wrote where it tells of none.
func TestHowOldAMessageIs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return now.AddDate(0, 0, -n) }
	for _, c := range []struct {
		name                     string
		internal, received, date time.Time
		want                     time.Time
	}{
		{"nothing is known", time.Time{}, time.Time{}, time.Time{}, now},
		{"moved: INTERNALDATE stays", day(100), time.Time{}, time.Time{}, day(100)},
		{"copied by a tool that gives no date", day(0), day(100), day(101), day(100)},
		{"the same, and no delivery is told of", time.Time{}, time.Time{}, day(100), day(100)},
		{"a sender with a wrong clock", day(0), day(0), day(9000), day(0)},
		{"dates in the future", day(-1), day(-2), day(-3), now},
		{"before 1970", day(0), time.Time{}, time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC), time.UnixMilli(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := convert(prepared{
				event:   ingest.Arrival{Internal: c.internal, ModSeq: 7},
				message: &featurize.Message{Received: c.received, Date: c.date},
			}, store.MomentOf(now))
			testkit.OK(t, err)
			a := e.(*filter.Arrived)
			if a.Dated != store.MomentOf(c.want) || a.Seen != store.MomentOf(now) || a.ModSeq != 7 {
				t.Errorf("dated %v, seen %v, MODSEQ %d; want %v, %v, 7", a.Dated.Time(), a.Seen.Time(), a.ModSeq, c.want, now)
			}
		})
	}
}
