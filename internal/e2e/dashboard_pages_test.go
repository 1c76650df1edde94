// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

var screenshots = flag.String("screenshots", "", "write a picture of each of the dashboard's pages into this directory")

// sight is something to be seen of a dashboard.
type sight struct {
	name string
	path string
	code int // of the answer; 0: 200
	// do leads there from path; nil: path is all.
	do func(*testkit.Browser)
	// apart: nobody is signed in.
	apart bool
	// link: it is of the dashboard without users.
	link bool
}

// sights are all pages, in the states that they can be in.
func (h *household) sights() []sight {
	of := func(account string, rest ...string) string { return "/a/" + account + "/" + strings.Join(rest, "/") }
	return []sight{
		{name: "login", path: "/login", apart: true},
		{name: "login-wrong", path: "/login", code: 403, apart: true, do: func(b *testkit.Browser) { h.enter(b, "nora", "wrong") }},
		{name: "login-expired", path: "/login?why=expired", apart: true},
		{name: "login-unsaved", path: "/login?why=unsaved&next=%2Fa%2Fnora%2F", apart: true},
		{name: "login-link", path: "/a/nora/", apart: true, link: true},
		{name: "login-link-unknown", path: "/link/ABCDEFGHIJKLMNOPQRSTUVWXYZ", code: 403, apart: true, link: true},
		{name: "accounts", path: "/"},
		{name: "overview", path: of(nora)},
		{name: "overview-shadow", path: of(novice)},
		{name: "overview-unreachable", path: of(cutOff)},
		{name: "overview-paused", path: of(paused)},
		{name: "first-start", path: of(fresh)},
		{name: "messages", path: of(nora, "messages")},
		{name: "messages-wrong", path: of(nora, "messages?show=wrong")},
		{name: "messages-none-found", path: of(nora, "messages?q=quetzal")},
		{name: "messages-empty", path: of(fresh, "messages")},
		{name: "messages-unreachable", path: of(cutOff, "messages")},
		{name: "messages-paused", path: of(paused, "messages")},
		{name: "messages-corrected", path: of(nora, "messages"), do: func(b *testkit.Browser) {
			b.Leave(func() { b.Click(".msgs li:nth-child(3) button[value=important]") })
		}},
		{name: "message", path: of(nora, "messages", h.message("important", false))},
		{name: "message-wrong", path: of(nora, "messages", h.message("", true))},
		{name: "message-ordinary", path: of(nora, "messages", h.message("ordinary", false))},
		{name: "message-unknown", path: of(nora, "messages", strings.Repeat("0", 32)), code: 404},
		{name: "ask", path: of(nora, "ask")},
		{name: "ask-answered", path: of(nora, "ask"), do: func(b *testkit.Browser) {
			b.Leave(func() { b.Click(".card:first-child button[value=ordinary]") })
		}},
		{name: "ask-empty", path: of(fresh, "ask")},
		{name: "words", path: of(nora, "words")},
		{name: "words-empty", path: of(fresh, "words")},
		{name: "ledger", path: of(nora, "ledger")},
		{name: "ledger-empty", path: of(fresh, "ledger")},
		{name: "ledger-undo", path: of(nora, "ledger"), do: func(b *testkit.Browser) {
			b.Leave(func() { b.Click(".undo button") })
		}},
		{name: "whatif", path: of(nora, "whatif")},
		{name: "whatif-done", path: of(nora, "whatif"), do: func(b *testkit.Browser) {
			testkit.Eval[string](b, "document.querySelector('select[name=learner]').value = 'perceptron'")
			b.Leave(func() { b.Click("form.wi button.primary") })
			b.Await("its end", "document.querySelector('#whatif-result table') && !document.querySelector('#whatif-progress progress')")
		}},
		{name: "whatif-empty", path: of(fresh, "whatif")},
		{name: "not-found", path: of("nobody"), code: 404},
	}
}

// message returns the key of the newest of Nora's messages with an outcome, whose decision
// was wrong or not.
func (h *household) message(outcome string, wrong bool) string {
	h.t.Helper()
	list, err := desk.GetMessages.Do(context.Background(), h.daemon, nora, desk.MessagesRequest{Outcome: outcome, Wrong: wrong, Most: 50})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range list.Messages {
		if m.Wrong == wrong {
			return m.Message
		}
	}
	h.t.Fatalf("there is no message that is %s (wrong: %v)", outcome, wrong)
	return ""
}

// enter fills in the page to sign in, and sends it.
func (h *household) enter(b *testkit.Browser, name, password string) {
	b.Fill("input[name=name]", name)
	b.Fill("input[name=password]", password)
	b.Leave(func() { b.Click("form button.primary") })
}

