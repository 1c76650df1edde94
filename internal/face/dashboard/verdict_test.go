// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// marking is the status of an account that has learnt enough and marks.
func marking() desk.AccountStatus {
	return desk.AccountStatus{Account: "me", Connected: true, Messages: 900, Decided: 868, Important: 118, Ordinary: 294, KnownImportant: 118}
}

func period(c desk.TrendCounts) desk.Trend { return desk.Trend{Sum: desk.TrendPeriod{TrendCounts: c}} }

func TestTheVerdictSaysWhatTheFiguresSupport(t *testing.T) {
	t.Parallel()
	good := desk.TrendCounts{Decided: 868, Marked: 91, Kept: 85, TakenOff: 6, Judged: 400, Found: 85, Missed: 4, FalseAlarms: 6, Wrong: 10, SimpleRule: 37}
	with := func(change func(*desk.TrendCounts)) desk.TrendCounts { c := good; change(&c); return c }
	for name, tt := range map[string]struct {
		counts desk.TrendCounts
		want   string
	}{
		"good":              {good, "It works well. You kept 85 of its 91 marks, and it missed 4 messages."},
		"one mark":          {with(func(c *desk.TrendCounts) { c.Marked, c.Kept, c.TakenOff, c.Missed = 1, 1, 0, 1 }), "It works well. You kept 1 of its 1 mark, and it missed 1 message."},
		"nothing missed":    {with(func(c *desk.TrendCounts) { c.Missed = 0 }), "It works well. You kept 85 of its 91 marks, and it missed nothing."},
		"few judged":        {with(func(c *desk.TrendCounts) { c.Judged = fewJudged - 1 }), "It has begun. "},
		"enough judged":     {with(func(c *desk.TrendCounts) { c.Judged = fewJudged }), "It works well. "},
		"too many taken":    {with(func(c *desk.TrendCounts) { c.Kept, c.TakenOff = 72, 19 }), "It marks too much. "},
		"just enough kept":  {with(func(c *desk.TrendCounts) { c.Marked, c.Kept, c.TakenOff = 90, 72, 18 }), "It works well. "},
		"most found":        {with(func(c *desk.TrendCounts) { c.Found, c.Missed, c.FalseAlarms = 6, 2, 0 }), "It works well. "},
		"fewer than most":   {with(func(c *desk.TrendCounts) { c.Found, c.Missed, c.FalseAlarms = 5, 2, 0 }), "It works, and misses some. "},
		"half found":        {with(func(c *desk.TrendCounts) { c.Found, c.Missed, c.FalseAlarms = 4, 4, 0 }), "It works, and misses some. "},
		"many left alone":   {with(func(c *desk.TrendCounts) { c.Found, c.FalseAlarms = 58, 39 }), "It works, and marks more than it should. "},
		"just enough right": {with(func(c *desk.TrendCounts) { c.Found, c.FalseAlarms = 60, 40 }), "It works well. "},
		"less than half":    {with(func(c *desk.TrendCounts) { c.Found, c.Missed = 4, 5 }), "It misses too much. "},
		"like the rule":     {with(func(c *desk.TrendCounts) { c.SimpleRule = 10 }), "It is as good as a simple rule. "},
		"behind the rule":   {with(func(c *desk.TrendCounts) { c.SimpleRule = 9 }), "A simple rule would do better. "},
		"nothing marked":    {with(func(c *desk.TrendCounts) { c.Marked, c.Kept, c.TakenOff = 0, 0, 0 }), "It marked nothing, and it missed 4 messages."},
		"many undone":       {with(func(c *desk.TrendCounts) { c.Kept, c.Undone = 34, 51 }), "It works well. You kept 34 of its 40 marks (51 more were undone), and it missed 4 messages."},
		"one undone":        {with(func(c *desk.TrendCounts) { c.Kept, c.Undone = 84, 1 }), "It works well. You kept 84 of its 90 marks (1 more was undone), and "},
		"kept ones undone":  {with(func(c *desk.TrendCounts) { c.Kept, c.Undone = 0, 85 }), "It works well. You kept 0 of its 6 marks (85 more were undone), and "},
		"too few undone":    {with(func(c *desk.TrendCounts) { c.Kept, c.TakenOff, c.Undone = 0, 46, 45 }), "It marks too much. You kept 0 of its 46 marks (45 more were undone), and "},
		"all undone":        {with(func(c *desk.TrendCounts) { c.Kept, c.TakenOff, c.Undone = 0, 0, 91 }), "It works well. Its 91 marks were undone, and it missed 4 messages."},
		"nothing at all":    {desk.TrendCounts{Decided: 5}, "It marked nothing, and nothing that it missed is known."},
	} {
		st, trend := marking(), period(tt.counts)
		if got := judge(&st, &trend, true); !strings.HasPrefix(got.Headline, tt.want) {
			t.Errorf("%s: %q, want %q", name, got.Headline, tt.want)
		}
	}
	st, trend := marking(), period(good)
	if got := judge(&st, &trend, false); !strings.Contains(got.Headline, "The owner kept 85") {
		t.Errorf("to an operator: %q", got.Headline)
	}
}

