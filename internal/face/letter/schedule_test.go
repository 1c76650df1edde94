// SPDX-License-Identifier: Apache-2.0

package letter

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

func TestALetterIsDueOnceADayOrAWeekByTheOwnersClock(t *testing.T) {
	t.Parallel()
	zurich, err := time.LoadLocation("Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	moment := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, zurich)
	}
	for _, test := range []struct {
		weekly                  bool
		now, last, next, before time.Time
	}{
		{false, moment(3, 4, 7, 0), moment(3, 4, 7, 0), moment(3, 5, 7, 0), moment(3, 3, 7, 0)},
		{false, moment(3, 4, 6, 59), moment(3, 3, 7, 0), moment(3, 4, 7, 0), moment(3, 2, 7, 0)},
		{false, moment(3, 1, 0, 0), moment(2, 28, 7, 0), moment(3, 1, 7, 0), moment(2, 27, 7, 0)},
		// The clocks go forward on 29 March: that day has 23 hours.
		{false, moment(3, 29, 8, 0), moment(3, 29, 7, 0), moment(3, 30, 7, 0), moment(3, 28, 7, 0)},
		{true, moment(3, 2, 7, 0), moment(3, 2, 7, 0), moment(3, 9, 7, 0), moment(2, 23, 7, 0)}, // a Monday
		{true, moment(3, 2, 6, 59), moment(2, 23, 7, 0), moment(3, 2, 7, 0), moment(2, 16, 7, 0)},
		{true, moment(3, 8, 23, 0), moment(3, 2, 7, 0), moment(3, 9, 7, 0), moment(2, 23, 7, 0)},
	} {
		w := &writing{Account: Account{At: 7 * time.Hour, Weekly: test.weekly, Zone: zurich}}
		last := w.last(test.now.UTC())
		if !last.Equal(test.last) || !w.next(last).Equal(test.next) || !w.before(last).Equal(test.before) {
			t.Errorf("at %v, weekly %v: last %v, next %v, before %v", test.now, test.weekly, last, w.next(last), w.before(last))
		}
	}
	if got := prefix(digest, moment(3, 4, 0, 30)); got != "digest.20260304." {
		t.Errorf("the Message-IDs of 4 March begin with %q", got)
	}
}

func TestTheTextOfALetterIsBoundedAndNamesWhatIsKnown(t *testing.T) {
	t.Parallel()
	c := &content{from: time.Date(2026, 3, 1, 7, 0, 0, 0, time.UTC), to: time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC), silence: 1}
	if !c.empty() {
		t.Error("lessons from silence alone are worth a letter")
	}
	for range mostMarked + 1 {
		c.marked = append(c.marked, desk.MessageSummary{Message: "k", From: "a@example.org", Subject: []string{"some", "words"}, For: []string{"one", "two", "three", "four"}})
	}
	c.marked[0].Message, c.marked[0].Mark = "known", "refused"
	c.marked[1].Rule = "from:boss@example.org"
	c.headings = map[string]desk.Heading{"known": {From: "Ann\r\nBcc: x", Subject: strings.Repeat("é", 300), MessageID: "a b/c@x"}}
	w := &writing{Account: Account{Name: "me", Zone: time.UTC}, o: Options{}}
	text := w.text(c)
	for _, want := range []string{
		"from Sunday, 1 March 07:00\nuntil Monday, 2 March 07:00.",
		"MARKED AS IMPORTANT: 21\n\n* Ann Bcc: x: " + strings.Repeat("é", 199) + "…\n  mid:a%20b%2Fc@x\n  because: one; two; three\n  you took the mark off\n",
		"* a@example.org: some words\n  because: your rule from:boss@example.org\n",
		"and 1 more\n", "LEARNT FROM WHAT YOU DID: 0\n", "hinged learnt 1 more lesson.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n* "); n != mostMarked {
		t.Errorf("%d messages are named, want %d", n, mostMarked)
	}
	if strings.Contains(text, "TEACH MOST") || strings.Contains(text, "four") {
		t.Errorf("there is too much in\n%s", text)
	}
	raw, err := w.compose(w.subject(c), w.text(c), "digest.20260302.abc@hinged.invalid", c.to)
	if err != nil || strings.Contains(strings.ReplaceAll(string(raw), "\r\n", ""), "\n") || !strings.Contains(string(raw), "\r\nMessage-Id: <digest.20260302.abc@hinged.invalid>\r\n") {
		t.Errorf("the message is (%v)\n%q", err, raw)
	}
}

