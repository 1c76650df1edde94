// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

const livedDays = 30

// live plays 30 days of mail with marks of every fate, and returns the status at their
// end. Every day three messages come: one of the boss, one of a shop, and one that could
// be either.
func live(t *testing.T, dir string) (d *Daemon, stop func(), last desk.AccountStatus) {
	t.Helper()
	s := newScript()
	s.events = make(chan ingest.Event, 100_000)
	s.onMark = func(r ingest.MarkRequest) {
		flags := ingest.CanonicalFlags([]string{"$Important"})
		if r.ID%5 == 4 {
			s.events <- ingest.MarkResult{ID: r.ID, Place: r.Place, Outcome: ingest.MarkGone}
			return
		}
		s.events <- ingest.MarkResult{ID: r.ID, Place: r.Place, Outcome: ingest.MarkDone, Flags: flags}
		switch r.ID % 5 {
		case 1:
			s.events <- ingest.FlagsChanged{Place: r.Place} // taken off
		case 2:
			s.events <- ingest.FlagsChanged{Place: r.Place, Flags: ingest.CanonicalFlags([]string{"$Important", `\Answered`})}
		}
	}
	o := testOptions()
	o.MarkWithin, o.Dual.Bold, o.TimeZone = 0, 1, "Europe/Berlin"
	d, stop = launch(t, options(dir, from("me", o, s)), nil)
	teach(s)
	messages := 2
	begin := time.Now().Add(-livedDays * 24 * time.Hour)
	for day := range livedDays {
		for i, from := range []string{"Boss Hog <boss@example.com>", "news@example.net", fmt.Sprintf("both%d@example.org", day%3)} {
			n := 10 + 3*day + i
			words := []string{"urgent matter", "newsletter offer", "urgent offer"}[i]
			a := arrival(uint32(n), mail(n, from, fmt.Sprint(words, " Straße ", day)))
			a.Internal = begin.Add(time.Duration(day)*24*time.Hour + time.Duration(i)*time.Minute)
			s.events <- a
			messages++
			if i == 2 && day%2 == 0 {
				s.events <- ingest.FlagsChanged{Place: a.Place, Flags: ingest.CanonicalFlags([]string{map[bool]string{true: `\Flagged`, false: "$Junk"}[day%4 == 0]})}
			}
		}
		until(t, d, "the day", func(a desk.AccountStatus) bool { return a.Messages == uint64(messages) && a.MarksIntended == 0 })
	}
	// Every mark was answered, and what came of it was reported before this.
	sent := arrival(1, mail(1000, owner, "the end"))
	sent.Mailbox = "Sent"
	s.events <- ingest.MailboxOpened{Mailbox: "Sent", Role: ingest.RoleSent, UIDValidity: 1, Keywords: true}
	s.events <- sent
	last = until(t, d, "the end", func(a desk.AccountStatus) bool { return a.Messages == uint64(messages)+1 })
	return d, stop, last
}

// faces asks the daemon, its socket and then the store without a daemon.
func faces(t *testing.T, dir string, d *Daemon, stop func(), ask func(name string, b answerer)) {
	t.Helper()
	ask("daemon", d)
	ask("socket", dialled(t, dir))
	stop()
	ask("store", stored(t, dir))
}

// sameOnAllFaces demands one answer of all faces, and returns it.
func sameOnAllFaces(t *testing.T, dir string, d *Daemon, stop func(), ask func(b answerer) string) (answer string) {
	t.Helper()
	faces(t, dir, d, stop, func(name string, b answerer) {
		got := ask(b)
		if answer == "" {
			answer = got
		}
		if got != answer {
			t.Errorf("the %s says\n%s\nthe daemon\n%s", name, got, answer)
		}
	})
	return answer
}

// must asks and demands an answer.
func must[Q, A any](tb testing.TB, b answerer, v desk.Verb[Q, A], q Q) A {
	tb.Helper()
	out, err := do(context.Background(), b, v, "", q)
	testkit.OK(tb, err)
	return out
}