// To undo a mark is no judgement of the message. What was left on is what was kept of the others.
func TestAnUndoneMarkIsNeitherKeptNorTakenOff(t *testing.T) {
	t.Parallel()
	counts := desk.TrendCounts{Decided: 300, Marked: 20, Kept: 10, Undone: 10, Judged: 200, Found: 20, SimpleRule: 30}
	one := 1.0 // as desk.GetTrend has it
	st, trend := marking(), &desk.Trend{KeptShare: &one, Sum: desk.TrendPeriod{TrendCounts: counts}}
	if f := figuresOf(trend, &st, true).Kept; f.Value != "100 %" || f.Of != "10 of 10" || f.Below != "0 taken off, 10 undone" {
		t.Errorf("the overview shows %+v", f)
	}
	if got := (accountsData{Sum: counts}).KeptShare(); got != "100 %" {
		t.Errorf("of all accounts %s were kept", got)
	}
	if got := judge(&st, trend, true).Headline; !strings.HasPrefix(got, "It works well. ") {
		t.Errorf("the verdict is %q", got)
	}
	look := func(c desk.TrendCounts) string {
		return lookAt(&st, &accountRow{FewKept: fewKept(&c), Trend: &desk.Trend{Sum: desk.TrendPeriod{TrendCounts: c}}})
	}
	if got := look(counts); got != "" {
		t.Errorf("the page of accounts asks for a look: %q", got)
	}
	counts.TakenOff, counts.Kept = 3, 7
	if got, want := look(counts), "3 of its 10 marks were taken off."; got != want {
		t.Errorf("the page of accounts says %q, want %q", got, want)
	}
	all := &desk.Trend{Sum: desk.TrendPeriod{TrendCounts: desk.TrendCounts{Decided: 300, Marked: 20, Undone: 20}}}
	if f := figuresOf(all, &st, true).Kept; f.Value != "–" || f.Below != "20 undone" {
		t.Errorf("with all marks undone, the overview shows %+v", f)
	}
}

func TestTheVerdictTellsWhyThereAreNoMarks(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for want, change := range map[string]func(*desk.AccountStatus){
		"Paused: ":                        func(s *desk.AccountStatus) { s.Paused, s.PausedSince = true, &since },
		"It has seen no mail yet.":        func(s *desk.AccountStatus) { s.Messages = 0 },
		"In shadow: ":                     func(s *desk.AccountStatus) { s.InShadow = true },
		"It is learning, and can’t":       func(s *desk.AccountStatus) { s.KnownImportant = 0 },
		"Not read in yet":                 func(s *desk.AccountStatus) { s.InSnapshot = true },
		"It marked nothing, and nothing ": func(*desk.AccountStatus) {},
	} {
		st := marking()
		change(&st)
		if got := judge(&st, &desk.Trend{}, true); !strings.HasPrefix(strings.ReplaceAll(got.Headline, "'", "’"), want) {
			t.Errorf("%q, want %q", got.Headline, want)
		}
	}
}
