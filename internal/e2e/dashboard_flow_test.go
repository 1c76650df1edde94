// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// secretSubject is on the server, and must be nowhere else.
const secretSubject = "Zwölf Boxkämpfer jagen Viktor"

// visit is an owner at the dashboard of a running hinged, with their mailbox on a Dovecot.
type visit struct {
	*testing.T
	site  *site
	owner *testkit.Owner
	base  string // of the dashboard's addresses, without / at the end
	come  uint64 // messages that the daemon is to know
	mail  *testkit.Mail
	from  string // the address of a sender whose mail came
}

// newVisit has hinged learn from the past of a mailbox, and start with a dashboard.
func newVisit(t *testing.T) *visit {
	t.Helper()
	v := &visit{T: t, site: newSite(t, quick), mail: testkit.NewMail(31)}
	v.owner = v.site.imap.Owner(t)
	t.Cleanup(v.owner.Close)
	v.base = "http://" + v.site.withDashboard("", "")
	v.come = uint64(lived(v.owner, 30, 150))
	if r := v.site.bootstrap("--account", "me"); !r.Complete {
		t.Fatalf("bootstrap: %+v", r)
	}
	v.site.start()
	v.await("the mailbox read")
	for range 8 { // what there is to see and to be asked about
		m := v.mail.Next()
		v.from = m.From
		v.deliver(m.Raw)
	}
	v.await("what came first")
	return v
}

// me is the status of the owner's account.
func (v *visit) me() desk.AccountStatus {
	a, _ := v.site.status()
	return a
}

// await waits until all messages are known, and all marks set.
func (v *visit) await(what string) {
	v.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		a := v.me()
		if a.Connected && a.Messages >= v.come && a.MarksIntended == 0 {
			return
		}
		if time.Now().After(deadline) {
			v.Fatalf("never saw %s: %+v, want %d messages\n%s", what, a, v.come, tail(v.site.log.String()))
		}
	}
}

// deliver has a message arrive now, and returns its UID and key.
func (v *visit) deliver(raw []byte) (uid uint32, key string) {
	v.Helper()
	key, err := desk.KeyOf(raw, len(raw))
	if err != nil {
		v.Fatal(err)
	}
	v.come++
	return v.owner.Append("INBOX", raw, time.Now()), key
}

// important is a message that hinged marks, from somebody whose mail the owner answers.
func (v *visit) important(subject string) []byte {
	v.Helper()
	for {
		m := v.mail.Next()
		if !m.Important || strings.HasPrefix(m.Subject, "Re:") {
			continue
		}
		return []byte(strings.Replace(string(m.Raw), "Subject: "+m.Subject, "Subject: "+subject, 1))
	}
}

// markedOne delivers important messages until one is marked, and returns its UID.
func (v *visit) markedOne(subject string) uint32 {
	v.Helper()
	for range 20 {
		uid, _ := v.deliver(v.important(subject))
		if v.await("the message"); v.marked(uid) {
			return uid
		}
	}
	v.Fatal("of 20 important messages none is marked")
	return 0
}

// browser starts a Chromium in which a user has signed in.
func (v *visit) browser(t *testing.T, user, next string) *testkit.Browser {
	t.Helper()
	b := testkit.StartBrowser(t, testkit.Light)
	b.Open(v.base + "/login?next=" + url.QueryEscape(next))
	v.signIn(b, user, householdPassword)
	return b
}

func (v *visit) signIn(b *testkit.Browser, user, password string) {
	b.Fill("input[name=name]", user)
	b.Fill("input[name=password]", password)
	b.Leave(func() { b.Click("form button.primary") })
}

// here returns the path of the page that a browser shows.
func here(b *testkit.Browser) string { return testkit.Eval[string](b, "location.pathname") }

// text returns the text of all elements of a selector.
func text(b *testkit.Browser, selector string) string {
	return testkit.Eval[string](b, fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.innerText).join('\\n')", selector))
}