// TestEveryPageIsForEverybody: on each kind of screen, axe-core finds nothing serious,
// the browser complains of nothing, nothing has to be scrolled sideways, and a page has
// one heading, its landmarks, a language and a title.
func TestEveryPageIsForEverybody(t *testing.T) {
	t.Parallel()
	h := newHousehold(t)
	b := testkit.StartBrowser(t, testkit.Light)
	signedIn := false
	for _, s := range h.sights() {
		if !s.apart && !signedIn {
			b.Open(h.web.URL() + "login?next=%2Fa%2Fnora%2F")
			h.enter(b, "nora", householdPassword)
			signedIn = true
		}
		t.Run(s.name, func(t *testing.T) {
			b := b.For(t)
			b.Show(testkit.Light)
			base := h.web.URL()
			if s.link {
				base = h.alone.URL()
			}
			b.Open(strings.TrimSuffix(base, "/") + s.path)
			if s.do != nil {
				s.do(b)
			}
			code := testkit.Eval[int](b, "performance.getEntriesByType('navigation')[0].responseStatus")
			if want := cmp.Or(s.code, http.StatusOK); code != want {
				t.Fatalf("the server answered with %d, want %d", code, want)
			}
			for _, screen := range []testkit.Screen{testkit.Light, testkit.Dark, testkit.Phone} {
				b.Show(screen)
				h.take(b, s, screen)
				var rules []string // all
				if screen == testkit.Dark {
					rules = []string{"color-contrast"} // nothing else differs from Light
				}
				for _, v := range b.Violations(rules...) {
					if v.Impact == "serious" || v.Impact == "critical" {
						t.Errorf("%s: %s (%s): %s", screen.Name, v.Rule, v.Impact, strings.Join(v.Where, "\n"))
					}
				}
			}
			for _, width := range []int64{390, 320} {
				narrow := testkit.Phone
				narrow.Width = width
				b.Show(narrow)
				if wide := testkit.Eval[int](b, "document.documentElement.scrollWidth"); wide > int(width) {
					t.Errorf("it is %d wide on a screen of %d: %s", wide, width, testkit.Eval[string](b, widest))
				}
			}
			if got := testkit.Eval[string](b, anatomy); got != "en, 1 h1, 1 main, titled" {
				t.Errorf("the page has: %s", got)
			}
			problems := slices.DeleteFunc(b.Problems(), func(p string) bool {
				return s.code != 0 && strings.Contains(p, fmt.Sprint("status of ", s.code)) // the page itself
			})
			if len(problems) > 0 {
				t.Errorf("the browser complains: %s", strings.Join(problems, "\n"))
			}
		})
	}
	h.byLink(t, b)
	h.set(time.Now().Add(13 * time.Hour)) // sessions are begun by the machine's clock
	b.Open(h.web.URL() + "a/nora/ledger")
	if got := testkit.Eval[string](b, "location.pathname + location.search"); got != "/login?next=%2Fa%2Fnora%2Fledger&why=expired" {
		t.Errorf("after half a day, the ledger led to %s", got)
	}
}

// byLink opens a link, pastes another, and signs out.
func (h *household) byLink(t *testing.T, b *testkit.Browser) {
	t.Helper()
	at := func(want string) {
		t.Helper()
		if got := testkit.Eval[string](b, "location.pathname"); got != want {
			t.Errorf("the browser is at %s, want %s", got, want)
		}
	}
	b.Open(h.alone.URL() + "a/nora/")
	at("/login")
	b.Fill("#link", h.alone.Link().URL)
	b.Leave(func() { b.Click("form button") })
	at("/")
	b.Open(h.alone.URL() + "a/nora/messages")
	at("/a/nora/messages")
	b.Leave(func() { b.Click(".foot button[name=everywhere]") })
	at("/login")
	b.Open(h.alone.Link().URL)
	at("/")
	b.Open(h.alone.URL() + "a/nora/")
	at("/a/nora/")
	if p := b.Problems(); len(p) > 0 {
		t.Errorf("the browser complains: %q", p)
	}
}

const (
	// anatomy says what every page must have.
	anatomy = `[document.documentElement.lang, document.querySelectorAll("h1").length + " h1", document.querySelectorAll("main").length + " main", document.title.trim() ? "titled" : "no title"].join(", ")`
	// widest names what sticks out of the screen.
	widest = `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.tagName + "." + e.getAttribute("class") + " " + e.textContent.trim().slice(0, 40)).join("; ")`
)

// take takes a picture, where pictures are wanted.
func (h *household) take(b *testkit.Browser, s sight, screen testkit.Screen) {
	if *screenshots == "" {
		return
	}
	if err := os.MkdirAll(*screenshots, 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screenshots, s.name+"-"+screen.Name+".png"), b.Picture(), 0o644); err != nil {
		h.t.Fatal(err)
	}
}
