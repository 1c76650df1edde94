// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// BenchmarkDurableLessons has owners say important and ordinary in turn of mail that arrived
// before, in a store that syncs each commit to the disk. Accounts that learn together share a
// commit, as those of a partition do; alone, an account learns several lessons in one. Each
// lesson brings the steps of replay that are due, and takes back what the message taught
// before.
func BenchmarkDurableLessons(b *testing.B) {
	for _, group := range []struct{ accounts, each int }{{1, 1}, {1, 10}, {1, 100}, {10, 1}, {100, 1}} {
		b.Run(fmt.Sprintf("accounts=%d/each=%d", group.accounts, group.each), func(b *testing.B) {
			durableLessons(b, group.accounts, group.each)
		})
	}
}

func durableLessons(b *testing.B, accounts, each int) {
	const messages = 200
	o := streamOptions()
	var all [][]byte
	owner := eachMail(b, func(raw []byte, _ time.Time) bool {
		all = append(all, raw)
		return len(all) < messages
	})
	o.Featurize.Owner = []string{owner}
	reader := readerOf(b, o.Featurize)
	g := newGrowth(b, accounts, o, boltfile.Options{})
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n, raw := range all {
		g.arrive(b, store.MomentOf(begun.Add(time.Duration(n)*time.Hour)), reader, raw)
	}
	var keys []store.MessageKey // that can be taught
	for _, key := range g.writers[0].Filter().State().Messages.Find(func(m store.Message) bool { return !m.Own }) {
		keys = append(keys, store.MessageKey([]byte(key)))
	}
	at := begun.Add(messages * time.Hour)
	lessons := 0
	b.ResetTimer()
	for b.Loop() {
		for range each {
			at = at.Add(time.Second)
			e := &filter.Labelled{At: store.MomentOf(at), Message: keys[lessons%len(keys)], Label: model.Important}
			if m, _ := g.writers[0].Filter().State().Messages.Get(string(e.Message[:])); m.Label == model.Important {
				e.Label = model.Ordinary
			}
			for _, w := range g.writers {
				r, err := w.Apply(e)
				testkit.OK(b, err)
				if len(r.Lessons) == 0 {
					b.Fatalf("lesson %d was not learnt: %+v", lessons, r)
				}
			}
			lessons++
		}
		g.commit(b)
	}
	b.ReportMetric(float64(lessons*accounts)/b.Elapsed().Seconds(), "lessons/s")
	testkit.OK(b, g.store.Close())
}