// questions returns where the answers to questions go.
func questions(b *testkit.Browser) []string {
	return testkit.Eval[[]string](b, "[...document.querySelectorAll('.card form')].map(e => e.action)")
}

// marked reports whether a message bears the mark on the server.
func (v *visit) marked(uid uint32) bool {
	flags, _ := v.owner.Flags("INBOX", uid)
	return slices.Contains(flags, "$important")
}

// TestTheDashboardAtWork: an owner signs in, sees a message arrive, corrects its decision
// and sees that change the figures, answers a question, undoes a mark, replays their mail
// with other settings, and signs out.
func TestTheDashboardAtWork(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	b := testkit.StartBrowser(t, testkit.Light)
	var first, second uint32 // UIDs of marked messages
	var key string           // of the first
	for _, step := range []struct {
		name string
		do   func(t *testing.T, b *testkit.Browser)
	}{
		{"a wrong password is refused, the right one leads on", func(t *testing.T, b *testkit.Browser) {
			b.Open(v.base + "/a/me/messages")
			v.signIn(b, "me", "wrong")
			if here(b) != "/login" || !strings.Contains(text(b, "main"), "Name or password is wrong.") {
				t.Errorf("at %s: %s", here(b), text(b, "main"))
			}
			v.signIn(b, "me", householdPassword)
			if here(b) != "/a/me/messages" {
				t.Fatalf("led to %s", here(b))
			}
		}},
		{"a message shows up as it is decided", func(t *testing.T, b *testkit.Browser) {
			testkit.Eval[int](b, "window.loadedOnce = 1")
			first, key = v.deliver(v.important(secretSubject))
			b.Await("the new row", fmt.Sprintf(`document.querySelector("#m-%s .subject")`, key))
			if got := text(b, "#m-"+key); !strings.Contains(got, secretSubject) {
				t.Errorf("the row says %s", got)
			}
			if !testkit.Eval[bool](b, "window.loadedOnce === 1") {
				t.Error("the page was loaded anew")
			}
			v.await("the mark")
			if !v.marked(first) {
				t.Fatal("it is not marked")
			}
		}},
		{"a correction changes the score, and the figures of whoever looks", func(t *testing.T, b *testkit.Browser) {
			other := v.browser(t, "me", "/a/me/")
			testkit.Eval[int](other, "window.loadedOnce = 1")
			figures, curves, before := text(other, "#figures"), testkit.Eval[string](other, "document.querySelector('#curves').innerHTML"), v.me()
			score := text(b, "#m-"+key+" .score")
			b.Leave(func() { b.Click("#m-" + key + " button[value=ordinary]") })
			if now := text(b, "#m-"+key+" .score"); now == score || !strings.Contains(text(b, "#m-"+key), "You said ordinary") {
				t.Errorf("the score was %s, and the row says %s", score, text(b, "#m-"+key))
			}
			if a := v.me(); a.Ordinary != before.Ordinary+1 || a.Important != before.Important {
				t.Errorf("learnt %d and %d, before it %d and %d", a.Important, a.Ordinary, before.Important, before.Ordinary)
			}
			v.await("that the mark is taken off")
			if v.marked(first) {
				t.Error("it is marked, although the owner called it ordinary")
			}
			other.Await("other figures", fmt.Sprintf("document.querySelector('#figures').innerText !== %q", figures))
			other.Await("another curve", fmt.Sprintf("document.querySelector('#curves').innerHTML !== %q", curves))
			if !testkit.Eval[bool](other, "window.loadedOnce === 1") {
				t.Error("the overview was loaded anew")
			}
			if p := other.Problems(); len(p) > 0 {
				t.Errorf("the browser complains: %q", p)
			}
		}},
		{"a question is answered", func(t *testing.T, b *testkit.Browser) {
			b.Open(v.base + "/a/me/ask")
			before, asked := v.me(), questions(b)
			b.Leave(func() { b.Click(".card:first-child button[value=important]") })
			if a := v.me(); a.Important != before.Important+1 {
				t.Errorf("%d important were learnt, before it %d", a.Important, before.Important)
			}
			if now := questions(b); len(asked) == 0 || slices.Contains(now, asked[0]) {
				t.Errorf("it asked %q, and asks %q", asked, now)
			}
		}},
		{"a mark is undone, and another stays", func(t *testing.T, b *testkit.Browser) {
			first, second = v.markedOne(secretSubject+", again"), v.markedOne("Lunch at the pier")
			b.Open(v.base + "/a/me/ledger")
			b.Leave(func() { b.Click(fmt.Sprintf("button[aria-label=%q]", "Undo the mark on "+secretSubject+", again")) })
			testkit.Until(t, func() bool { return !v.marked(first) }, "the mark is still there")
			if !v.marked(second) {
				t.Error("the other mark is gone, too")
			}
		}},
		{"other settings are tried on the past", func(t *testing.T, b *testkit.Browser) {
			b.Open(v.base + "/a/me/whatif")
			v.replay(b)
			b.Await("its end", "document.querySelector('#whatif-result table') && !document.querySelector('#whatif-progress progress')")
		}},
		{"the daemon is killed, and neither what was pressed nor the session is lost", func(t *testing.T, b *testkit.Browser) {
			const press = ".msgs li:nth-child(3) button[value=ordinary]"
			const where = "document.querySelector('.msgs li:nth-child(3)').getBoundingClientRect().top"
			b.Open(v.base + "/a/me/messages")
			top := testkit.Eval[float64](b, where)
			v.site.kill()
			b.Await("that it says so", "!document.getElementById('live-state').hidden")
			if now := testkit.Eval[float64](b, where); now != top {
				t.Errorf("what was about to be pressed moved from %v to %v", top, now)
			}
			b.Click(press)
			b.Await("that nothing was sent", "document.getElementById('unsent') !== null")
			v.site.start()
			v.await("the daemon again")
			b.Problems() // nobody answered
			b.Leave(func() { b.Click(press) })
			if got := text(b, ".msgs li:nth-child(3)"); here(b) != "/a/me/messages" || !strings.Contains(got, "You ") {
				t.Errorf("at %s the row says %s", here(b), got)
			}
		}},
		{"signing out ends the session", func(t *testing.T, b *testkit.Browser) {
			b.Leave(func() { b.Click("form[action='/sign-out'] button") })
			if here(b) != "/login" {
				t.Errorf("led to %s", here(b))
			}
		}},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(t, b.For(t)) }) {
			break
		}
	}
	problems := slices.DeleteFunc(b.Problems(), func(p string) bool { return strings.Contains(p, "status of 403") }) // the wrong password
	if len(problems) > 0 {
		t.Errorf("the browser complains: %s", strings.Join(problems, "\n"))
	}
	if err := v.site.stop(syscall.SIGTERM); err != nil {
		t.Errorf("%v\n%s", err, tail(v.site.log.String()))
	}
	for _, words := range []string{secretSubject, "Boxkämpfer", "Boxk=C3=A4mpfer", householdPassword} {
		if file := v.site.wrote(words); file != "" {
			t.Errorf("%q is in %s", words, file)
		}
	}
}

