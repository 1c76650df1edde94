// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// TestOldMailIsNeverMarked: what is older than MarkWithin when it is found, or was read
// by then, is decided and learnt from as any other, and not marked.
func TestOldMailIsNeverMarked(t *testing.T) {
	within := testOptions().MarkWithin
	for _, c := range []struct {
		name   string
		age    time.Duration
		within time.Duration
		flags  []string
		want   store.Reason
	}{
		{"new", 0, within, nil, store.ReasonThreshold},
		{"as old as may be", within, within, nil, store.ReasonThreshold},
		{"a moment older", within + time.Millisecond, within, nil, store.ReasonOld},
		{"a hundred days", 100 * 24 * time.Hour, within, nil, store.ReasonOld},
		{"a hundred days, where age is no matter", 100 * 24 * time.Hour, 0, nil, store.ReasonThreshold},
		{"read", 0, within, []string{`\Seen`}, store.ReasonRead},
		{"old and read", within * 2, within, []string{`\Seen`}, store.ReasonOld},
		{"from the future", -time.Hour, within, nil, store.ReasonThreshold},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			o.MarkWithin = c.within
			w := newWorld(t, o)
			w.teach()
			m := w.reader.Read(mail("old@x", "boss@example.com", owner, "urgent old thing"))
			w.uids["INBOX"]++
			l := letter{placeAt("INBOX", 1, w.uids["INBOX"]), m.Key, nil}
			dated := w.moment().Add(-c.age)
			r := w.apply(&filter.Arrived{
				At: min(w.moment(), dated), Seen: w.moment(), Dated: dated, Place: l.place, Flags: ingest.CanonicalFlags(c.flags),
				Meta: filter.NewMeta(m), Message: m,
			})
			if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant {
				t.Fatalf("decided %+v, want important", r.Decision)
			}
			if r.Decision.Reason != c.want || (len(r.Marks) > 0) != (c.want == store.ReasonThreshold) {
				t.Errorf("%d marks, because of %q; want the reason %q", len(r.Marks), r.Decision.Reason, c.want)
			}
			if fmt.Sprint(w.row(l).Reason) != fmt.Sprint(c.want) {
				t.Errorf("its row says %q", w.row(l).Reason)
			}
		})
	}
}