func TestMessagesAreListedNewestFirstAndCountedAsInStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, stop, status := live(t, dir)
	var first string
	faces(t, dir, d, stop, func(name string, b answerer) {
		all := must(t, b, desk.GetMessages, desk.MessagesRequest{Most: 200})
		if all.More || all.Next != 0 || all.Important+all.Unsure+all.Ordinary != len(all.Messages) || uint64(len(all.Messages)) != status.Decided {
			t.Fatalf("%s: %d messages, more %v, next %d, %d + %d + %d; status has decided %d", name, len(all.Messages), all.More, all.Next, all.Important, all.Unsure, all.Ordinary, status.Decided)
		}
		if all.Wrong != status.Judgement.Wrong || uint64(all.Unsure) != status.Unsure || all.Threshold != status.Threshold || all.Wrong == 0 {
			t.Errorf("%s: %d wrong, %d unsure, threshold %v; status: %+v", name, all.Wrong, all.Unsure, all.Threshold, status)
		}
		var refused, confirmed, abandoned, judged, wrong uint64
		for i, m := range all.Messages {
			if i > 0 && (m.Number >= all.Messages[i-1].Number || m.Arrived.After(*all.Messages[i-1].Arrived)) {
				t.Fatalf("%s: message %d comes after %d", name, m.Number, all.Messages[i-1].Number)
			}
			refused += is(m.Mark == "refused")
			confirmed += is(m.Mark == "confirmed")
			abandoned += is(m.Mark == "abandoned")
			judged += is(m.Label != "" && m.Reason != store.ReasonTooFewLabels.String())
			wrong += is(m.Wrong)
			if m.Marked != (m.Mark == "confirmed") || m.Mailbox != "INBOX" || m.UID == 0 || m.From == "" || len(m.Subject) == 0 || m.NoScore {
				t.Errorf("%s: %+v", name, m)
			}
			ex := must(t, b, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: m.Message}})
			if m.Score != ex.Score || m.ScoreThen != ex.ScoreThen || m.ThresholdThen != ex.ThresholdThen || m.Outcome != ex.Outcome || m.Label != ex.Label || m.Source != ex.Source {
				t.Errorf("%s: the list says %+v, explain %+v", name, m, ex)
			}
		}
		if refused != status.MarksRefused || refused+confirmed != status.MarksConfirmed || int(judged) != status.Judgement.Messages || int(wrong) != status.Judgement.Wrong || refused*confirmed*abandoned == 0 {
			t.Errorf("%s: %d refused, %d confirmed, %d abandoned, %d judged, %d wrong; status %+v", name, refused, confirmed, abandoned, judged, wrong, status)
		}
		text, err := json.Marshal(all)
		testkit.OK(t, err)
		if first == "" {
			first = string(text)
		}
		if string(text) != first {
			t.Errorf("%s says\n%s\nand the daemon\n%s", name, text, first)
		}
		listsMessages(t, name, b, all)
	})
}

