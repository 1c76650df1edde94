// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// taughtDaemon is a daemon whose account has learnt so many generated messages.
func taughtDaemon(b *testing.B, n int) (*Daemon, []byte) {
	b.Helper()
	d, _ := launch(b, options(b.TempDir(), AccountOptions{Name: "me", Filter: testOptions(), NewSource: noSource}), nil)
	mail := testkit.NewMail(1)
	var last []byte
	batches := map[string][]desk.Message{}
	for i := range n {
		m := mail.Next()
		label := "ordinary"
		if m.Important {
			label = "important"
		}
		last = m.Raw
		batches[label] = append(batches[label], desk.Message{Content: new(m.Raw)})
		if i == n-1 || len(batches[label]) == 200 {
			for label, batch := range batches {
				must(b, d, desk.Label, desk.LabelRequest{Label: label, Messages: batch})
			}
			clear(batches)
		}
	}
	return d, last
}

func BenchmarkVerbs(b *testing.B) {
	d, raw := taughtDaemon(b, 5000)
	ctx := context.Background()
	key, err := desk.KeyOf(raw, len(raw))
	testkit.OK(b, err)
	for _, verb := range []struct {
		name string
		do   func() error
	}{
		{"explain", func() error {
			_, err := do(ctx, d, desk.Explain, "", desk.ExplainRequest{Message: desk.Message{Name: key}})
			return err
		}},
		{"words of one word", func() error {
			_, err := do(ctx, d, desk.GetWords, "", desk.WordsRequest{Words: []string{"meeting"}, Most: 20})
			return err
		}},
		{"words, the strongest", func() error { _, err := do(ctx, d, desk.GetWords, "", desk.WordsRequest{Most: 20}); return err }},
		{"words, all", func() error { _, err := do(ctx, d, desk.GetWords, "", desk.WordsRequest{Most: 1 << 20}); return err }},
		{"bound, from the log", func() error {
			_, err := do(ctx, cold{d}, desk.GetBound, "", desk.None{})
			return err
		}},
		{"bound, once more", func() error { _, err := do(ctx, d, desk.GetBound, "", desk.None{}); return err }},
		{"trend", func() error { _, err := do(ctx, d, desk.GetTrend, "", desk.TrendRequest{}); return err }},
		{"lessons", func() error { _, err := do(ctx, d, desk.GetLessons, "", desk.LessonsRequest{}); return err }},
		{"messages", func() error { _, err := do(ctx, d, desk.GetMessages, "", desk.MessagesRequest{}); return err }},
		{"messages, a search in vain", func() error {
			_, err := do(ctx, d, desk.GetMessages, "", desk.MessagesRequest{Search: "unheard-of"})
			return err
		}},
		{"ledger of a message", func() error { _, err := do(ctx, d, desk.GetLedger, "", desk.LedgerRequest{Message: key}); return err }},
	} {
		b.Run(verb.name, func(b *testing.B) {
			for b.Loop() {
				testkit.OK(b, verb.do())
			}
		})
	}
	b.Run("learn", func(b *testing.B) {
		began := time.Now()
		labels := [...]string{"important", "ordinary"}
		n := 0
		for b.Loop() {
			must(b, d, desk.Label, desk.LabelRequest{Label: labels[n%2], Messages: []desk.Message{{Name: key}}})
			n++
		}
		b.ReportMetric(float64(n)/time.Since(began).Seconds(), "lessons/s")
	})
}
