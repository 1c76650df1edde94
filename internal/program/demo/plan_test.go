// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/emersion/go-message/mail"
	"github.com/rivo/uniseg"

	"github.com/hinged/hinged/internal/testkit"
)

var testStart = time.Date(2026, 3, 30, 15, 4, 0, 0, time.UTC)

func testPlan(seed uint64) *Plan { return NewPlan(seed, testStart, 320, time.Minute) }

func (p *Plan) all() []*Message { return slices.Concat(p.History, p.Live) }

func TestTheSameSeedGivesTheSameMailbox(t *testing.T) {
	a, b, other := testPlan(3).all(), testPlan(3).all(), testPlan(4).all()
	if len(a) != len(b) {
		t.Fatalf("got %d and %d messages", len(a), len(b))
	}
	for i := range a {
		if !bytes.Equal(a[i].Raw, b[i].Raw) || a[i].Important != b[i].Important || a[i].deed(false) != b[i].deed(false) {
			t.Fatalf("message %d differs", i)
		}
		if r, s := a[i].Reply, b[i].Reply; (r == nil) != (s == nil) || r != nil && !bytes.Equal(r.Raw, s.Raw) {
			t.Fatalf("the reply to message %d differs", i)
		}
	}
	if bytes.Equal(a[0].Raw, other[0].Raw) && bytes.Equal(a[1].Raw, other[1].Raw) {
		t.Error("another seed gives the same mail")
	}
}

// dates are what may differ between runs of one seed.
var dates = regexp.MustCompile(`(?m)^(Date:.*|\t[A-Z][a-z]{2}, .*)\r$`)

func TestTheHourOfTheDayChangesDatesOnly(t *testing.T) {
	a, b := testPlan(1).all(), NewPlan(1, testStart.Add(7*time.Hour+13*time.Minute), 320, time.Minute).all()
	for i := range a {
		if x, y := dates.ReplaceAll(a[i].Raw, nil), dates.ReplaceAll(b[i].Raw, nil); !bytes.Equal(x, y) {
			t.Fatalf("message %d differs:\n%s\n%s", i, x, y)
		}
	}
	if !bytes.Equal(a[0].Raw, b[0].Raw) {
		t.Error("the history depends on the hour")
	}
}

func TestEveryMessageIsValidMail(t *testing.T) {
	for seed := range uint64(5) {
		seen := map[string]bool{}
		for _, m := range testPlan(seed).all() {
			checkMail(t, m.Raw, m.ID, m.Subject)
			if seen[m.ID] {
				t.Fatalf("Message-ID %s comes twice", m.ID)
			}
			seen[m.ID] = true
			if m.Reply != nil {
				checkMail(t, m.Reply.Raw, m.Reply.ID, "")
				if !bytes.Contains(m.Reply.Raw, []byte("In-Reply-To: <"+m.ID+">")) {
					t.Errorf("the reply to %s does not say so", m.ID)
				}
				seen[m.Reply.ID] = true
			}
		}
	}
}