func is(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// listsMessages asks for parts of a list that is known as a whole.
func listsMessages(t *testing.T, name string, b answerer, all desk.Messages) {
	t.Helper()
	has := func(m desk.MessageSummary, words ...string) bool {
		text := strings.ToLower(strings.Join(slices.Concat([]string{m.From}, m.Subject, m.Facts, m.For, m.Against), "\n"))
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
	middle := all.Messages[len(all.Messages)/2]
	for _, tt := range []struct {
		name string
		q    desk.MessagesRequest
		want func(desk.MessageSummary) bool
	}{
		{"all", desk.MessagesRequest{}, func(desk.MessageSummary) bool { return true }},
		{"important", desk.MessagesRequest{Outcome: "important"}, func(m desk.MessageSummary) bool { return m.Stands == "important" }},
		{"ordinary", desk.MessagesRequest{Outcome: "ordinary"}, func(m desk.MessageSummary) bool { return m.Stands == "ordinary" }},
		{"wrong", desk.MessagesRequest{Wrong: true}, func(m desk.MessageSummary) bool { return m.Wrong }},
		{"wrong important", desk.MessagesRequest{Wrong: true, Outcome: "important"}, func(m desk.MessageSummary) bool { return m.Wrong && m.Stands == "important" }},
		{"before", desk.MessagesRequest{Before: middle.Arrived}, func(m desk.MessageSummary) bool { return m.Arrived.Before(*middle.Arrived) }},
		{"a word of the subject", desk.MessagesRequest{Search: "NewsLetter"}, func(m desk.MessageSummary) bool { return has(m, "newsletter") }},
		{"a part of a sender", desk.MessagesRequest{Search: "both1@"}, func(m desk.MessageSummary) bool { return has(m, "both1@") }},
		{"a sender's name", desk.MessagesRequest{Search: "hog"}, func(m desk.MessageSummary) bool { return m.From == "boss@example.com" && m.Number > 2 }},
		{"a reason", desk.MessagesRequest{Search: "urgent in"}, func(m desk.MessageSummary) bool { return has(m, "urgent", "in") }},
		{"another case of ß", desk.MessagesRequest{Search: "STRASSE newsletter"}, func(m desk.MessageSummary) bool { return m.From == "news@example.net" && m.Number > 2 }},
		{"nothing", desk.MessagesRequest{Search: "unheard-of"}, func(desk.MessageSummary) bool { return false }},
		{"a Message-ID", desk.MessagesRequest{Search: " <m20@x> "}, func(m desk.MessageSummary) bool { return m.UID == 20 }},
		{"a key", desk.MessagesRequest{Search: middle.Message}, func(m desk.MessageSummary) bool { return m.Message == middle.Message }},
		{"8 digits of a key", desk.MessagesRequest{Search: strings.ToUpper(middle.Message[:8])}, func(m desk.MessageSummary) bool { return m.Message == middle.Message }},
		{"7 digits of a key", desk.MessagesRequest{Search: middle.Message[:7]}, func(desk.MessageSummary) bool { return false }},
		{"a Message-ID, but not with that outcome", desk.MessagesRequest{Search: "m20@x", Outcome: "unsure"}, func(desk.MessageSummary) bool { return false }},
	} {
		var want, got []string
		for _, m := range all.Messages {
			if tt.want(m) {
				want = append(want, m.Message)
			}
		}
		pages := 0
		for q := tt.q; ; pages++ {
			q.Most = 7
			page := must(t, b, desk.GetMessages, q)
			for _, m := range page.Messages {
				got = append(got, m.Message)
			}
			if page.Wrong != all.Wrong || page.Important != all.Important || page.Ordinary != all.Ordinary {
				t.Errorf("%s, %s: other counts on a page: %+v", name, tt.name, page)
			}
			if page.More != (page.Next != 0) || page.More && len(page.Messages) != 7 || len(page.Messages) > 7 {
				t.Fatalf("%s, %s: %d messages, more %v, next %d", name, tt.name, len(page.Messages), page.More, page.Next)
			}
			if !page.More {
				break
			}
			q.Below = page.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, %s: got %d messages on %d pages, want %d", name, tt.name, len(got), pages+1, len(want))
		}
	}
	for _, outcome := range []string{"undecided", "Important", "spam"} {
		_, err := do(t.Context(), b, desk.GetMessages, "", desk.MessagesRequest{Outcome: outcome})
		if err == nil || !strings.Contains(err.Error(), "is not one of important, unsure, ordinary") {
			t.Errorf("%s, outcome %s: %v", name, outcome, err)
		}
	}
	if _, err := do(t.Context(), b, desk.GetMessages, "nobody", desk.MessagesRequest{}); !errors.Is(err, desk.ErrNoAccount) {
		t.Errorf("%s, another account: %v", name, err)
	}
}

func TestLessonsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, stop, status := live(t, dir)
	// What is in the log, from the store itself.
	var log []store.Lesson
	for l, err := range d.store.Lessons("me", 0) {
		testkit.OK(t, err)
		if l.Learnt() {
			log = append(log, l)
		}
	}
	slices.Reverse(log)
	faces(t, dir, d, stop, func(name string, b answerer) {
		all := must(t, b, desk.GetLessons, desk.LessonsRequest{Most: 200})
		if all.Important != status.Important || all.Ordinary != status.Ordinary || uint64(len(all.Lessons)) != status.Important+status.Ordinary || len(all.Lessons) != len(log) {
			t.Fatalf("%s: %d lessons, %d important and %d ordinary; status: %+v", name, len(all.Lessons), all.Important, all.Ordinary, status)
		}
		var mistakes uint64
		var loss float64
		for i, l := range all.Lessons {
			if w := log[i]; l.Number != w.Order || l.Score != w.Score || l.Label != w.Label.String() || l.Source != w.Source.String() || !l.At.Equal(w.At.Time()) || l.Weight != w.Weight {
				t.Errorf("%s: got %+v, the log has %+v", name, l, w)
			}
			mistakes += is(l.Mistake)
			loss += l.Loss
			ex := must(t, b, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: l.Message}})
			if l.Now != ex.Score || l.From == "" || len(l.Subject) == 0 {
				t.Errorf("%s: got %+v, the score is %v", name, l, ex.Score)
			}
			if right := (l.Label == "important"); !l.Replaced && right != (l.After > l.Score) && l.After != l.Score {
				t.Errorf("%s: %s moved the score from %v to %v", name, l.Label, l.Score, l.After)
			}
			if !l.Replaced && (l.Label != ex.Label || l.Source != ex.Source) {
				t.Errorf("%s: %+v stands, and the message is %s by %s", name, l, ex.Label, ex.Source)
			}
		}
		if mistakes != status.Mistakes || !near(loss, status.HingeLoss) {
			t.Errorf("%s: %d mistakes and %v; status has %d and %v", name, mistakes, loss, status.Mistakes, status.HingeLoss)
		}
		if few := must(t, b, desk.GetLessons, desk.LessonsRequest{Most: 3}); !reflect.DeepEqual(few.Lessons, all.Lessons[:3]) {
			t.Errorf("%s: the last three are %+v", name, few.Lessons)
		}
		if usual := must(t, b, desk.GetLessons, desk.LessonsRequest{}); len(usual.Lessons) != 20 {
			t.Errorf("%s: %d by default", name, len(usual.Lessons))
		}
	})
}

