// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/whatif"
)

// ledgerOf is the desk's ledger.
func (h *home) ledgerOf() desk.Ledger {
	h.t.Helper()
	l, err := desk.GetLedger.Do(h.t.Context(), h.daemon, "nora", desk.LedgerRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

// inState counts entries.
func inState(l desk.Ledger, state string) (n int) {
	for _, e := range l.Entries {
		if e.Ours && e.State == state {
			n++
		}
	}
	return n
}

func TestLedgerShowsEveryMarkAndUndoesIt(t *testing.T) {
	t.Parallel()
	h := lived(t)
	before := h.ledgerOf()
	stand, off := inState(before, "confirmed"), inState(before, "refused")
	if stand < 3 || off < 1 {
		t.Fatalf("%d marks stand, %d were taken off: the mailbox is too quiet", stand, off)
	}
	page := h.see("/a/nora/ledger")
	for _, want := range []string{fmt.Sprintf("%d stand", stand), fmt.Sprintf("you took off %d", off)} {
		if got := page.text("h1"); !strings.Contains(got, want) {
			t.Errorf("the heading is %q and lacks %q", got, want)
		}
	}
	if got := len(page.all("tr")); got < 3 {
		t.Error("no rows")
	}
	// Each row's number is the desk's.
	for _, e := range before.Entries[:min(3, len(before.Entries))] {
		row := page.all(fmt.Sprintf("tr#n-%d", e.Number))
		if len(row) != 1 || !strings.Contains(words(row[0]), plot.Signed(e.Score)) {
			t.Errorf("entry %d has %d rows, or not its score", e.Number, len(row))
		}
	}
	// One is undone, and only that.
	var one desk.LedgerEntry
	for _, e := range before.Entries {
		if e.State == "confirmed" {
			one = e
			break
		}
	}
	next := h.press(page, "/a/nora/ledger/undo", url.Values{"number": {fmt.Sprint(one.Number)}})
	if got := next.text("p.say"); !strings.Contains(got, "1 mark taken back") {
		t.Errorf("it says %q", got)
	}
	place := ingest.Place{Mailbox: one.Mailbox, UIDValidity: one.UIDValidity, UID: one.UID}
	h.mu.Lock()
	flags := h.flags[place]
	h.mu.Unlock()
	if ingest.HasFlag(flags, "$important") {
		t.Errorf("the message still has %v", flags)
	}
	if got := inState(h.ledgerOf(), "confirmed"); got != stand-1 {
		t.Errorf("%d marks stand, want %d", got, stand-1)
	}
	// Many: first what would be undone, then that.
	preview := h.see("/a/nora/ledger/undo?since=all")
	if got := preview.text("h1"); got != fmt.Sprintf("Undo all %d marks that stand?", stand-1) {
		t.Errorf("the question is %q", got)
	}
	if got := inState(h.ledgerOf(), "confirmed"); got != stand-1 {
		t.Errorf("asking has undone marks: %d stand", got)
	}
	next = h.press(preview, "/a/nora/ledger/undo", nil)
	if got := next.text("p.say"); !strings.Contains(got, fmt.Sprintf("%d marks taken back", stand-1)) {
		t.Errorf("it says %q", got)
	}
	if got := inState(h.ledgerOf(), "confirmed"); got != 0 {
		t.Errorf("%d marks stand", got)
	}
	if got := h.see("/a/nora/ledger/undo?since=all").text("h1"); got != "There is nothing to undo." {
		t.Errorf("then it asks %q", got)
	}
}

func TestUndoRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	h := newHome(t, homeOptions())
	for _, query := range []string{"", "since=yesterday", "message=abc", "message=" + strings.Repeat("g", 32), "number=-1", "number=x", "since="} {
		if r := h.send(http.MethodGet, "/a/nora/ledger/undo?"+query, nil); r.code != http.StatusNotFound {
			t.Errorf("%q: %d", query, r.code)
		}
	}
	if r := h.send(http.MethodPost, "/a/nora/ledger/undo", url.Values{"since": {"all"}}); r.code != http.StatusForbidden {
		t.Errorf("without proof: %d", r.code)
	}
}

func TestWordsAreThoseOfTheDesk(t *testing.T) {
	t.Parallel()
	h := lived(t)
	all, err := desk.GetWords.Do(t.Context(), h.daemon, "nora", desk.WordsRequest{Most: 3})
	if err != nil {
		t.Fatal(err)
	}
	page := h.see("/a/nora/words")
	main := strings.NewReplacer("“", `"`, "”", `"`).Replace(page.text("main"))
	for _, w := range append(all.Important, all.Ordinary...) {
		if !strings.Contains(strings.NewReplacer("“", `"`, "”", `"`).Replace(main), plot.Signed(w.Weight)+" "+w.Text) {
			t.Errorf("the page lacks %s %s", plot.Signed(w.Weight), w.Text)
		}
	}
	if found := h.see("/a/nora/words?q=weekly").text("p.lead"); found != "“weekly” pulls towards ordinary, most of all in the subject." {
		t.Errorf("looking up a word says %q", found)
	}
	if found := h.see("/a/nora/words?q=invoice").text("p.lead"); !strings.HasPrefix(found, "“invoice” ") {
		t.Errorf("looking up a word says %q", found)
	}
	odd := `"><script>alert(1)</script>` + strings.Repeat("y", 400)
	if r := h.see("/a/nora/words?q=" + url.QueryEscape(odd)); strings.Contains(r.body, "<script>alert") {
		t.Error("a word became a script")
	}
	if got := newHome(t, homeOptions()).see("/a/nora/words").text("main"); !strings.Contains(got, "weight") {
		t.Errorf("before anything was learnt: %q", got)
	}
}

func TestWhatIfShowsWhatTheDeskSays(t *testing.T) {
	t.Parallel()
	h := lived(t)
	page := h.see("/a/nora/whatif")
	h.press(page, "/a/nora/whatif", url.Values{"learner": {"perceptron"}, "threshold": {"budget:0.1"}, "per_day": {""}, "prior": {""}})
	var run whatif.Run
	for end := time.Now().Add(patience); !run.State.Ended(); time.Sleep(5 * time.Millisecond) {
		var err error
		if run, err = desk.GetWhatIf.Do(t.Context(), h.daemon, "nora", desk.WhatIfQuery{}); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatal("it never ends")
		}
	}
	if run.State != whatif.Done {
		t.Fatalf("it ended as %s: %s", run.State, run.Problem)
	}
	page = h.see("/a/nora/whatif")
	if got := page.text("h1"); got == "" || !strings.HasPrefix(strings.ReplaceAll(run.Recommendation, "'", "’"), strings.ReplaceAll(got, "'", "’")) {
		t.Errorf("the heading is %q, the recommendation %q", got, run.Recommendation)
	}
	table := page.text("tr.key-row")
	if want := fmt.Sprintf("Taken off or missed %d %d", run.Today.Wrong, run.Other.Wrong); table != want {
		t.Errorf("the table says %q, want %q", table, want)
	}
	if got := page.text("main"); !strings.Contains(got, run.Command) {
		t.Errorf("the page lacks the command %q", run.Command)
	}
	// Settings that mean nothing are refused, in words.
	for want, form := range map[string]url.Values{
		"they are today's": {},
		"threshold is":     {"threshold": {"budget:lots"}},
		"per_day is":       {"per_day": {"x"}},
		"prior is":         {"prior": {"mine"}},
	} {
		for _, name := range []string{"learner", "threshold", "per_day", "prior"} {
			if !form.Has(name) {
				form.Set(name, "")
			}
		}
		if got := h.press(page, "/a/nora/whatif", form).text("p.alert"); !strings.Contains(got, want) {
			t.Errorf("%v: it says %q, want %q", form, got, want)
		}
		if got := h.see("/a/nora/whatif").text("p.alert"); got != "" {
			t.Errorf("%v: later it says %q again", form, got)
		}
	}
}