// checkMail checks the form of a message (RFC 5322, RFC 2045).
func checkMail(t *testing.T, raw []byte, id, subject string) {
	t.Helper()
	for i, line := range bytes.SplitAfter(raw, []byte("\n")) {
		if len(line) > 0 && (!bytes.HasSuffix(line, []byte("\r\n")) || bytes.Count(line, []byte("\r")) != 1) {
			t.Fatalf("%s: line %d does not end in CRLF: %q", id, i+1, line)
		}
		if len(line) > 998 {
			t.Fatalf("%s: line %d has %d bytes", id, i+1, len(line))
		}
	}
	r, err := mail.CreateReader(bytes.NewReader(raw))
	testkit.OK(t, err)
	got, serr := r.Header.Subject()
	is, ierr := r.Header.MessageID()
	_, derr := r.Header.Date()
	if err := errors.Join(serr, ierr, derr); err != nil || is != id || subject != "" && got != subject {
		t.Errorf("%s: Message-ID %s, subject %q, want %q (%v)", id, is, got, subject, err)
	}
	for _, name := range []string{"From", "To", "Cc"} {
		list, err := r.Header.AddressList(name)
		if err != nil || len(list) == 0 && name != "Cc" {
			t.Errorf("%s: %s: %v", id, name, err)
		}
		for _, a := range list {
			if !strings.HasSuffix(a.Address, ".example") && !strings.HasSuffix(a.Address, "@lists.example.net") {
				t.Errorf("%s: %s is not of a reserved domain", id, a.Address)
			}
		}
	}
	parts := 0
	for ; ; parts++ {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		testkit.OK(t, err)
		text, err := io.ReadAll(part.Body)
		if err != nil || len(text) < 20 || !utf8.Valid(text) {
			t.Errorf("%s: %v; text is %q", id, err, text)
		}
		if strings.Contains(part.Header.Get("Content-Type"), "us-ascii") && bytes.IndexFunc(text, func(r rune) bool { return r > 126 }) >= 0 {
			t.Errorf("%s: says us-ascii and is not: %q", id, text)
		}
		if bytes.ContainsAny(text, "{}") {
			t.Errorf("%s: a slot was not filled: %q", id, text)
		}
	}
	if several := strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/"); several && parts != 2 || !several && parts != 1 {
		t.Errorf("%s: %d parts", id, parts)
	}
}

func TestTheMailboxIsOfManyKinds(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		p := testPlan(seed)
		if n := len(p.History); n < 5*HistoryDays || n > 7*HistoryDays {
			t.Errorf("seed %d: %d messages of history", seed, n)
		}
		kinds := map[string]int{}
		has := map[string]int{}
		for _, m := range p.Live {
			kinds[m.Kind]++
			note := func(what string, is bool) {
				if is {
					has[what]++
				}
			}
			note("important", m.Important)
			note("spam", m.Spam)
			note("answered", m.Reply != nil)
			note("overlooked", m.Overlooks)
			note("in a thread", bytes.Contains(m.Raw, []byte("\nReferences: ")))
			note("HTML", bytes.Contains(m.Raw, []byte("text/html")))
			note("from a list", bytes.Contains(m.Raw, []byte("\nList-Id: ")))
			note("not ASCII", bytes.Contains(m.Raw, []byte("utf-8")))
		}
		if want := len(stocks()) - 2; len(kinds) < want {
			t.Errorf("seed %d: %d kinds of mail, want at least %d", seed, len(kinds), want)
		}
		for _, w := range []struct {
			what        string
			least, most int // percent
		}{
			{"important", 20, 45}, {"spam", 3, 15}, {"answered", 5, 25}, {"overlooked", 3, 25},
			{"in a thread", 12, 45}, {"HTML", 12, 50}, {"from a list", 5, 25}, {"not ASCII", 15, 60},
		} {
			if share := 100 * has[w.what] / len(p.Live); share < w.least || share > w.most {
				t.Errorf("seed %d: %d %% %s, want %d to %d %%", seed, share, w.what, w.least, w.most)
			}
		}
	}
}

func TestDatesAscendAndTheHistoryEndsTheDayBefore(t *testing.T) {
	p := testPlan(1)
	for _, list := range [][]*Message{p.History, p.Live} {
		if !slices.IsSortedFunc(list, func(a, b *Message) int { return a.Date.Compare(b.Date) }) {
			t.Error("dates do not ascend")
		}
	}
	last, first := p.History[len(p.History)-1].Date, p.History[0].Date
	if last.Day() == testStart.Day() || last.After(testStart) {
		t.Errorf("the last message of the history is of %v", last)
	}
	if days := testStart.Sub(first).Hours() / 24; days > HistoryDays+1 {
		t.Errorf("the first message of the history is %v days old", days)
	}
	if !p.Live[0].Date.Equal(testStart) || !p.Live[len(p.Live)-1].Date.Before(testStart.Add(time.Minute)) {
		t.Error("live mail does not come within the span")
	}
}

