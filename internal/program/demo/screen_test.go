// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
)

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
