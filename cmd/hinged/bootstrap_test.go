// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/bootstrap"
)

// TestADryRunListsBySender, with one line of reasons for each message, whatever is in a
// subject.
func TestADryRunListsBySender(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.Local)
	var b strings.Builder
	printWouldMarked(&b, []bootstrap.WouldMark{
		{From: "ann@example.org", Subject: "Sunday lunch", Arrived: at, Label: "important", OfSender: 20, Reasons: []string{"you answered 8 of their 9 messages", "only to you"}},
		{From: "bob@example.com", Subject: "\x1b[2J\u202eroof", Arrived: at, OfSender: 1},
		{From: "ann@example.org", Subject: strings.Repeat("日本", 60), Arrived: at.AddDate(0, 0, 1), OfSender: 20, Reasons: []string{strings.Repeat("so ", 60)}},
	})
	want := `ann@example.org, 20 messages, of them:
  2026-03-02  Sunday lunch (you: important)
              you answered 8 of their 9 messages; only to you
  2026-03-03  ` + strings.Repeat("日本", 16) + `…
              ` + strings.Repeat("so ", 21) + `so…
bob@example.com
  2026-03-02  [2J roof
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAReportSaysWhatTheFiguresAreWorth: without the folder of sent mail it boasts of nothing.
func TestAReportSaysWhatTheFiguresAreWorth(t *testing.T) {
	for end, change := range map[string]func(*bootstrap.Report){
		"better than each":           func(r *bootstrap.Report) { r.Judgement.Better = true },
		"not better than each":       func(*bootstrap.Report) {},
		"nothing to be better at":    func(r *bootstrap.Report) { r.Judgement.Important = 0 },
		"not known without the fold": func(r *bootstrap.Report) { r.SentFolder, r.Judgement.Better = false, true },
	} {
		r := &bootstrap.Report{Messages: 200, SentFolder: true, Judgement: desk.Judgement{
			Messages: 100, Important: 10, Baselines: []desk.BaselineFigures{{Rule: "from somebody you answered"}},
		}}
		change(r)
		var b strings.Builder
		printReport(&b, r)
		if got := b.String(); !strings.Contains(got, end) || strings.Contains(got, "WARNING") == r.SentFolder || !strings.Contains(got, "from somebody you answered  0.00") {
			t.Errorf("want %q in\n%s", end, got)
		}
	}
}