// told is a source that reports what it has, and ends.
type told struct {
	nowhere
	events []ingest.Event
}

func (s told) Run(ctx context.Context, emit ingest.Emit) error {
	for _, e := range s.events {
		if err := emit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// pastOf reads what a mailbox holds, by the clock of that mail.
func pastOf(t *testing.T, o filter.Options, events ...ingest.Event) *StoreHost {
	t.Helper()
	dir := t.TempDir()
	s, err := boltfile.Open(filepath.Join(dir, "store.db"), boltfile.Options{NoSync: true, NamesCap: 3000})
	testkit.OK(t, err)
	p, err := OpenPast(s, AccountOptions{Name: "me", Filter: o, NewSource: func([]ingest.Known) (ingest.Source, error) {
		return told{events: append([]ingest.Event{opened}, events...)}, nil
	}}, slog.New(slog.DiscardHandler))
	testkit.OK(t, err)
	testkit.OK(t, p.Read(t.Context()))
	testkit.OK(t, s.Close())
	return stored(t, dir)
}

func TestLessonsOfTheOwnersOwnAreListed(t *testing.T) {
	t.Parallel()
	o := testOptions()
	o.SilenceCalendar, o.SilenceDays = true, 1
	var events []ingest.Event
	for i := range 300 { // more than one stride of the log
		a := arrival(uint32(i+1), mail(i, fmt.Sprintf("a%d@example.com", i%7), fmt.Sprint("words ", i)))
		a.Internal = time.Date(2026, 1, 1, 0, 3*i, 0, 0, time.UTC).Add(time.Duration(i) * 3 * time.Hour)
		if i%29 == 3 {
			a.Flags, a.Backlog = ingest.CanonicalFlags([]string{`\Flagged`}), true
		}
		events = append(events, a)
	}
	b := pastOf(t, o, events...)
	all := must(t, b, desk.GetLessons, desk.LessonsRequest{Most: 200})
	owners := must(t, b, desk.GetLessons, desk.LessonsRequest{Most: 200, ByOwner: true})
	status := must(t, b, desk.GetStatus, desk.None{}).Accounts[0]
	want := 0
	for _, l := range all.Lessons {
		want += int(is(l.Source == "flagged"))
	}
	got := 0
	for i, l := range owners.Lessons {
		got += int(is(l.Number >= all.Lessons[len(all.Lessons)-1].Number))
		if l.Source != "flagged" || i > 0 && l.Number >= owners.Lessons[i-1].Number {
			t.Errorf("%+v", l)
		}
	}
	if uint64(len(owners.Lessons)) != status.Important || status.Important != 11 || got != want || want == 0 || len(all.Lessons) != 200 || want == len(all.Lessons) {
		t.Errorf("%d lessons are the owner's own, %d of the last %d, want %d; status %+v", len(owners.Lessons), got, len(all.Lessons), want, status)
	}
	trend := must(t, b, desk.GetTrend, desk.TrendRequest{Days: 400})
	if trend.Sum.Judged != status.Judgement.Messages || trend.Sum.Wrong != status.Judgement.Wrong || trend.Sum.ByOwner >= trend.Sum.Wrong+1 || len(trend.Days) != 370 || len(trend.Weeks) != 53 {
		t.Errorf("%+v, %d days; status %+v", trend.Sum, len(trend.Days), status)
	}
	if n := len(trend.Mistakes); n > 300 || trend.Lessons <= 256 || trend.Mistakes[n-1].Lesson != trend.Lessons || trend.Mistakes[0].Lesson != 1 {
		t.Errorf("%d points of %d lessons", n, trend.Lessons)
	}
}

// TestASearchStopsAndGoesOn: it compares 2,000 messages at a time.
func TestASearchStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2000, 2001} {
		events := []ingest.Event{arrival(1, mail(1, "needle@example.com", "lost"))}
		for i := 2; i <= n; i++ {
			events = append(events, arrival(uint32(i), mail(i, "a@example.com", "hay")))
		}
		b := pastOf(t, testOptions(), events...)
		got := must(t, b, desk.GetMessages, desk.MessagesRequest{Search: "needle"})
		if n == 2000 {
			if len(got.Messages) != 1 || got.More || got.Next != 0 || got.Searched != 2000 {
				t.Errorf("of %d: %d found, %d searched, more %v, next %d", n, len(got.Messages), got.Searched, got.More, got.Next)
			}
			continue
		}
		if len(got.Messages) != 0 || !got.More || got.Next != 2 || got.Searched != 2000 {
			t.Errorf("of %d: %d found, %d searched, more %v, next %d", n, len(got.Messages), got.Searched, got.More, got.Next)
		}
		got = must(t, b, desk.GetMessages, desk.MessagesRequest{Search: "needle", Below: got.Next})
		if len(got.Messages) != 1 || got.More || got.Searched != 1 || got.Messages[0].From != "needle@example.com" {
			t.Errorf("going on: %+v", got)
		}
	}
}

