// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

// questions are the first four that the desk has.
func (h *home) questions() []desk.Question {
	h.t.Helper()
	q, err := desk.Ask.Do(h.t.Context(), h.daemon, "nora", desk.AskRequest{Since: h.clock().AddDate(0, 0, -28), Most: 4})
	if err != nil || len(q.Questions) != 4 {
		h.t.Fatalf("%d questions, %v", len(q.Questions), err)
	}
	return q.Questions
}

func TestThreeQuestionsAreAskedAndAnswered(t *testing.T) {
	t.Parallel()
	h := lived(t)
	asked := h.questions()
	page := h.see("/a/nora/ask")
	if got := page.text("h1"); got != "Do these three matter to you?" {
		t.Errorf("it asks %q", got)
	}
	for i, one := range asked[:3] {
		card := page.all("li.card")[i]
		if got := words(card); !strings.Contains(got, plot.Signed(one.Score)) || !strings.Contains(got, "Ask me later") {
			t.Errorf("card %d is %s, want the score %s", i, got, plot.Signed(one.Score))
		}
		page.form("/a/nora/ask/" + one.Message)
	}
	// Put off, the fourth takes its place.
	page = h.press(page, "/a/nora/ask/"+asked[1].Message, url.Values{"say": {"later"}})
	if got := page.text("p.say"); !strings.Contains(got, "Put off until tomorrow.") {
		t.Errorf("put off: %q", got)
	}
	if strings.Contains(page.body, asked[1].Message) || !strings.Contains(page.body, asked[3].Message) {
		t.Error("the question that was put off is still there, or the next is not")
	}
	page = h.press(page, "/a/nora/ask/"+asked[0].Message, url.Values{"say": {"important"}})
	m := h.list(desk.MessagesRequest{Search: asked[0].Message}).Messages[0]
	row := page.text("li#m-" + m.Message)
	for _, want := range []string{"You said important: " + plot.Signed(asked[0].Score) + " → " + plot.Signed(m.Score) + "."} {
		if !strings.Contains(row, want) {
			t.Errorf("answered, it says %q, without %q", row, want)
		}
	}
	if m.Label != "important" || m.Source != "explicit" || strings.Contains(page.text("ol.cards"), "id="+m.Message) {
		t.Errorf("the answer was not learnt: %+v", m)
	}
	page = h.press(page, "/a/nora/messages/"+m.Message+"/feedback", url.Values{"say": {"ordinary"}})
	if back := h.list(desk.MessagesRequest{Search: m.Message}).Messages[0]; back.Label != "ordinary" || !strings.Contains(page.text("li#m-"+m.Message), "You said ordinary") || page.to != "/a/nora/ask" {
		t.Errorf("taken back: %+v; led to %s: %s", back, page.to, page.text("main"))
	}
	forms := page.all("li.card")
	if len(forms) != 3 {
		t.Fatalf("%d cards at the end", len(forms))
	}
	action := ""
	for n := range forms[0].Descendants() {
		if n.Data == "form" {
			action = attr(n, "action")
		}
	}
	form := page.form(action)
	form.Set("say", "perhaps")
	if r := h.send(http.MethodPost, action, form); r.code != http.StatusNotFound {
		t.Errorf("an answer that is none: %d", r.code)
	}
}

// counting counts how often the desk is asked about an account.
type counting struct {
	desk.Host
	calls atomic.Int32
}

func (c *counting) Account(ctx context.Context, name string) (desk.Account, error) {
	c.calls.Add(1)
	return c.Host.Account(ctx, name)
}

// The page asks for the account, the questions and their subjects.
func TestAnAnswerIsOneCallOfTheDesk(t *testing.T) {
	t.Parallel()
	h := lived(t)
	c := &counting{Host: h.daemon}
	h.serve(c)
	c.calls.Store(0)
	page := h.see("/a/nora/ask")
	if n := c.calls.Swap(0); n != 3 {
		t.Errorf("the page is %d calls", n)
	}
	action := "/a/nora/ask/" + h.questions()[0].Message
	form := page.form(action)
	form.Set("say", "important")
	if r := h.send(http.MethodPost, action, form); r.code != http.StatusSeeOther || c.calls.Load() != 1 {
		t.Errorf("an answer is %d calls: %d", c.calls.Load(), r.code)
	}
}

func TestWhatWasPutOffIsAskedOnNoPage(t *testing.T) {
	t.Parallel()
	h := lived(t)
	q, err := desk.Ask.Do(t.Context(), h.daemon, "nora", desk.AskRequest{Since: h.clock().AddDate(0, 0, -28), Most: 1000})
	if err != nil || len(q.Questions) < 2 {
		t.Fatalf("%d questions, %v", len(q.Questions), err)
	}
	last := len(q.Questions) - 2
	for _, one := range q.Questions[:last] {
		if _, err := desk.Label.Do(t.Context(), h.daemon, "nora", desk.LabelRequest{Label: "ordinary", Messages: []desk.Message{{Name: one.Message}}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"Answer two questions.", "Answer a question.", ""} {
		if got := h.see("/a/nora/").text("aside.next"); !strings.Contains(got, want) || want == "" && strings.Contains(got, "question") {
			t.Errorf("with %d put off, the overview says %q, want %q", i, got, want)
		}
		if got := h.see("/a/nora/ask").all("li.card"); len(got) != 2-i {
			t.Errorf("with %d put off, %d are asked", i, len(got))
		}
		if want != "" {
			h.press(h.see("/a/nora/ask"), "/a/nora/ask/"+q.Questions[last+i].Message, url.Values{"say": {"later"}})
		}
	}
}

func TestWithoutQuestionsItSaysWhy(t *testing.T) {
	t.Parallel()
	h := newHome(t, homeOptions())
	if got := h.see("/a/nora/ask").text("main"); !strings.Contains(got, "No questions now.") || !strings.Contains(got, "No mail has come yet.") {
		t.Errorf("got %s", got)
	}
}