func TestWhatTheOwnerDoes(t *testing.T) {
	reply := new(Reply)
	for _, c := range []struct {
		name   string
		m      Message
		marked bool
		want   deed
	}{
		{"important and marked is read", Message{Important: true, Reads: true}, true, reads},
		{"important and missed is marked", Message{Important: true, Reads: true}, false, marks},
		{"important and missed is starred by some", Message{Important: true, Stars: true}, false, stars},
		{"important, missed and overlooked stays", Message{Important: true, Overlooks: true}, false, leaves},
		{"an answer needs no mark", Message{Important: true, Reply: reply}, false, answers},
		{"ordinary and marked is unmarked", Message{}, true, unmarks},
		{"ordinary, marked and overlooked keeps its mark", Message{Overlooks: true}, true, leaves},
		{"ordinary is left alone", Message{}, false, leaves},
		{"ordinary is read at times", Message{Reads: true}, false, reads},
		{"ordinary is thrown away at times", Message{Discards: true}, false, discards},
		{"spam goes to Junk", Message{Spam: true, Junks: true}, true, junks},
		{"spam is overlooked at times", Message{Spam: true, Overlooks: true}, true, leaves},
	} {
		if got := c.m.deed(c.marked); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// At every hour of the day the demo takes place at the same hour of its own.
func TestTheDemoTakesPlaceAtNight(t *testing.T) {
	for hour := range 24 {
		at, err := night(testStart.UTC().Truncate(24 * time.Hour).Add(time.Duration(hour)*time.Hour + 59*time.Minute))
		testkit.OK(t, err)
		p := NewPlan(1, at, 320, time.Minute)
		if last := p.History[len(p.History)-1].Date; at.Hour() != 3 || at.Sub(last) < 7*time.Hour || at.Sub(p.History[0].Date) < (HistoryDays-1)*24*time.Hour {
			t.Errorf("%d:59 UTC is %v; the history goes from %v to %v", hour, at, p.History[0].Date, last)
		}
	}
}

// good is a summary of a demo that worked.
func good() *Summary {
	return &Summary{
		Messages: 30, Important: 10, Marked: 9, MarksSet: 9, Corrections: 4, LearntImportant: 5, LearntOrdinary: 3,
		Thirds: [3]Third{{10, 5}, {10, 3}, {10, 1}}, Precision: 0.8, Recall: 0.7,
		Baselines: []Baseline{{"mark nothing", 10, 0, 0}},
	}
}

func TestALoopThatDidNotWorkIsFoundOut(t *testing.T) {
	if err := good().Check(); err != nil {
		t.Errorf("a demo that worked: %v", err)
	}
	for want, spoil := range map[string]func(*Summary){
		"no mark was set":    func(s *Summary) { s.MarksSet = 0 },
		"corrected nothing":  func(s *Summary) { s.Corrections = 0 },
		"nothing was learnt": func(s *Summary) { s.LearntImportant, s.LearntOrdinary = 0, 0 },
		`10 decisions were wrong; "mark nothing" is wrong about 10`: func(s *Summary) { s.Thirds[2].Wrong = 2 },
	} {
		s := good()
		spoil(s)
		if err := s.Check(); !errors.Is(err, ErrLoop) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

func TestTheSummaryInWords(t *testing.T) {
	var b strings.Builder
	testkit.OK(t, good().Print(&b))
	for _, want := range []string{"5 of the first 10, 3 of the next 10, 1 of the last 10", "0.80 of what was marked", "hinged                                 9"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}

func TestTheRunningRate(t *testing.T) {
	var wrong []bool
	for i := range 100 {
		wrong = append(wrong, i < 40 && i%2 == 0)
	}
	ta := tally{wrong: wrong}
	if got := ta.recent(50); got != 0 {
		t.Errorf("the last 50: got %d wrong", got)
	}
	if got := ta.recent(80); got != 10 {
		t.Errorf("the last 80: got %d wrong, want 10", got)
	}
	if got := bars(wrong); got != "██▁▁▁" {
		t.Errorf("bars are %q", got)
	}
}

func TestCutKeepsToTheWidth(t *testing.T) {
	for _, s := range []string{"", "Ada", "Prüfung der Brücke", "限定セール", "本日限定 55％オフ", "a\u0301e\u0301i\u0301", "👩‍🚀 to the moon", strings.Repeat("x", 40)} {
		for width := 1; width <= 24; width++ {
			if got := uniseg.StringWidth(cut(s, width, false)); got > width {
				t.Errorf("%q cut to %d columns takes %d", s, width, got)
			}
			if got := uniseg.StringWidth(cut(s, width, true)); got != width {
				t.Errorf("%q cut and filled to %d columns takes %d", s, width, got)
			}
		}
		if got := cut(s, 80, false); got != s {
			t.Errorf("%q became %q where there was room", s, got)
		}
	}
}

func someEntry(outcome string) *entry {
	return &entry{m: &Message{From: "Käthe Brühl", Subject: strings.Repeat("Rückfrage ", 30)}, outcome: outcome, score: -0.25, why: []string{"asks a question"}}
}

func TestLinesFitTheScreen(t *testing.T) {
	for _, width := range []int{40, 60, 80, 200} {
		c := &Screen{Width: func() int { return width }}
		for _, outcome := range []string{"important", "unsure", "ordinary"} {
			line := c.decision(61*time.Second, someEntry(outcome))
			// A screen of 40 columns is narrower than the fixed columns alone.
			if got := uniseg.StringWidth(line); got > max(width, leadWidth+1) {
				t.Errorf("%d columns: %d in %q", width, got, line)
			}
			if !strings.Contains(line, "1:01.0") || !strings.Contains(line, "-0.25") {
				t.Errorf("no time or no score in %q", line)
			}
		}
		if got := uniseg.StringWidth(c.deed(time.Second, someEntry("ordinary"), "missed: Nora marks it")); got > max(width, 60) {
			t.Errorf("%d columns: a deed takes %d", width, got)
		}
	}
}

// TestAReasonStandsWhereItFits: at the limit, and not one column past it.
func TestAReasonStandsWhereItFits(t *testing.T) {
	why := []string{"you answered 8 of 9 messages", "only to you"}
	for room, want := range map[int]string{60: " (you answered 8 of 9 messages)", 32: " (you answered 8 of 9 messages)", 31: " (only to you)", 15: " (only to you)", 14: ""} {
		if got := fitting(why, room); got != want {
			t.Errorf("%d columns: %q, want %q", room, got, want)
		}
	}
}

func TestAScreenThatIsNoTerminalShowsPlainLines(t *testing.T) {
	var b strings.Builder
	c := &Screen{Out: &b}
	c.footer([]string{"never shown"})
	c.heading("Heading")
	c.line(c.decision(0, someEntry("important")))
	if got := b.String(); strings.Contains(got, "\x1b") || strings.Contains(got, "never shown") || !strings.Contains(got, "\nHeading\n") {
		t.Errorf("got %q", got)
	}
	b.Reset()
	c.Colour = true
	c.line(c.decision(0, someEntry("important")))
	if got := b.String(); strings.Count(got, "\x1b[0m") != strings.Count(got, "\x1b[")/2 || !strings.Contains(got, "\x1b[1;32m") {
		t.Errorf("colours do not end: %q", got)
	}
}

func TestTheFooterStaysBelow(t *testing.T) {
	var b strings.Builder
	c := &Screen{Out: &b, Live: true}
	c.footer([]string{"one", "two"})
	c.line("scrolls")
	c.footer(nil)
	c.line("end")
	want := "one\ntwo\n" + "\x1b[2F\x1b[J" + "scrolls\none\ntwo\n" + "\x1b[2F\x1b[J" + "end\n"
	if got := b.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

type brokenPipe struct{ n int }

func (w *brokenPipe) Write([]byte) (int, error) { w.n++; return 0, errors.New("gone") }

func TestAReaderThatWentAwayIsWrittenToOnce(t *testing.T) {
	w := new(brokenPipe)
	c := &Screen{Out: w}
	for range 3 {
		c.line("text")
	}
	if w.n != 1 {
		t.Errorf("%d writes after the first failed", w.n-1)
	}
}
