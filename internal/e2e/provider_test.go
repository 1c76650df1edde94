// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// tenant lives at a large provider, and walks through what hinged does there.
type tenant struct {
	t      *testing.T
	p      *testkit.Provider
	site   *site
	mark   string
	config string // more TOML for the connection
	junk   string
	trash  string
	sent   string
	boxes  []string // where the boss's letters arrive
	n      int
	old    uint64   // a letter of weeks ago that was read, and no more
	own    uint64   // a letter that the owner marked
	ids    []uint64 // all that were delivered
	was    desk.AccountStatus
}

// TestGmail takes a mailbox on a server that answers as Gmail does through everything.
// Neither what Gmail itself finds important nor what the owner archives teaches anything.
func TestGmail(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"$Important": "", `\Flagged`: "", "all mail": "archive = \"[Gmail]/All Mail\"\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const important = "[Gmail]/Important"
			mark := "$Important"
			if name == `\Flagged` {
				mark = name
			}
			w := &tenant{t: t, p: testkit.StartGmail(t), mark: mark, config: config, junk: "[Gmail]/Spam", trash: "[Gmail]/Trash", sent: "[Gmail]/Sent Mail"}
			w.moveIn("INBOX", important)
			w.everyWord()

			// What Gmail finds important is not the owner's word, whether it is read or not.
			for _, flags := range []string{"", `\Seen`} {
				w.nothing("Gmail's own importance", func() { w.deliver(time.Now(), w.stranger(), flags, "INBOX", important) })
			}
			w.p.Label(w.old, important)
			w.lesson("called important by its owner", true)
			// Archiving is not throwing away, whatever a mail program does for it.
			for what, archive := range map[string]func(uint64){
				"archived":                    w.p.Archive,
				"deleted with Auto-Expunge":   func(id uint64) { w.p.Delete(id, "INBOX", false) },
				"deleted without it":          func(id uint64) { w.p.Delete(id, "INBOX", true) },
				"given a label, and archived": func(id uint64) { w.p.Label(id, "[Gmail]/All Mail"); w.p.Archive(id) },
			} {
				w.nothing(what, func() { archive(w.arrives(w.stranger(), "INBOX")) })
			}
			w.expires("* BYE Session expired, please login again.")
			w.leaves()
		})
	}
}

// TestOutlook does it on a server that answers as Outlook.com does, where the star is the
// only mark.
func TestOutlook(t *testing.T) {
	t.Parallel()
	w := &tenant{t: t, p: testkit.StartOutlook(t), mark: `\Flagged`, junk: "Junk", trash: "Deleted", sent: "Sent"}
	w.moveIn("INBOX")
	w.everyWord()
	w.p.Archive(w.arrives(w.stranger(), "INBOX"))
	w.lesson("archived unread", false)
	w.nothing("read and archived", func() {
		id := w.arrives(w.stranger(), "INBOX")
		w.p.Set(id, `\Seen`)
		w.p.Archive(id)
	})
	w.expires("* BYE Session invalidated - AccessTokenExpired")
	w.leaves()
}

// moveIn fills the mailbox with a past, checks it, reads it and starts the daemon. What
// the boss writes lies in these folders.
func (w *tenant) moveIn(boxes ...string) {
	w.boxes = boxes
	dir := w.t.TempDir()
	w.site = siteFor(w.t, w.p.Login, dir, "debug", fmt.Sprintf("mark = [%q]\n", w.mark)+quick,
		"tls = \"none\"\nauth = \"xoauth2\"\npoll_interval = \"200ms\"\n"+w.config)
	date, copies, inAll := time.Now().Add(-60*24*time.Hour), 0, 0
	if w.config != "" {
		inAll = 1
	}
	for i := range 12 {
		date = date.Add(5 * time.Hour)
		flags := `\Seen \Flagged`
		if i%2 == 0 {
			flags = `\Seen \Answered`
		}
		w.p.Deliver(letter(1000+2*i, boss, w.p.User, "urgent matter"), date, flags, boxes...)
		w.p.Deliver(letter(1001+2*i, news, "list@example.net", "weekly newsletter"), date, "", w.trash)
		copies += len(boxes) + inAll + 1
	}
	w.old = w.p.Deliver(letter(2000, "aunt@example.net", w.p.User, "the garden"), date, `\Seen`, "INBOX")
	copies += 1 + inAll
	before := w.p.Look()
	out, err := w.site.hinged("check", "--config", w.site.config)
	if err != nil || strings.Contains(out, "FAIL") || !strings.Contains(out, "sent is "+w.sent) {
		w.t.Fatalf("check: %v\n%s", err, out)
	}
	w.t.Logf("check:\n%s", out)
	if now := w.p.Look(); now != before {
		w.t.Fatalf("check left\n%s\nof\n%s", now, before)
	}
	if r := w.site.bootstrap(); r.Read != copies || r.Messages != 25 || r.Important != 12 || w.p.Look() != before {
		w.t.Fatalf("bootstrap read %d messages, knows %d, %d of them important; want %d, 25 and 12", r.Read, r.Messages, r.Important, copies)
	}
	w.site.start()
	w.was = w.site.until("the mailbox open", func(a desk.AccountStatus) bool {
		return a.Connected && len(a.Mailboxes) >= 4 && a.Pending == 0
	})
	if w.was.Important != 12 || w.was.Ordinary != 12 {
		w.t.Fatalf("learnt %d important and %d ordinary, want 12 and 12", w.was.Important, w.was.Ordinary)
	}
}