// A link may lead to any address of the dashboard. What the page says is hinged's alone.
func TestNoPageSaysWhatALinkSays(t *testing.T) {
	t.Parallel()
	h := lived(t)
	const said = "Your password has expired: renew it at hinged-login.example"
	text := url.QueryEscape(said)
	key := h.list(desk.MessagesRequest{Most: 1}).Messages[0].Message
	for _, path := range []string{"", "ask", "ledger", "ledger/undo", "messages", "messages/" + key, "whatif", "words"} {
		for _, name := range []string{"problem", "show", "why", "notice", "threshold", "account"} {
			page := h.see("/a/nora/" + path + "?since=all&" + name + "=" + text)
			if strings.Contains(page.body, said) {
				t.Errorf("%s?%s: the page says %q", path, name, said)
			}
		}
	}
}

func TestPauseAndResumeSayWhatTheyDid(t *testing.T) {
	t.Parallel()
	h := lived(t)
	page := h.press(h.see("/a/nora/"), "/a/nora/pause", nil)
	if got := page.text("p.say"); !strings.HasPrefix(got, "Paused.") {
		t.Errorf("paused by the overview's button, it says %q", got)
	}
	page = h.press(page, "/a/nora/resume", nil)
	if got := page.text("p.say"); !strings.HasPrefix(got, "Resumed.") {
		t.Errorf("resumed by the overview's button, it says %q", got)
	}
	page = h.see("/a/nora/whatif")
	form := page.form("/a/nora/whatif")
	post := func(what string) reply {
		r := h.send(http.MethodPost, "/a/nora/"+what, url.Values{"csrf": form["csrf"]})
		if r.code != http.StatusSeeOther {
			t.Fatalf("%s: %d", what, r.code)
		}
		return h.see(r.to)
	}
	if got := post("pause").text("h1"); !strings.HasPrefix(got, "Paused") {
		t.Errorf("paused, the overview says %q", got)
	}
	if a := h.status("the pause", func(a desk.AccountStatus) bool { return a.Paused }); !a.Paused {
		t.Error("it is not paused")
	}
	overview := h.see("/a/nora/")
	if got := h.press(overview, "/a/nora/resume", nil).text("h1"); strings.HasPrefix(got, "Paused") {
		t.Errorf("resumed, the overview says %q", got)
	}
}

