// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

const days = 24 * time.Hour

// open names the letters without an answer after three days: the owed ones, a bar, the awaited ones.
func (w *world) unanswered(names map[store.MessageKey]string) (list []string) {
	owed, awaited := w.f.Messages.Open(w.moment(), 3)
	for _, o := range owed {
		if name := names[o.Message]; name != "" {
			list = append(list, name)
		}
	}
	list = append(list, "|")
	for _, o := range awaited {
		list = append(list, names[o.Message])
	}
	return list
}

// correspondence is a taught world in which letters have names.
type correspondence struct {
	*world
	names map[store.MessageKey]string
}

func newCorrespondence(t testing.TB) *correspondence {
	t.Helper()
	o := testOptions()
	o.Dual.Horizon = 0 // what is decided important stays so
	w := taught(t, o)
	w.personal = true
	w.open("Archive", ingest.RoleArchive, 1)
	return &correspondence{w, map[store.MessageKey]string{}}
}

func (c *correspondence) put(name, mailbox, from, to, words string, headers ...string) letter {
	c.t.Helper()
	l, _ := c.deliver(mailbox, mail(name+"@x", from, to, words, headers...))
	c.names[l.key] = name
	return l
}

func (c *correspondence) urges(name string, headers ...string) letter {
	return c.put(name, "INBOX", "boss@example.com", owner, "urgent "+name, headers...)
}

func (c *correspondence) asks(name string, headers ...string) letter {
	return c.put(name, "Sent", owner, "colleague@example.com", "can you? "+name, headers...)
}

