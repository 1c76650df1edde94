// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// refusing answers a UID SEARCH whose arguments hold one of words with a line, and writes
// down every command.
func refusing(heard *testkit.Transcript, line string, words ...string) func(*testkit.Fake) {
	return func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			fmt.Fprintln(heard, cmd.Name, cmd.Args)
			if cmd.Name != "UID SEARCH" || !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(cmd.Args, w) }) {
				return false
			}
			c.Line("%s %s", cmd.Tag, line)
			return true
		}
	}
}

// opened logs in and opens INBOX.
func opened(t *testing.T, f *testkit.Fake) *Probe {
	t.Helper()
	p := probe(t, only(f))
	if _, err := p.Open("INBOX", true); err != nil {
		t.Fatal(err)
	}
	return p
}

var since = time.Date(2024, 1, 2, 15, 0, 0, 0, time.UTC)

// TestServerThatKnowsNoQuotedDatesIsSearched is as Apache James 3.8 does it.
func TestServerThatKnowsNoQuotedDatesIsSearched(t *testing.T) {
	t.Parallel()
	var heard testkit.Transcript
	f := testkit.StartFake(t, refusing(&heard, "BAD Illegal arguments", `"`))
	f.Add(plainMail, "")
	p := opened(t, f)
	if tally, err := p.Tally(since, 10); err != nil || tally.Messages != 1 || p.s.dateless {
		t.Errorf("counted %+v, %v", tally, err)
	}
}

// TestServerThatRefusesToSearchByDateIsAskedForDates has messages on both sides of the
// day, by dates in zones where it is another day in UTC, and not in order of arrival.
// The server is asked once to search by date.
func TestServerThatRefusesToSearchByDateIsAskedForDates(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"BAD Illegal arguments", "NO not supported"} {
		var heard testkit.Transcript
		f := testkit.StartFake(t, refusing(&heard, answer, "SINCE"))
		for _, date := range []string{
			"02-Jan-2024 00:00:00 +1400", // on the day, the first of January in UTC
			"01-Jan-2024 23:59:59 -1200", // the day before, the second in UTC
			"31-Dec-2023 10:00:00 +0000",
			" 3-Jan-2024 10:00:00 +0000",
			"01-Jan-2024 23:59:59 +0000",
		} {
			f.Add(plainMail, `\Answered`)
			f.Messages[len(f.Messages)-1].Date = date
		}
		p := opened(t, f)
		for range 2 {
			tally, err := p.Tally(since, 10)
			if err != nil || tally.Messages != 2 || tally.Answered != 2 {
				t.Errorf("%s: counted %+v, %v; want 2 messages", answer, tally, err)
			}
		}
		if n, replies, err := p.CountReplies(since); n != 2 || replies != 2 || err != nil {
			t.Errorf("%s: counted %d messages, %d replies, %v; want 2 and, as this server finds all, 2", answer, n, replies, err)
		}
		if v, err := p.Verifiers(since, 1); v.Messages != 1 || err != nil {
			t.Errorf("%s: read %d messages, %v; want the newest one", answer, v.Messages, err)
		}
		if n := strings.Count(heard.String(), "SINCE"); n != 1 {
			t.Errorf("%s: the server was asked %d times to search by date:\n%s", answer, n, heard.String())
		}
	}
}

// TestDatesAreAskedForInBoundedChunks has as many messages as one chunk holds, and one
// more.
func TestDatesAreAskedForInBoundedChunks(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{datesAtOnce: 1, datesAtOnce + 1: 2} {
		var heard testkit.Transcript
		f := testkit.StartFake(t, refusing(&heard, "BAD Illegal arguments", "SINCE"))
		for range n {
			f.Add(plainMail, "")
		}
		p := opened(t, f)
		found, err := p.since(since)
		if err != nil || int(found.len()) != n {
			t.Fatalf("found %d of %d messages, %v", found.len(), n, err)
		}
		if got := strings.Count(heard.String(), "INTERNALDATE"); got != want {
			t.Errorf("%d messages were asked for in %d commands, want %d", n, got, want)
		}
	}
}

// TestSearchThatIsRefusedIsNamed has a server with trouble of its own, which is no reason
// to ask otherwise, and one that refuses every search.
func TestSearchThatIsRefusedIsNamed(t *testing.T) {
	t.Parallel()
	for answer, words := range map[string]string{"NO [UNAVAILABLE] try later": "SINCE", "BAD Illegal arguments": "UID"} {
		var heard testkit.Transcript
		f := testkit.StartFake(t, refusing(&heard, answer, words, "SINCE"))
		f.Add(plainMail, "")
		p := opened(t, f)
		if _, err := p.Tally(since, 10); err == nil || !strings.Contains(err.Error(), "UID SEARCH: "+answer) {
			t.Errorf("a refused search gave %v", err)
		}
		if strings.Contains(heard.String(), "INTERNALDATE") {
			t.Errorf("%s: it was asked for dates", answer)
		}
	}
}

func TestRangesThatOverlap(t *testing.T) {
	t.Parallel()
	r := uidRanges{{2, 4}, {7, 7}, {9, 12}}
	for _, c := range []struct {
		other uidRanges
		want  int64
	}{{nil, 0}, {r, 8}, {uidRanges{{1, 20}}, 8}, {uidRanges{{4, 9}}, 3}, {uidRanges{{5, 6}, {8, 8}, {13, 13}}, 0}, {uidRanges{{3, 3}, {11, 30}}, 3}} {
		if got := r.within(c.other); got != c.want || c.other.within(r) != c.want {
			t.Errorf("%v has %d in common with %v, want %d", r, got, c.other, c.want)
		}
	}
}
