// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/demo"
)

// number reads a score as it is shown.
func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(strings.NewReplacer("−", "-", "+", "", ",", "").Replace(s), 64)
	if err != nil {
		t.Errorf("%q is no score", s)
	}
	return x
}

// column adds up the cells of a table's body that have a class, and returns that of its
// foot, too.
func column(t *testing.T, table *html.Node, class string) (sum, foot float64, cells int) {
	t.Helper()
	for n := range table.Descendants() {
		if n.Type != html.ElementNode || n.Data != "td" || attr(n, "class") != class {
			continue
		}
		x := number(t, words(n))
		if n.Parent.Parent.Data == "tfoot" {
			foot = x
		} else {
			sum, cells = sum+x, cells+1
		}
	}
	return sum, foot, cells
}

func TestAMessageIsTakenApartAsTheDeskDoes(t *testing.T) {
	t.Parallel()
	h := lived(t)
	var keys []string
	for _, outcome := range []string{"important", "unsure", "ordinary"} {
		for _, m := range h.list(desk.MessagesRequest{Outcome: outcome, Most: 4}).Messages {
			keys = append(keys, m.Message)
		}
	}
	for _, key := range keys {
		page := h.see("/a/nora/messages/" + key)
		m := h.list(desk.MessagesRequest{Search: key}).Messages[0]
		ex, err := desk.Explain.Do(t.Context(), h.daemon, "nora", desk.ExplainRequest{Message: desk.Message{Name: key}})
		if err != nil {
			t.Fatal(err)
		}
		sum, foot, cells := column(t, page.all("table.wf")[0], "n")
		if math.Abs(sum-foot) > 1e-9 || plot.Signed(foot) != plot.Signed(ex.Score) || cells == 0 {
			t.Errorf("%s: %d rows add up to %.3f, the score is shown as %.3f and is %.6f", key, cells, sum, foot, ex.Score)
		}
		if len(ex.Lessons) == 0 {
			t.Errorf("%s: no lessons", key)
		} else if sum, foot, _ := column(t, page.all("table.from")[0], "n"); math.Abs(sum-foot) > 0.0015 || plot.Signed(foot) != plot.Signed(ex.Score) {
			t.Errorf("%s: the lessons add up to %.3f, the score is shown as %.3f", key, sum, foot)
		}
		if _, _, n := column(t, page.all("table.plain")[0], "n"); n != len(ex.Parts) {
			t.Errorf("%s: %d of %d parts", key, n, len(ex.Parts))
		}
		if lead := page.text("p.lead"); !strings.HasPrefix(strings.ToLower(lead), ex.Outcome) {
			t.Errorf("%s: %q, decided %s", key, lead, ex.Outcome)
		}
		if got := page.text("main"); !strings.Contains(got, "threshold of "+plot.Signed(ex.Now)) {
			t.Errorf("%s: it names no threshold of today", key)
		}
		for _, w := range ex.Without {
			if got := page.text("ul.flip"); !strings.Contains(got, plot.Signed(w.Score)+" "+w.Outcome+" , without") {
				t.Errorf("%s: %q lacks %+v", key, got, w)
			}
		}
		record := page.text("dl.facts")
		for _, want := range []string{key, m.Arrived.Format("2 January 2006 15:04:05"), "score " + plot.Signed(m.ScoreThen) + ", threshold " + plot.Signed(m.ThresholdThen), fmt.Sprintf("INBOX, UID %d", m.UID)} {
			if !strings.Contains(record, want) {
				t.Errorf("%s: the record lacks %q: %s", key, want, record)
			}
		}
		if got := len(page.all("p.wrong")) == 1; got != m.Wrong {
			t.Errorf("%s: called wrong: %v, want %v", key, got, m.Wrong)
		}
		if got := strings.Contains(page.text("main"), "Undo the mark"); got != (m.Mark == "confirmed") {
			t.Errorf("%s: its mark, %q, can be undone: %v", key, m.Mark, got)
		}
	}
}