// deliver delivers a letter and waits until it was taken in and, if it is important,
// marked.
func (w *tenant) deliver(date time.Time, from, flags string, folders ...string) uint64 {
	w.t.Helper()
	w.n++
	words := map[string]string{boss: "urgent matter", news: "weekly newsletter"}[from]
	if words == "" {
		words = fmt.Sprintf("matter%d", w.n)
	}
	id := w.p.Deliver(letter(w.n, from, w.p.User, words), date, flags, folders...)
	w.ids = append(w.ids, id)
	w.was.Messages++
	w.site.until("a letter", func(a desk.AccountStatus) bool { return a.Messages == w.was.Messages && a.MarksIntended == 0 })
	return id
}

func (w *tenant) arrives(from string, folders ...string) uint64 {
	w.t.Helper()
	return w.deliver(time.Now().Add(-10*time.Minute), from, "", folders...)
}

// stranger is somebody who has not written before.
func (w *tenant) stranger() string { return fmt.Sprintf("stranger%d@example.net", w.n) }

// lesson waits until exactly one more lesson was learnt, and demands that it is of this
// class.
func (w *tenant) lesson(what string, important bool) {
	w.t.Helper()
	w.site.wantLesson(&w.was, what, important)
}

// nothing does something that must teach nothing. A star for another letter afterwards is
// the only lesson: what was said before it is learnt before it.
func (w *tenant) nothing(what string, do func()) {
	w.t.Helper()
	do()
	id := w.arrives(w.stranger(), "INBOX")
	time.Sleep(time.Second) // for three looks at the other folders, and for the settle window
	w.p.Set(id, `\Answered`)
	w.lesson("a star after this was "+what, true)
}

// everyWord goes through everything that the owner can say, and through our own mark.
func (w *tenant) everyWord() {
	id := w.arrives(boss, w.boxes...)
	if flags := w.flags(id); !slices.Equal(flags, []string{w.mark}) {
		w.t.Fatalf("the boss's letter has the flags %q, want the mark", flags)
	}
	w.p.Clear(id, w.mark)
	w.lesson("the mark taken off", false)

	id = w.arrives(news, "INBOX")
	w.own = id
	w.p.Set(id, w.mark)
	w.lesson("the owner's own mark", true)

	w.p.Set(w.arrives(w.stranger(), "INBOX"), `\Answered`)
	w.lesson("an answer, by its flag", true)

	w.arrives(w.stranger(), "INBOX")
	answered := w.n
	w.n++
	w.p.Deliver(letter(w.n, w.p.User, "stranger@example.net", "re: that matter", fmt.Sprintf("In-Reply-To: <l%d@example.com>", answered)), time.Now(), `\Seen`, w.sent)
	w.was.Messages++
	w.lesson("an answer, by the copy in Sent", true)

	id = w.arrives(w.stranger(), "INBOX")
	w.p.Move(id, "INBOX", w.junk)
	w.lesson("moved to Junk", false)
	w.p.Move(id, w.junk, "INBOX")
	w.site.wantTakenBack(&w.was, "what was moved to Junk taken back")

	id = w.arrives(w.stranger(), w.junk)
	w.p.Move(id, w.junk, "INBOX")
	w.lesson("taken out of Junk, where it was delivered", true)

	id = w.arrives(w.stranger(), "INBOX")
	w.p.Move(id, "INBOX", w.trash)
	w.lesson("thrown away unread", false)
}

// flags are those of a message, less what names the daemon.
func (w *tenant) flags(id uint64) []string {
	return slices.DeleteFunc(w.p.Flags(id), func(f string) bool { return ingest.IsCompanion(ingest.CanonicalFlag(f)) })
}

// expires has the token end. The next one lies where the last one was.
func (w *tenant) expires(bye string) {
	testkit.Write(w.t, filepath.Join(w.site.dir, "password"), "the second token\n")
	w.p.Expire("the second token", bye)
	w.arrives(boss, w.boxes...)
}

// leaves takes every mark back. The owner's own stay.
func (w *tenant) leaves() {
	w.t.Helper()
	out, err := w.site.hinged("undo", "--marks", "--config", w.site.config)
	if err != nil {
		w.t.Fatalf("undo: %v\n%s", err, out)
	}
	defer func() {
		for i, id := range w.ids {
			if w.t.Failed() {
				w.t.Logf("letter %d of %d, own %v: in %v with %v", i, len(w.ids), id == w.own, w.p.Places(id), w.p.Flags(id))
			}
		}
	}()
	w.site.until("every mark taken back", func(desk.AccountStatus) bool {
		return !slices.ContainsFunc(w.ids, func(id uint64) bool {
			return w.watched(id) && slices.Contains(w.flags(id), w.mark) != (id == w.own)
		})
	})
	if st := w.site.until("all settled", func(a desk.AccountStatus) bool { return a.Pending == 0 }); st.Important != w.was.Important || st.Ordinary != w.was.Ordinary {
		w.t.Errorf("learnt %d and %d, before %d and %d\n%s", st.Important, st.Ordinary, w.was.Important, w.was.Ordinary, tail(w.site.log.String()))
	}
}

// watched reports whether a message lies where hinged looks for marks.
func (w *tenant) watched(id uint64) bool {
	return slices.ContainsFunc(w.p.Places(id), func(folder string) bool {
		return folder == "INBOX" || w.config != "" && folder == "[Gmail]/All Mail"
	})
}