// replay has hinged kafka replay the past with other settings.
func (v *visit) replay(b *testkit.Browser) {
	testkit.Eval[string](b, "document.querySelector('select[name=threshold]').value = [...document.querySelectorAll('select[name=threshold] option')].at(-2).value")
	b.Leave(func() { b.Click("form.wi button.primary") })
}

// TestTheDashboardInOtherHands: without scripts, and by the keyboard alone.
func TestTheDashboardInOtherHands(t *testing.T) {
	t.Parallel()
	v := newVisit(t)
	t.Run("without scripts", func(t *testing.T) {
		b := testkit.StartBrowser(t, testkit.Light)
		b.Scripts(false)
		b.Open(v.base + "/a/me/messages")
		v.signIn(b, "me", householdPassword)
		before := v.me()
		row := testkit.Eval[string](b, "document.querySelector('.msgs li').id")
		b.Leave(func() { b.Click("#" + row + " button[value=important]") })
		if a := v.me(); a.Important != before.Important+1 || !strings.Contains(text(b, "#"+row), "You said important") {
			t.Errorf("%d important were learnt, before it %d; the row says %s", a.Important, before.Important, text(b, "#"+row))
		}
		b.Fill("input[name=q]", v.from)
		b.Leave(func() { b.Click("form[role=search] button") })
		if found := text(b, ".msgs .subject"); found == "" || !testkit.Eval[bool](b, "location.search.startsWith('?q=')") {
			t.Errorf("searching for %s found %q", v.from, found)
		}
		b.Leave(func() { b.Click("nav a[href$='/ask']") })
		asked := questions(b)
		b.Leave(func() { b.Click(".card:first-child button[value=later]") })
		if now := questions(b); len(asked) == 0 || slices.Contains(now, asked[0]) {
			t.Errorf("it asked %q; the first was put off, and it asks %q", asked, now)
		}
		for _, page := range []string{"", "words", "ledger"} {
			b.Open(v.base + "/a/me/" + page)
			if text(b, "h1") == "" {
				t.Errorf("the page %q has no heading", page)
			}
		}
		b.Open(v.base + "/a/me/whatif")
		v.replay(b)
		for deadline := time.Now().Add(patience); testkit.Eval[bool](b, "!!document.querySelector('#whatif-progress progress')"); {
			if time.Now().After(deadline) {
				t.Fatalf("the replay does not end: %s", text(b, "main"))
			}
			b.Leave(func() { b.Click("#whatif-progress a.btn") })
		}
		if !strings.Contains(text(b, "#whatif-result"), "Today’s") {
			t.Errorf("the replay ended with %s", text(b, "main"))
		}
		b.Leave(func() { b.Click("form[action='/sign-out'] button") })
	})
	t.Run("by the keyboard", func(t *testing.T) {
		b := testkit.StartBrowser(t, testkit.Light)
		b.Open(v.base + "/a/me/")
		tabTo(t, b, "input[name=name]")
		b.Press("me")
		tabTo(t, b, "input[name=password]")
		b.Press(householdPassword)
		b.Leave(func() { b.Press("\r") })
		b.Press("\t")
		if got := testkit.Eval[string](b, "document.activeElement.className"); got != "skip" {
			t.Errorf("the first stop is %q, want the way past the menu", got)
		}
		tabTo(t, b, "nav a[href$='/messages']")
		b.Leave(func() { b.Press("\r") })
		before := v.me()
		tabTo(t, b, ".msgs li:nth-child(2) button[value=ordinary]")
		if !testkit.Eval[bool](b, "document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle !== 'none'") {
			t.Error("nothing shows where the keyboard is")
		}
		b.Leave(func() { b.Press("\r") })
		if a := v.me(); a.Ordinary != before.Ordinary+1 {
			t.Errorf("%d ordinary were learnt, before it %d", a.Ordinary, before.Ordinary)
		}
	})
}

// tabTo presses Tab until the element of a selector has the focus.
func tabTo(t *testing.T, b *testkit.Browser, selector string) {
	t.Helper()
	for range 200 {
		if testkit.Eval[bool](b, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
		b.Press("\t")
	}
	t.Fatalf("Tab never comes to %s", selector)
}

// wrote returns a file of the daemon's that has these words, or its log; "" for none.
func (s *site) wrote(words string) (file string) {
	s.t.Helper()
	if strings.Contains(s.log.String(), words) {
		return "the log"
	}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(words)) {
			file = path
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return file
}