func TestAMessageWithoutWords(t *testing.T) {
	t.Parallel()
	h := lived(t)
	h.arriveIn("Sent", fmt.Appendf(nil, "From: %s\r\nTo: ada@x.example\r\nMessage-ID: <own1@x>\r\nSubject: mine\r\n\r\nmine\r\n", demo.OwnerAddress), h.clock().Add(time.Minute))
	l, err := desk.GetLedger.Do(t.Context(), h.daemon, "nora", desk.LedgerRequest{Message: "own1@x"})
	if err != nil {
		t.Fatal(err)
	}
	key := l.Message
	if key == "" {
		t.Fatalf("the message has no key: %+v", l)
	}
	page := h.see("/a/nora/messages/" + key)
	if got := page.text("main"); !strings.Contains(got, l.Verdict) || strings.Contains(got, "What makes the score") {
		t.Errorf("got %s, the desk says %s", got, l.Verdict)
	}
	if strings.Contains(page.text("main"), "Ordinary") {
		t.Error("a message that teaches nothing has buttons")
	}
	form := h.see("/a/nora/messages").form("/a/nora/messages/" + h.list(desk.MessagesRequest{}).Messages[0].Message + "/feedback")
	form.Set("say", "ordinary")
	form.Set("back", "//elsewhere.example/")
	if r := h.send(http.MethodPost, "/a/nora/messages/"+key+"/feedback", form); r.code != http.StatusSeeOther || r.to != "/a/nora/messages/"+key {
		t.Errorf("led to %d %s", r.code, r.to)
	}
	if got := h.see("/a/nora/messages/" + key).text("p.say"); !strings.Contains(got, "Not learnt: ") {
		t.Errorf("a label that teaches nothing: %q", got)
	}
}

func TestARuleThatDecidedIsNamed(t *testing.T) {
	t.Parallel()
	o := homeOptions()
	o.Rules = []filter.Rule{{Match: "from:boss@x.example", Label: 1}}
	h := newHome(t, o)
	h.arrive([]byte("From: boss@x.example\r\nTo: nora.vale@larkfield.example\r\nMessage-ID: <r1@x>\r\nSubject: now\r\n\r\nnow\r\n"), homeStart.Add(time.Hour))
	key := h.list(desk.MessagesRequest{}).Messages[0].Message
	page := h.see("/a/nora/messages/" + key)
	if got := page.text("main"); !strings.Contains(got, "because of your rule from:boss@x.example") || !strings.Contains(got, "Your rule from:boss@x.example decides, whatever the score.") {
		t.Errorf("got %s", got)
	}
}

func TestOtherCopiesOfAMessageAreLinked(t *testing.T) {
	t.Parallel()
	h := lived(t)
	for n := range 2 {
		h.arrive(fmt.Appendf(nil, "From: ada@x.example\r\nTo: %s\r\nMessage-ID: <twice@x>\r\nSubject: Twice\r\n\r\nwith footer %d\r\n", demo.OwnerAddress, n), h.clock().Add(time.Minute))
	}
	l := h.list(desk.MessagesRequest{Search: "twice@x"})
	if len(l.Messages) != 2 {
		t.Fatalf("%d messages have the Message-ID", len(l.Messages))
	}
	one, two := l.Messages[0].Message, l.Messages[1].Message
	found := false
	for _, a := range h.see("/a/nora/messages/" + one).all("a") {
		found = found || attr(a, "href") == "/a/nora/messages/"+two
	}
	if !found {
		t.Errorf("the page of %s does not lead to %s", one, two)
	}
}

// The same figure is the same on every page.
func TestFiguresAgreeFromPageToPage(t *testing.T) {
	t.Parallel()
	h := lived(t)
	overview, tabs, marks := h.see("/a/nora/"), h.see("/a/nora/messages").text("nav.tabs"), h.see("/a/nora/ledger").text("h1")
	var sum []string
	for _, row := range overview.all("tr") {
		if row.Parent.Data == "tfoot" {
			sum = strings.Fields(words(row))
		}
	}
	if len(sum) != 8 || sum[0] != "28" {
		t.Fatalf("the weeks add up to %q", sum)
	}
	decided, marked, wrong := sum[2], sum[3], sum[6]
	if !strings.HasPrefix(tabs, "All "+decided+" ") || !strings.HasSuffix(tabs, " Wrong "+wrong) {
		t.Errorf("the overview has %s decided and %s wrong, the messages are %s", decided, wrong, tabs)
	}
	if !strings.HasPrefix(marks, marked+" marks: ") {
		t.Errorf("the overview has %s marked, the ledger %s", marked, marks)
	}
	if got := len(h.see("/a/nora/messages?show=wrong").all("b.warn")); fmt.Sprint(got) != wrong {
		t.Errorf("%d rows are called wrong, the overview has %s", got, wrong)
	}
}

func TestAnAnswerOnTheMessagesPage(t *testing.T) {
	t.Parallel()
	h := lived(t)
	key := h.list(desk.MessagesRequest{Outcome: "ordinary"}).Messages[0].Message
	path := "/a/nora/messages/" + key
	page := h.press(h.see(path), path+"/feedback", url.Values{"say": {"important"}})
	now := h.list(desk.MessagesRequest{Search: key}).Messages[0]
	if got := page.text("p.say"); !strings.Contains(got, "You said important:") || !strings.Contains(got, plot.Signed(now.Score)) || !strings.Contains(got, "Hinged marks it.") {
		t.Errorf("it says %q", got)
	}
	if got := page.text("p.wrong"); !strings.Contains(got, "This was a wrong decision: it was called ordinary, and you called it important.") {
		t.Errorf("of the decision it says %q", got)
	}
}
