// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/demo"
	"github.com/hinged/hinged/internal/testkit"
)

// picture keeps a picture of the page where HINGED_PICTURES says, to be looked at.
func picture(t *testing.T, b *testkit.Browser, name string) {
	t.Helper()
	if dir := os.Getenv("HINGED_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), b.Picture(), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// looked is a home with some mail in it, and a browser that shows its pages.
func looked(t *testing.T, o filter.Options, screen testkit.Screen) (*home, *testkit.Browser) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts Chromium")
	}
	h := newHome(t, o)
	plan := demo.NewPlan(3, homeStart, 60, 7*24*time.Hour)
	h.live(plan.Live[:60])
	b := testkit.StartBrowser(t, screen)
	b.Open(h.server.Link().URL)
	return h, b
}

// shadowed are options with which nothing is marked yet.
func shadowed() filter.Options {
	o := homeOptions()
	o.Shadow = filter.ShadowOn
	return o
}

func TestOnAPhoneTheFirstMessageIsOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]filter.Options{"marking": homeOptions(), "in shadow": shadowed()} {
		t.Run(name, func(t *testing.T) {
			h, b := looked(t, o, testkit.Phone)
			for _, path := range []string{"", "messages"} {
				b.Open(h.base + "/a/nora/" + path)
				picture(t, b, "phone-"+name+"-"+path)
				bottom := testkit.Eval[float64](b, `document.querySelector('.msgs li').getBoundingClientRect().bottom`)
				if bottom > float64(testkit.Phone.Height) {
					t.Errorf("/%s: the first message ends at %.0f of %d", path, bottom, testkit.Phone.Height)
				}
				if wide := testkit.Eval[int](b, "document.documentElement.scrollWidth"); wide > int(testkit.Phone.Width) {
					t.Errorf("/%s is %d wide", path, wide)
				}
			}
			if name != "in shadow" {
				return
			}
			b.Show(testkit.Light)
			b.Open(h.base + "/a/nora/")
			picture(t, b, "light-"+name)
		})
	}
}