func TestTheMarkOfAMessageIsUndoneFromItsPage(t *testing.T) {
	t.Parallel()
	h := lived(t)
	m := h.list(desk.MessagesRequest{Outcome: "important"}).Messages[0]
	path := "/a/nora/messages/" + m.Message
	var link string
	for _, a := range h.see(path).all("a") {
		if words(a) == "Undo the mark" {
			link = attr(a, "href")
		}
	}
	asked := h.see(link)
	if got := asked.text("main"); !strings.Contains(got, "Undo the mark on this message?") {
		t.Errorf("it asks %s", got)
	}
	page := h.press(asked, "/a/nora/ledger/undo", nil)
	if got := page.text("dl.facts"); page.to != path || !strings.Contains(got, "was taken back") {
		t.Errorf("led to %s; on record: %s", page.to, got)
	}
	if got := page.text("main"); !strings.Contains(got, "1 mark taken back") || strings.Contains(got, "Undo the mark") {
		t.Errorf("it says %s", got)
	}
	if got := h.see(link).text("h1"); got != "There is nothing to undo." {
		t.Errorf("asked again: %q", got)
	}
	if r := h.send(http.MethodGet, "/a/nora/ledger/undo?number=99999", nil); r.code != http.StatusNotFound {
		t.Errorf("an entry that there is not: %d", r.code)
	}
}
