// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hinged/hinged/internal/face/dashboard"
	"github.com/hinged/hinged/internal/program/demo"
	"github.com/hinged/hinged/internal/testkit"
)

// letter is a message that is like no other.
func letter(n int, from, subject string) []byte {
	return fmt.Appendf(nil, "From: %s <%[2]s@example.org>\r\nTo: %[3]s\r\nSubject: %[4]s\r\nMessage-ID: <letter%[5]d@example.org>\r\nDate: Thu, 12 Mar 2026 09:00:00 +0000\r\n\r\nShall we meet at the bridge?\r\n",
		from, strings.ToLower(from), demo.OwnerAddress, subject, n)
}

// A page that is open shows what happens, in a real browser.
func TestWhatHappensIsSeenAtOnceInABrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts Chromium")
	}
	h := newHome(t, homeOptions())
	at := homeStart.Add(time.Hour)
	first := h.arrive(letter(1, "Ada", "The first"), at)
	h.arrive(letter(2, "Bob", "The second"), at.Add(time.Minute))
	b := testkit.StartBrowser(t, testkit.Light)
	b.Open(h.server.Link().URL)
	b.Open(h.base + "/a/nora/messages")
	b.Do(chromedp.MouseEvent("mouseMoved", 5, 5)) // away from the list
	rows := func() []string {
		return testkit.Eval[[]string](b, `[...document.querySelectorAll('[data-list] .subject')].map((e) => e.textContent)`)
	}
	if got := fmt.Sprint(rows()); got != "[The second The first]" {
		t.Fatalf("at first there are %s", got)
	}

	// New mail comes by itself, with a form that works.
	h.arrive(letter(3, "Cy", "A <b>third</b>"), at.Add(2*time.Minute))
	b.Await("the third message", `document.querySelector('[data-list] .subject').textContent === 'A <b>third</b>'`)
	b.Await("that it is told", `document.getElementById('live-said') !== null`)
	b.Do(chromedp.Click(`[data-list] li:first-child button[value="important"]`))
	b.Await("its effect", `document.querySelector('[data-list] li:first-child button[value="important"]').getAttribute('aria-pressed') === 'true'`)

	// It waits while somebody is about to press a button.
	b.Do(chromedp.Focus(`[data-list] li:nth-child(2) button[value="ordinary"]`))
	h.arrive(letter(4, "Dora", "The fourth"), at.Add(3*time.Minute))
	b.Await("a button for the news", `document.getElementById('live-more')?.textContent === '1 new'`)
	if got := rows(); len(got) != 3 || got[0] == "The fourth" {
		t.Errorf("while somebody is in the list it has %q", got)
	}
	if !testkit.Eval[bool](b, `document.activeElement.matches('[data-list] li:nth-child(2) button[value="ordinary"]')`) {
		t.Error("the focus is lost")
	}
	b.Do(chromedp.Click(`#live-more`))
	b.Await("the fourth message", `document.querySelector('[data-list] .subject').textContent === 'The fourth' && !document.getElementById('live-more')`)

	// What the owner does elsewhere changes the row.
	b.Do(chromedp.MouseEvent("mouseMoved", 5, 5), chromedp.Blur(`[data-list] li:first-child a`))
	h.flag(first, `\Seen`, `\Answered`)
	b.Await("that it was answered", `[...document.querySelectorAll('[data-list] li')].find((e) => e.innerText.includes('The first')).querySelector('button[value="important"]').getAttribute('aria-pressed') === 'true'`)

	// The overview, too, with its figures and plots.
	b.Open(h.base + "/a/nora/")
	before := testkit.Eval[string](b, `document.getElementById('lessons').innerText`)
	fifth := h.arrive(letter(5, "Emil", "The fifth"), at.Add(4*time.Minute))
	b.Await("the latest decision", `document.getElementById('latest-list').innerText.includes('The fifth')`)
	h.flag(fifth, `\Seen`, `\Flagged`)
	b.Await("the latest lesson", `document.getElementById('lessons').innerText.includes('You starred The fifth')`)
	if strings.Contains(before, "The fifth") {
		t.Errorf("that was there before: %s", before)
	}
	b.Await("the verdict's last lesson", `document.getElementById('verdict').innerText.includes('The fifth')`)
	if p := b.Problems(); len(p) > 0 {
		t.Errorf("the browser complains: %q", p)
	}
}

func TestAPageSaysThatItIsNotLive(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts Chromium")
	}
	h := newHome(t, homeOptions())
	h.arrive(letter(1, "Ada", "The first"), homeStart.Add(time.Hour))
	h.serve(dashboard.Options{Users: []dashboard.User{{Name: "nora", PasswordHash: quickHash(t), Accounts: []string{"nora"}}}})
	b := testkit.StartBrowser(t, testkit.Phone)
	b.Open(h.base + "/a/nora/messages")
	signIn := func() {
		b.Do(chromedp.SendKeys(`#name`, "nora"), chromedp.SendKeys(`#password`, "correct horse"), chromedp.Click(`form .primary`))
		b.Await("the messages", `location.pathname === '/a/nora/messages' && document.querySelector('[data-list] li') !== null`)
	}
	signIn()
	b.Await("that it listens", `document.getElementById('live-state') !== null`)
	if p := b.Problems(); len(p) > 0 {
		t.Errorf("the browser complains: %q", p)
	}

	// Whoever signs out elsewhere is told here, and led back.
	h.signIn("nora")
	page := h.see("/a/nora/messages")
	form := page.form("/sign-out")
	form.Set("everywhere", "1")
	if r := h.send("POST", "/sign-out", form); r.to != "/login" {
		t.Fatalf("signing out leads to %s: %d", r.to, r.code)
	}
	b.Await("that the session has ended", `document.getElementById('live-state')?.innerText.includes('You were signed out')`)
	b.Do(chromedp.Click(`#live-state a`))
	b.Await("the page to sign in again", `document.querySelector('h1')?.innerText === 'Sign in again'`)
	signIn()

	// A daemon that stops.
	h.mu.Lock()
	server := h.server
	h.mu.Unlock()
	if err := errors.Join(server.Stop(), server.Close()); err != nil {
		t.Fatal(err)
	}
	b.Await("that nobody answers", `document.getElementById('live-state')?.innerText.includes('Not live')`)
	if !testkit.Eval[bool](b, `document.querySelector('[data-list] li') !== null`) {
		t.Error("what the page showed is gone")
	}
}