func TestCountersMoveWithTheList(t *testing.T) {
	t.Parallel()
	h, b := looked(t, homeOptions(), testkit.Light)
	counts := func() desk.Messages {
		list, err := desk.GetMessages.Do(t.Context(), h.daemon, "nora", desk.MessagesRequest{Most: 1})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	b.Open(h.base + "/a/nora/messages")
	shows := func(l desk.Messages) string {
		return fmt.Sprintf(`[...document.querySelectorAll('.tabs span')].map((e) => e.textContent).join() === '%d,%d,%d,%d,%d'`,
			l.Important+l.Unsure+l.Ordinary, l.Important, l.Unsure, l.Ordinary, l.Wrong)
	}
	before := counts()
	b.Await("the counts as they are", shows(before))
	today := testkit.Eval[string](b, `document.querySelector('.day span').textContent`)
	p := h.arrive(letter(1, "Stranger", "Buy now"), h.clock().Add(time.Minute))
	after := counts()
	if sum := after.Important + after.Unsure + after.Ordinary; sum != before.Important+before.Unsure+before.Ordinary+1 {
		t.Fatalf("there are %d messages", sum)
	}
	b.Await("one more", shows(after))
	b.Await("one more today", fmt.Sprintf(`document.querySelector('.day span').textContent !== %q`, today))
	label := `\Flagged`
	if list, err := desk.GetMessages.Do(t.Context(), h.daemon, "nora", desk.MessagesRequest{Most: 1}); err != nil || list.Messages[0].Outcome == "important" {
		label = "-$Important"
	}
	h.flag(p, `\Seen`, label)
	h.status("a wrong decision", func(desk.AccountStatus) bool { return counts().Wrong == after.Wrong+1 })
	b.Await("one more wrong decision", shows(counts()))
	if p := b.Problems(); len(p) > 0 {
		t.Errorf("the browser complains: %q", p)
	}
}

// The answer to the first load of the page comes late, and more was done meanwhile.
func TestAnAnswerThatComesLateReplacesNoNewerOne(t *testing.T) {
	t.Parallel()
	h, b := looked(t, homeOptions(), testkit.Light)
	b.Open(h.base + "/a/nora/messages")
	testkit.Eval[any](b, `{
		const now = window.fetch;
		window.asked = window.answered = 0;
		window.fetch = async (...of) => {
			const first = window.asked++ === 0, answer = await now(...of), text = await answer.text();
			if (first) await new Promise((done) => setTimeout(done, 3000));
			answer.text = async () => { window.answered++; return text; };
			return answer;
		};
	} 0`)
	const subjects = `[...document.querySelectorAll('.subject')].map((e) => e.textContent).join()`
	h.arrive(letter(1, "Stranger", "The first"), h.clock().Add(time.Minute))
	b.Await("a load", `window.asked > 0`)
	h.arrive(letter(2, "Stranger", "The second"), h.clock().Add(time.Minute))
	b.Await("both messages", `window.answered > 1 && `+subjects+`.includes('The second')`)
}

func TestTheKeyboardAndTheViewStayWhereTheyWere(t *testing.T) {
	t.Parallel()
	h, b := looked(t, homeOptions(), testkit.Light)
	b.Open(h.base + "/a/nora/messages")
	const focused = `(document.activeElement.closest('li')?.id + ' ' + document.activeElement.value)`
	const top = `Math.round(document.activeElement.getBoundingClientRect().top)`
	b.Do(chromedp.Focus(`.msgs li:nth-child(4) button[value="ordinary"]`))
	testkit.Eval[any](b, `document.activeElement.scrollIntoView({ block: 'center' }); 0`)
	where, at := testkit.Eval[string](b, focused), testkit.Eval[int](b, top)
	stays := func(what string) {
		t.Helper()
		if got := testkit.Eval[string](b, focused); got != where {
			t.Errorf("%s, the keyboard is at %s, want %s", what, got, where)
		}
		if got := testkit.Eval[int](b, top); got < at-2 || got > at+2 {
			t.Errorf("%s, that is at %d of the screen, want %d", what, got, at)
		}
	}
	b.Leave(func() { b.Press("\r") })
	b.Await("the keyboard", focused+fmt.Sprintf(` === %q`, where))
	stays("after a form")

	// A lesson about a message on the page is news for its row.
	key := strings.TrimPrefix(strings.Fields(where)[0], "m-")
	if _, err := desk.Label.Do(t.Context(), h.daemon, "nora", desk.LabelRequest{Label: "important", Messages: []desk.Message{{Name: key}}}); err != nil {
		t.Fatal(err)
	}
	b.Await("the lesson", fmt.Sprintf(`document.querySelector('#m-%s button[value=important]').getAttribute('aria-pressed') === 'true'`, key))
	stays("after a lesson")

	// So it is where the whole page is loaded anew, and where the row is gone.
	b.Open(h.base + "/a/nora/ask")
	if n := testkit.Eval[int](b, `document.querySelectorAll('.card').length`); n > 0 {
		b.Do(chromedp.Focus(`.card button[value="ordinary"]`))
		b.Leave(func() { b.Press("\r") })
		b.Await("a place for the keyboard", `document.activeElement !== document.body`)
	}
	b.Open(h.base + "/a/nora/ledger?show=stand")
	if n := testkit.Eval[int](b, `document.querySelectorAll('.ledger form button').length`); n < 2 {
		t.Fatalf("%d marks can be undone", n)
	}
	const row = `document.activeElement.closest('tr')?.id`
	testkit.Eval[any](b, `document.querySelectorAll('.ledger form button')[1].focus(); 0`)
	second := testkit.Eval[string](b, row)
	first := testkit.Eval[string](b, `document.querySelector('.ledger form').closest('tr').id`)
	number, err := strconv.ParseUint(strings.TrimPrefix(first, "n-"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := desk.UndoMarks.Do(t.Context(), h.daemon, "nora", desk.UndoMarksRequest{Numbers: []uint64{number}, Patience: time.Minute}); err != nil {
		t.Fatal(err)
	}
	b.Await("that the page is made anew", fmt.Sprintf(`!document.getElementById(%q)`, first))
	if got := testkit.Eval[string](b, row); got != second {
		t.Errorf("after the page was made anew, the keyboard is in row %q, want %q", got, second)
	}
	if p := b.Problems(); len(p) > 0 {
		t.Errorf("the browser complains: %q", p)
	}
}

func TestHowItLearnsIsFolded(t *testing.T) {
	t.Parallel()
	h, b := looked(t, homeOptions(), testkit.Light)
	b.Open(h.base + "/a/nora/")
	picture(t, b, "overview")
	seen := func() string {
		return testkit.Eval[string](b, `[...document.querySelectorAll('figure h2')].filter((e) => e.checkVisibility()).length + ' of ' + document.querySelectorAll('figure h2').length`)
	}
	if got := seen(); got != "1 of 2" {
		t.Errorf("at first %s plots are seen", got)
	}
	b.Click("#how summary")
	if got := seen(); got != "2 of 2" {
		t.Errorf("then %s plots are seen", got)
	}
	// It stays open when the page changes.
	p := h.arrive(letter(1, "Ada", "The last"), h.clock().Add(time.Minute))
	h.flag(p, `\Seen`, `\Flagged`)
	b.Await("the lesson", `document.getElementById('lessons').innerText.includes('The last')`)
	if got := seen(); got != "2 of 2" {
		t.Errorf("after a change %s plots are seen", got)
	}
}

// Silence is no riddle: the overview has what it asks and what it would have marked.
func TestInShadowTheOverviewAsksFirstAndShowsWhatItWouldHaveMarked(t *testing.T) {
	t.Parallel()
	h := newHome(t, shadowed())
	h.live(demo.NewPlan(3, homeStart, 60, 7*24*time.Hour).Live[:60])
	list, err := desk.GetMessages.Do(t.Context(), h.daemon, "nora", desk.MessagesRequest{Outcome: "important", Most: 5})
	if err != nil || len(list.Messages) == 0 || list.Messages[0].Reason != "shadow" {
		t.Fatalf("%+v: %v", list, err)
	}
	page := h.see("/a/nora/")
	if ask, would, figures := strings.Index(page.body, `id="questions"`), strings.Index(page.body, `id="would"`), strings.Index(page.body, `id="figures"`); ask < 0 || would < ask || figures < would {
		t.Errorf("the questions are at %d, what it would have marked at %d, the figures at %d", ask, would, figures)
	}
	for _, m := range list.Messages {
		if strings.Count(page.body, `id="m-`+m.Message+`"`) != 1 {
			t.Errorf("%s has not one row", m.Message)
		}
	}
	asked, err := desk.Ask.Do(t.Context(), h.daemon, "nora", desk.AskRequest{Since: h.clock().AddDate(0, 0, -28), Most: 3})
	if err != nil || len(asked.Questions) == 0 {
		t.Fatalf("%+v: %v", asked, err)
	}
	key := asked.Questions[0].Message
	next := h.press(page, "/a/nora/ask/"+key, map[string][]string{"say": {"ordinary"}})
	if next.to != "/a/nora/" || !strings.Contains(next.text("main"), "You said ordinary") || strings.Contains(next.body, `id="q-`+key+`"`) {
		t.Errorf("the answer leads to %s:\n%s", next.to, next.text("main"))
	}
}