func TestALetterSaysWhatWouldHaveBeenMarkedWhileNothingIs(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)
	c := &content{from: at, to: at, shadow: "not yet: learnt 1 of 5 important", marked: []desk.MessageSummary{{Message: "k", From: "a@example.org", Subject: []string{"some", "words"}}}}
	w := &writing{Account: Account{Name: "me", Zone: time.UTC}}
	if got := w.subject(c); got != "hinged: it would have marked 1 message, until Monday, 2 March" {
		t.Errorf("the subject is %q", got)
	}
	if want := "WOULD HAVE MARKED: 1\n\nhinged marks nothing yet. Marking: not yet: learnt 1 of 5 important.\n\n* a@example.org: some words\n"; !strings.Contains(w.text(c), want) {
		t.Errorf("%q is not in\n%s", want, w.text(c))
	}
}

func TestALetterThatAsksNamesItsMessageAndBothAnswers(t *testing.T) {
	t.Parallel()
	arrived := time.Date(2026, 3, 2, 7, 5, 0, 0, time.UTC)
	w := &writing{Account: Account{Name: "me", Zone: time.UTC}}
	subject, text := w.asks(&desk.MessageSummary{Message: "k", Arrived: &arrived}, map[string]desk.Heading{"k": {From: "Ann\r\nBcc: x", Subject: "Lunch?", MessageID: "a@x"}})
	if subject != "Does this matter to you? Ann Bcc: x: Lunch?" {
		t.Errorf("the subject is %q", subject)
	}
	for _, want := range []string{"  Lunch?\n  from Ann Bcc: x\n  Monday, 2 March, 07:05\n  mid:a@x\n", "\nYes: star (flag) this letter.\nNo: delete this letter.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	raw, err := w.compose(subject, text, "question.20260302.abc@hinged.invalid", arrived)
	if err != nil || strings.Contains(string(raw), "References:") || strings.Contains(string(raw), "In-Reply-To:") {
		t.Errorf("it is in a thread (%v):\n%s", err, raw)
	}
}

// nobody is a host without accounts.
type nobody struct {
	desk.Host
	asked chan time.Time
	now   func() time.Time
}

func (n *nobody) Account(context.Context, string) (desk.Account, error) {
	n.asked <- n.now()
	return nil, desk.ErrNoAccount
}

func TestAWriterLooksAgainEverLaterAfterAFailureAndEnds(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	h := &nobody{asked: make(chan time.Time), now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }}
	w := New(Options{
		Host: h, Accounts: []Account{{Name: "me", Zone: time.UTC}}, Now: h.now,
		After: func(d time.Duration) <-chan time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(d)
			c := make(chan time.Time, 1)
			c <- now
			return c
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Run(ctx) }()
	first := <-h.asked
	if want := time.Date(2026, 3, 2, 8, 0, 15, 0, time.UTC); !first.Equal(want) {
		t.Errorf("it looks first at %v, want %v", first, want)
	}
	var pause time.Duration
	for last := first; pause < retryLast*7/10; {
		at := <-h.asked
		if pause = at.Sub(last); pause < retryFirst*7/10 || pause > retryLast*13/10 {
			t.Fatalf("it looks again after %v", pause)
		}
		last = at
	}
	cancel()
	for {
		select {
		case <-h.asked:
			continue
		case <-ended:
		}
		break
	}
}

func TestALetterListsTenOfTheLettersWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)
	c := &content{from: at, to: at}
	c.open.Owed = desk.OpenList{Total: 5000, More: 4990}
	for range mostOpen {
		c.open.Owed.Letters = append(c.open.Owed.Letters, desk.OpenLetter{Message: "k", With: "Ann\r\nBcc: x", Subject: "Contract", Days: 4, MessageID: "a@x"})
	}
	c.open.Waiting = desk.OpenList{Total: 1, Letters: []desk.OpenLetter{{Message: "q", With: "bob@example.com", Subject: "Lunch?", Days: 1}}}
	if c.empty() {
		t.Error("letters without an answer are worth a letter")
	}
	text := (&writing{Account: Account{Name: "me", Zone: time.UTC}}).text(c)
	for _, want := range []string{
		"YOU OWE AN ANSWER: 5000\n\n* Ann Bcc: x: Contract\n  mid:a@x\n  for 4 days\n", "and 4,990 more\n",
		"YOU WAIT FOR AN ANSWER: 1\n\n* bob@example.com: Lunch?\n  for 1 day\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n* "); n != mostOpen+1 {
		t.Errorf("%d letters are named, want %d", n, mostOpen+1)
	}
}
