// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestTheTrendAgreesWithEverythingElse compares every figure with status, bound and the
// list of messages.
func TestTheTrendAgreesWithEverythingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, stop, status := live(t, dir)
	faces(t, dir, d, stop, func(name string, b answerer) {
		bound := must(t, b, desk.GetBound, desk.None{})
		got := must(t, b, desk.GetTrend, desk.TrendRequest{Days: livedDays + 5})
		if got.Lessons != bound.Lessons || got.FirstLesson != bound.FirstLesson || got.NoCeiling != "" || len(got.Mistakes) == 0 {
			t.Fatalf("%s: %+v; bound: %+v", name, got, bound)
		}
		last := got.Mistakes[len(got.Mistakes)-1]
		if last.Mistakes+got.EarlierMistakes != status.Mistakes || !near(last.HingeLoss+got.EarlierHingeLoss, status.HingeLoss) || last.Lesson != bound.Lessons ||
			last.Mistakes != bound.Mistakes || last.Ceiling != int64(*bound.Ceiling.Ceiling) {
			t.Errorf("%s: the curve ends at %+v; bound has %+v (ceiling %d), status %d mistakes", name, last, bound, *bound.Ceiling.Ceiling, status.Mistakes)
		}
		for i, p := range got.Mistakes {
			if int64(p.Mistakes) > p.Ceiling || i > 0 && (p.Lesson <= got.Mistakes[i-1].Lesson || p.Mistakes < got.Mistakes[i-1].Mistakes || p.Ceiling < got.Mistakes[i-1].Ceiling || p.At.Before(got.Mistakes[i-1].At)) {
				t.Errorf("%s: point %d is %+v", name, i, p)
			}
		}
		all := must(t, b, desk.GetMessages, desk.MessagesRequest{Most: 200})
		s := got.Sum
		if s.Decided != len(all.Messages) || s.Important != decidedSo(all, "important") || s.Unsure != decidedSo(all, "unsure") || s.Ordinary != decidedSo(all, "ordinary") || s.Wrong != all.Wrong ||
			s.Judged != status.Judgement.Messages || s.FalseAlarms != status.Judgement.FalseAlarms || s.Missed != status.Judgement.Missed || uint64(s.TakenOff) != status.MarksRefused || uint64(s.Marked) != status.MarksConfirmed {
			t.Errorf("%s: in all %+v; status: %+v", name, s, status)
		}
		if s.Kept+s.TakenOff+s.Undone != s.Marked || *got.KeptShare != float64(s.Kept)/float64(s.Kept+s.TakenOff) || got.MarkedShare != float64(s.Marked)/float64(s.Decided) || *got.FoundShare != float64(s.Found)/float64(s.Found+s.Missed) {
			t.Errorf("%s: shares %v, %v, %v of %+v", name, *got.KeptShare, got.MarkedShare, *got.FoundShare, s)
		}
		daily(t, name, got, all)
	})
}

// daily compares days and weeks with the list of all messages.
func daily(t *testing.T, name string, got desk.Trend, all desk.Messages) {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	testkit.OK(t, err)
	decided, marked, wrong := map[string]int{}, map[string]int{}, map[string]int{}
	for _, m := range all.Messages {
		day := m.Arrived.In(zone).Format(time.DateOnly)
		decided[day]++
		marked[day] += int(is(m.Mark != "" && m.Mark != "abandoned"))
		wrong[day] += int(is(m.Wrong))
	}
	weeks := map[string]int{}
	for i, day := range got.Days {
		if day.Decided != decided[day.Day] || day.Marked != marked[day.Day] || day.Wrong != wrong[day.Day] {
			t.Errorf("%s: %+v; the list has %d, %d marked, %d wrong", name, day, decided[day.Day], marked[day.Day], wrong[day.Day])
		}
		if i > 0 && day.Day <= got.Days[i-1].Day {
			t.Errorf("%s: %s comes after %s", name, day.Day, got.Days[i-1].Day)
		}
		weeks[got.Weeks[(len(got.Days)-1-i)/7].From] += day.Decided
	}
	for i, w := range got.Weeks {
		if w.Decided != weeks[w.From] || i > 0 && w.To >= got.Weeks[i-1].From {
			t.Errorf("%s: week %d is %+v, its days have %d", name, i, w, weeks[w.From])
		}
	}
	if len(got.Days) != livedDays+5 || len(got.Weeks) != 5 || got.Weeks[0].To != time.Now().In(zone).Format(time.DateOnly) && got.Weeks[0].To != got.Days[len(got.Days)-1].Day || got.TimeZone != "Europe/Berlin" {
		t.Errorf("%s: %d days, %d weeks to %s in %s", name, len(got.Days), len(got.Weeks), got.Weeks[0].To, got.TimeZone)
	}
}

// TestADayEndsWhenItDoesWhereTheOwnerLives: a day of 23 hours is a day, too.
func TestADayEndsWhenItDoesWhereTheOwnerLives(t *testing.T) {
	t.Parallel()
	o := testOptions()
	o.TimeZone = "Europe/Berlin"
	var events []ingest.Event
	for i, when := range []string{"2026-03-28T22:59:59Z", "2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"} {
		a := arrival(uint32(i+1), mail(i, "a@example.com", "words"))
		var err error
		a.Internal, err = time.Parse(time.RFC3339, when)
		testkit.OK(t, err)
		events = append(events, a)
	}
	b := pastOf(t, o, events...)
	noon := time.Date(2026, 3, 30, 12, 0, 0, 0, time.UTC)
	got := must(t, b, desk.GetTrend, desk.TrendRequest{Days: 3, Until: &noon})
	var days []string
	for _, day := range got.Days {
		days = append(days, fmt.Sprint(day.Day, " ", day.Decided))
	}
	if want := []string{"2026-03-28 1", "2026-03-29 2", "2026-03-30 1"}; !slices.Equal(days, want) {
		t.Errorf("got %v, want %v", days, want)
	}
	if want := "2026-03-27T23:00:00Z 2026-03-30T22:00:00Z"; got.From.UTC().Format(time.RFC3339)+" "+got.To.UTC().Format(time.RFC3339) != want {
		t.Errorf("from %v to %v, want %s", got.From.UTC(), got.To.UTC(), want)
	}
	if got.KeptShare != nil || got.FoundShare != nil || got.CountedSince != nil || got.Lessons != 0 || len(got.Mistakes) != 0 || got.LessonsSince != nil {
		t.Errorf("of no marks and no lessons: %+v", got)
	}
	noon = noon.Add(-24 * time.Hour)
	if got := must(t, b, desk.GetTrend, desk.TrendRequest{Days: 1, Until: &noon}); got.Sum.Decided != 2 || len(got.Days) != 1 || got.Sum.From != "2026-03-29" || got.Sum.To != got.Sum.From {
		t.Errorf("one day: %+v", got.Sum)
	}
}

// decidedSo counts the messages with an outcome at arrival.
func decidedSo(all desk.Messages, outcome string) (n int) {
	for _, m := range all.Messages {
		if m.Outcome == outcome {
			n++
		}
	}
	return n
}