// TestWhatIsForgottenIsNotCounted: with a limit on messages and on the lesson log the
// answers say from when they count.
func TestWhatIsForgottenIsNotCounted(t *testing.T) {
	t.Parallel()
	o := testOptions()
	o.Limits.Journal, o.Limits.Messages, o.Dual.Bold, o.Dual.Window = 20, 100, 1, 50 // messages of the window stay
	d, stop := open(t, t.TempDir(), o, boltfile.Options{JournalCap: 20, CheckpointEvery: 5})
	defer stop()
	lessons(t, d, 0, 120)
	status := must(t, d, desk.GetStatus, desk.None{}).Accounts[0]
	got := must(t, d, desk.GetTrend, desk.TrendRequest{})
	last := got.Mistakes[len(got.Mistakes)-1]
	if got.EarlierMistakes == 0 || got.FirstLesson <= 1 || last.Mistakes+got.EarlierMistakes != status.Mistakes || !near(last.HingeLoss+got.EarlierHingeLoss, status.HingeLoss) {
		t.Errorf("%+v, last %+v; status %+v", got, last, status)
	}
	if got.CountedSince == nil || got.Sum.Judged != status.Judgement.Messages || status.Judgement.Messages >= 120 || got.Sum.Wrong != status.Judgement.Wrong {
		t.Errorf("counted since %v: %+v; status %+v", got.CountedSince, got.Sum, status)
	}
	list := must(t, d, desk.GetLessons, desk.LessonsRequest{Most: 200})
	if len(list.Lessons) < got.Lessons || len(list.Lessons) >= 120 || list.Lessons[0].Number != 120 {
		t.Errorf("%d lessons are listed, the first of them %d; the trend has %d", len(list.Lessons), list.Lessons[0].Number, got.Lessons)
	}
}

// TestMessagesOfAnAccountOfTheStream: it has no places and no mail server.
func TestMessagesOfAnAccountOfTheStream(t *testing.T) {
	t.Parallel()
	w, _ := startStream(t)
	ctx := context.Background()
	for n := range 6 {
		w.put(t, streamMail(n))
	}
	w.done(t, 6)
	label := func(n int, label string) {
		t.Helper()
		if _, err := do(ctx, w.At, desk.Label, streamedAccount, desk.LabelRequest{Label: label, Messages: []desk.Message{{Name: fmt.Sprintf("%d@example.net", n)}}}); err != nil {
			t.Fatal(err)
		}
	}
	label(2, "ordinary")
	label(3, "important")
	w.done(t, 8)
	w.put(t, streamMail(6)) // decided with a label of each kind, and so judged
	w.done(t, 9)
	label(6, "important")
	w.done(t, 10)
	got, err := do(ctx, w.At, desk.GetMessages, streamedAccount, desk.MessagesRequest{Most: 4})
	if err != nil || len(got.Messages) != 4 || !got.More || got.Messages[0].From != "bob@example.net" || got.Messages[0].Mailbox != "" || got.Important+got.Unsure+got.Ordinary != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	lessons, err := do(ctx, w.At, desk.GetLessons, streamedAccount, desk.LessonsRequest{})
	if err != nil || len(lessons.Lessons) != 3 || lessons.Lessons[0].Label != model.Important.String() || lessons.Lessons[0].Source != "explicit" || lessons.Important != 2 {
		t.Errorf("%+v, %v", lessons, err)
	}
	trend, err := do(ctx, w.At, desk.GetTrend, streamedAccount, desk.TrendRequest{Days: 2})
	if err != nil || trend.Sum.Decided != 7 || trend.Sum.Judged != 1 || trend.Lessons != 3 || len(trend.Mistakes) == 0 || trend.Mistakes[0].Mistakes != 1 || trend.TimeZone != filter.DefaultOptions().TimeZone {
		t.Errorf("%+v, %v", trend, err)
	}
}