func (c *correspondence) want(what string, want ...string) {
	c.t.Helper()
	if got := c.unanswered(c.names); !slices.Equal(got, want) {
		c.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func replyTo(name string) string { return fmt.Sprintf("In-Reply-To: <%s@x>", name) }

func TestAnImportantLetterIsOwedAnAnswerAfterSomeDays(t *testing.T) {
	for name, ends := range map[string]func(c *correspondence, l letter){
		"an answer": func(c *correspondence, _ letter) {
			c.put("re", "Sent", owner, "boss@example.com", "Re: urgent", replyTo("a"))
		},
		"an answer to a later letter of the thread": func(c *correspondence, _ letter) {
			c.put("b", "INBOX", "boss@example.com", owner, "newsletter", replyTo("a"))
			c.put("re", "Sent", owner, "boss@example.com", "Re: urgent", replyTo("b"))
		},
		`\Answered`:    func(c *correspondence, l letter) { c.flag(l, "$Important", `\Answered`, `\Seen`) },
		"muting":       func(c *correspondence, l letter) { c.flag(l, "$Important", "$Muted") },
		"the mark off": func(c *correspondence, l letter) { c.flag(l) },
		"ordinary": func(c *correspondence, l letter) {
			c.apply(&filter.Labelled{At: c.moment(), Message: l.key, Label: model.Ordinary})
		},
		"to Trash":        func(c *correspondence, l letter) { c.move(l, "Trash", "$Important", `\Seen`) },
		"to Junk":         func(c *correspondence, l letter) { c.move(l, "Junk", "$Important") },
		"to Archive":      func(c *correspondence, l letter) { c.move(l, "Archive", "$Important", `\Seen`) },
		"deleted":         func(c *correspondence, l letter) { c.vanish(l) },
		"done":            func(c *correspondence, l letter) { c.apply(&filter.Closed{At: c.moment(), Message: l.key}) },
		"three months":    func(c *correspondence, _ letter) { c.wait(filter.OpenDays * days) },
		"a forgotten one": func(c *correspondence, l letter) { c.rewrite(&past.ForgetRequested{At: c.moment(), Key: l.key}) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCorrespondence(t)
			c.marks = nil
			l := c.urges("a")
			c.done(c.marks[0])
			c.wait(3*days - time.Second)
			c.want("a moment too early", "|")
			c.wait(time.Second)
			c.want("after three days", "a", "|")
			ends(c, l)
			c.want("after "+name, "|")
			wantSameDigest(t, "replayed", c.f, c.replayed())
		})
	}
}

func TestWhatStaysOwed(t *testing.T) {
	for name, stays := range map[string]func(c *correspondence, l letter){
		"a forward": func(c *correspondence, _ letter) {
			c.put("fwd", "Sent", owner, "x@example.com", "Fwd: urgent a", replyTo("a"))
		},
		"an automatic answer": func(c *correspondence, _ letter) {
			c.put("ooo", "Sent", owner, "boss@example.com", "Re: urgent a", replyTo("a"), "Auto-Submitted: auto-replied")
		},
		"a draft": func(c *correspondence, _ letter) {
			c.put("draft", "Drafts", owner, "boss@example.com", "Re: urgent a", replyTo("a"))
		},
		"reading":               func(c *correspondence, l letter) { c.flag(l, "$Important", `\Seen`) },
		"a folder of their own": func(c *correspondence, l letter) { c.move(l, "Keep", "$Important", `\Seen`) },
		"another letter":        func(c *correspondence, _ letter) { c.urges("b", replyTo("a")) },
		"done and more mail": func(c *correspondence, l letter) {
			c.apply(&filter.Closed{At: c.moment(), Message: l.key})
			c.want("done", "|")
			c.put("b", "INBOX", "boss@example.com", owner, "newsletter", replyTo("a"))
		},
		"unlearning": func(c *correspondence, _ letter) {
			c.rewrite(&past.UnlearnRequested{At: c.moment(), Since: c.moment()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCorrespondence(t)
			c.marks = nil
			l := c.urges("a")
			c.done(c.marks[0])
			c.wait(3 * days)
			stays(c, l)
			c.want("after "+name, "a", "|")
			wantSameDigest(t, "replayed", c.f, c.replayed())
		})
	}
}

func TestWhatIsOwedNoAnswer(t *testing.T) {
	c := newCorrespondence(t)
	c.put("ordinary", "INBOX", "news@example.net", owner, "newsletter")
	c.put("no-reply", "INBOX", "no-reply@example.com", owner, "urgent")
	c.put("robot", "INBOX", "boss@example.com", owner, "urgent", "Auto-Submitted: auto-generated")
	c.put("bulk", "INBOX", "boss@example.com", owner, "urgent", "List-Unsubscribe: <mailto:x@example.com>", "Precedence: bulk")
	c.put("list", "INBOX", "boss@example.com", "list@example.com", "urgent", "List-Post: <mailto:list@example.com>")
	c.put("cc", "INBOX", "boss@example.com", "other@example.com", "urgent")
	c.put("junk", "Junk", "boss@example.com", owner, "urgent")
	starred := c.put("starred", "INBOX", "boss@example.com", "other@example.com", "newsletter")
	c.flag(starred, `\Flagged`)
	c.urges("to the owner")
	c.wait(4 * days)
	c.want("after four days", "to the owner", "starred", "|")
}

func TestAQuestionOfTheOwnersWaitsForItsAnswer(t *testing.T) {
	for name, of := range map[string]struct {
		do    func(c *correspondence, l letter)
		waits bool
	}{
		"nothing": {func(*correspondence, letter) {}, true},
		"an answer": {func(c *correspondence, _ letter) {
			c.put("re", "INBOX", "colleague@example.com", owner, "newsletter", replyTo("q"))
		}, false},
		"out of office": {func(c *correspondence, _ letter) {
			c.put("ooo", "INBOX", "colleague@example.com", owner, "newsletter", replyTo("q"), "Auto-Submitted: auto-replied")
		}, true},
		"a bounce": {func(c *correspondence, _ letter) {
			c.put("bounce", "INBOX", "mailer-daemon@example.com", owner, "newsletter", replyTo("q"), "Return-Path: <>")
		}, true},
		"an answer in Junk": {func(c *correspondence, _ letter) {
			c.put("re", "Junk", "colleague@example.com", owner, "newsletter", replyTo("q"))
		}, true},
		"a reminder": {func(c *correspondence, _ letter) {
			c.put("again", "Sent", owner, "colleague@example.com", "soon", replyTo("q"))
		}, true},
		"done":       {func(c *correspondence, l letter) { c.apply(&filter.Closed{At: c.moment(), Message: l.key}) }, false},
		"deleted":    {func(c *correspondence, l letter) { c.vanish(l) }, false},
		"to Trash":   {func(c *correspondence, l letter) { c.move(l, "Trash", `\Seen`) }, false},
		"to Archive": {func(c *correspondence, l letter) { c.move(l, "Archive", `\Seen`) }, true},
		"everything forgotten": {func(c *correspondence, _ letter) {
			c.rewrite(&past.ForgetRequested{At: c.moment(), Before: c.moment()})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCorrespondence(t)
			l := c.asks("q")
			c.put("no question", "Sent", owner, "colleague@example.com", "soon")
			c.put("to myself", "Sent", owner, owner, "what did I want?")
			c.wait(3*days - time.Second)
			c.want("a moment too early", "|")
			c.wait(time.Second)
			c.want("after three days", "|", "q")
			c.names[l.key] = "q"
			of.do(c, l)
			want := []string{"|"}
			if of.waits {
				want = append(want, "q")
			}
			c.want("after "+name, want...)
			wantSameDigest(t, "replayed", c.f, c.replayed())
		})
	}
}

// Two connections watch INBOX and Sent, and after an absence one is read after the other.
func TestLettersStandInTheirThreadInTheOrderInWhichTheyCame(t *testing.T) {
	c := newCorrespondence(t)
	at := func(mailbox, name, from, to string, age time.Duration, headers ...string) {
		l, _ := c.arrived(mailbox, mail(name+"@x", from, to, "urgent? "+name, headers...), filter.Arrived{At: store.MomentOf(c.now.Add(-age))})
		c.names[l.key] = name
	}
	c.wait(10 * days)
	at("INBOX", "answer", "colleague@example.com", owner, 5*days, replyTo("question"))
	at("INBOX", "request", "boss@example.com", owner, 4*days)
	at("Sent", "question", owner, "colleague@example.com", 6*days)
	at("Sent", "reply", owner, "boss@example.com", 5*days, replyTo("answer"))
	at("Sent", "later", owner, "boss@example.com", 4*days, replyTo("answer"))
	c.want("found late", "request", "|", "reply")
}

func TestOfAThreadOneLetterIsListed(t *testing.T) {
	c := newCorrespondence(t)
	c.urges("a")
	c.wait(time.Hour)
	c.urges("b", replyTo("a"))
	c.wait(time.Hour)
	c.urges("c")
	c.wait(4 * days)
	c.want("three letters, two threads", "c", "a", "|")
}

func TestWithoutAFolderOfSentMailNothingIsAwaited(t *testing.T) {
	c := newCorrespondence(t)
	if !c.f.Messages.KeepsSent() {
		t.Error("Sent is not known")
	}
	c.open("Sent", ingest.RoleOther, 1)
	if c.f.Messages.KeepsSent() {
		t.Error("it is known, though it is none")
	}
}

func TestTheListOfAStream(t *testing.T) {
	o := testOptions()
	w := &world{t: t, features: filter.Memory{}, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	var err error
	w.f, err = filter.New(store.NewState(), w.features)
	testkit.OK(t, err)
	w.reader, err = featurize.New(o.Featurize)
	testkit.OK(t, err)
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	names := map[store.MessageKey]string{}
	put := func(name, from, to, words string, own bool, headers ...string) {
		m := w.reader.Read(mail(name+"@x", from, to, words, headers...))
		meta := filter.NewMeta(m)
		if own {
			meta = meta.ByOwner()
		}
		names[meta.Key] = name
		w.apply(&filter.Arrived{At: w.moment(), Meta: meta, Message: m})
	}
	put("question", owner, "colleague@example.com", "can you?", true)
	put("answered", owner, "other@example.com", "can you?", true)
	put("answer", "other@example.com", owner, "yes", false, replyTo("answered"))
	put("request", "boss@example.com", owner, "urgent", false)
	w.apply(&filter.Labelled{At: w.moment(), ID: filter.IDOf("request@x"), Label: model.Important, Source: store.SourceFlagged, Waits: true})
	w.now = w.now.Add(3 * days)
	if got := w.unanswered(names); fmt.Sprint(got) != "[request | question]" {
		t.Errorf("got %q", got)
	}
	w.apply(&filter.Labelled{At: w.moment(), ID: filter.IDOf("request@x"), Label: model.Important, Source: store.SourceAnswered, Waits: true})
	w.wait(time.Hour)
	if got := w.unanswered(names); fmt.Sprint(got) != "[| question]" {
		t.Errorf("after the answer: %q", got)
	}
}

func BenchmarkOpenAmongAHundredThousand(b *testing.B) {
	w := newWorld(b, testOptions())
	for i := range 100_000 {
		w.now = w.now.Add(time.Minute)
		raw := mail(fmt.Sprintf("a%d@x", i), "boss@example.com", owner, "urgent?")
		if i%20 == 0 {
			raw = mail(fmt.Sprintf("q%d@x", i), owner, "colleague@example.com", "can you?")
		}
		box := "INBOX"
		if i%20 == 0 {
			box = "Sent"
		}
		w.deliver(box, raw)
	}
	for b.Loop() {
		owed, awaited := w.f.Messages.Open(w.moment(), 0)
		b.ReportMetric(float64(len(owed)), "owed")
		b.ReportMetric(float64(len(awaited)), "awaited")
	}
}
