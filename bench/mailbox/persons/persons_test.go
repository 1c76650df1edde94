// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-message/mail"

	"github.com/hinged/hinged/internal/testkit"
)

// human are the kinds that people write.
var human = []string{"friend", "joke", "family", "work", "fyi", "household", "cold call", "recruiter", "customer", "supplier", "request", "committee",
	"fellow student", "teacher", "parents", "team", "mailing list", "school letter", "doctor's letter", "tradesman", "stranger"}

// lives are the whole lives that were made, by name and seed.
var lives = map[string]*Life{}

// made is Make of a whole life, made once.
func made(name string, seed uint64) *Life {
	key := fmt.Sprint(name, seed)
	if lives[key] == nil {
		lives[key] = Make(name, seed, 1520)
	}
	return lives[key]
}

// counts are of the messages of others.
type counts struct {
	n, human, wanted, junk, unasked                float64
	read, wantedRead, otherRead, answered, starred float64
	deleted, forwarded, junked                     float64
}

func count(l *Life) (c counts) {
	for _, m := range l.Mail {
		if m.Folder == Sent {
			continue
		}
		did := func(d Do) bool { return slices.ContainsFunc(m.Acts, func(a Act) bool { return a.Do == d }) }
		add := func(to *float64, yes bool) {
			if yes {
				*to++
			}
		}
		c.n++
		add(&c.human, slices.Contains(human, m.Kind))
		add(&c.wanted, m.Wanted)
		add(&c.junk, m.Folder == Junk)
		add(&c.unasked, m.Kind == "spam" || m.Kind == "phishing")
		add(&c.read, did(Read))
		add(&c.wantedRead, m.Wanted && did(Read))
		add(&c.otherRead, !m.Wanted && did(Read))
		add(&c.answered, did(Answer))
		add(&c.starred, did(Star))
		add(&c.deleted, did(Delete))
		add(&c.forwarded, did(Forward))
		add(&c.junked, did(ToJunk))
	}
	return c
}

func TestASeedAlwaysMakesTheSameBytes(t *testing.T) {
	for _, name := range Names() {
		a, b, other := Make(name, 7, 300), Make(name, 7, 300), Make(name, 8, 300)
		if len(a.Mail) != len(b.Mail) {
			t.Fatalf("%s: %d and %d messages", name, len(a.Mail), len(b.Mail))
		}
		for i, m := range a.Mail {
			if !bytes.Equal(m.Raw, b.Mail[i].Raw) || !slices.Equal(m.Acts, b.Mail[i].Acts) || m.Wanted != b.Mail[i].Wanted {
				t.Fatalf("%s: message %d differs", name, i)
			}
		}
		if bytes.Equal(a.Mail[0].Raw, other.Mail[0].Raw) {
			t.Errorf("%s: another seed makes the same life", name)
		}
	}
}

func TestFewerArrivalsAreTheEndOfTheSameLife(t *testing.T) {
	long, short := made("office", 1), Make("office", 1, 130)
	tail := long.Mail[len(long.Mail)-len(short.Mail):]
	for i, m := range short.Mail {
		if !bytes.Equal(m.Raw, tail[i].Raw) {
			t.Fatalf("message %d differs", i)
		}
	}
	if c := count(short); c.n != 130 {
		t.Errorf("got %.0f messages of others, want 130", c.n)
	}
	if c := count(Make("office", 1, 2000)); c.n != 2000 {
		t.Errorf("got %.0f messages of others, want 2000", c.n)
	}
}

// share is a range, both ends included.
type share struct{ lo, hi float64 }

func TestSharesAreAsDocPromises(t *testing.T) {
	want := map[string]struct{ machine, wanted, answered, wantedRead, otherRead share }{
		"family":    {share{.76, .88}, share{.22, .36}, share{.06, .15}, share{.85, .97}, share{.15, .35}},
		"office":    {share{.50, .72}, share{.22, .42}, share{.07, .18}, share{.85, .97}, share{.35, .60}},
		"phone":     {share{.80, .93}, share{.20, .34}, share{0, 0}, share{.80, .96}, share{.18, .38}},
		"shop":      {share{.28, .50}, share{.52, .74}, share{.36, .52}, share{.85, .97}, share{.30, .58}},
		"student":   {share{.78, .90}, share{.18, .32}, share{.04, .12}, share{.80, .96}, share{.28, .52}},
		"official":  {share{.28, .50}, share{.42, .62}, share{.22, .38}, share{.85, .98}, share{.38, .65}},
		"retired":   {share{.70, .86}, share{.18, .34}, share{.03, .10}, share{.93, 1}, share{.88, 1}},
		"developer": {share{.64, .84}, share{.22, .38}, share{.04, .14}, share{.97, 1}, share{.92, 1}},
	}
	for _, name := range Names() {
		w := want[name]
		for seed := range uint64(2) {
			l := made(name, seed)
			c := count(l)
			for what, x := range map[string]struct {
				got  float64
				want share
			}{
				"machine mail": {1 - c.human/c.n, w.machine}, "wanted": {c.wanted / c.n, w.wanted}, "answered": {c.answered / c.n, w.answered},
				"wanted mail read": {c.wantedRead / c.wanted, w.wantedRead}, "other mail read": {c.otherRead / (c.n - c.wanted), w.otherRead},
				"starred": {c.starred / c.n, share{.005, .05}}, "deleted": {c.deleted / c.n, share{.08, .6}}, "in Junk": {c.junk / c.n, share{.01, .1}},
				"spam and phishing": {c.unasked / c.n, share{.02, .12}}, "takes off": {l.TakesOff, share{.2, .5}},
				"days": {l.Mail[len(l.Mail)-1].At.Sub(l.Mail[0].At).Hours() / 24, share{325, 450}},
			} {
				if x.got < x.want.lo || x.got > x.want.hi {
					t.Errorf("%s, seed %d, %s: got %.3f, want %v", name, seed, what, x.got, x.want)
				}
			}
		}
	}
}

func TestEveryMessageParsesAndSaysWhatItIs(t *testing.T) {
	addr := regexp.MustCompile(`[\w.+-]+@[\w.-]*\w|https?://[^\s"<>]+`)
	for _, name := range Names() {
		l := made(name, 1)
		for i, m := range l.Mail {
			if i > 0 && m.At.Before(l.Mail[i-1].At) {
				t.Fatalf("%s %d: not in order of time", name, i)
			}
			r, err := mail.CreateReader(bytes.NewReader(m.Raw))
			if err != nil {
				t.Fatalf("%s %d: %v\n%s", name, i, err, m.Raw)
			}
			if id, err := r.Header.MessageID(); err != nil || id == "" {
				t.Errorf("%s %d: message ID %q: %v", name, i, id, err)
			}
			from, err := r.Header.AddressList("From")
			if err != nil || len(from) != 1 {
				t.Errorf("%s %d: From: %v %v", name, i, from, err)
			}
			if to, err := r.Header.AddressList("To"); err != nil || len(to) == 0 {
				t.Errorf("%s %d: To: %v %v", name, i, to, err)
			}
			if own := slices.Contains(l.Owner, from[0].Address); own != (m.Folder == Sent) && m.Kind != "customer" && m.Kind != "form spam" {
				t.Errorf("%s %d: from %s in %s", name, i, from[0].Address, m.Folder)
			}
			if s, err := r.Header.Subject(); err != nil || strings.ContainsAny(s, "{}") {
				t.Errorf("%s %d: subject %q: %v", name, i, s, err)
			}
			for {
				p, err := r.NextPart()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s %d: %v", name, i, err)
				}
				h, inline := p.Header.(*mail.InlineHeader)
				body, err := io.ReadAll(p.Body)
				if err != nil {
					t.Fatalf("%s %d: %v", name, i, err)
				}
				if !inline {
					continue
				}
				if kind, _, _ := h.ContentType(); kind == "text/plain" && bytes.ContainsAny(body, "¶↵{}") {
					t.Errorf("%s %d: not expanded: %s", name, i, body)
				}
				for _, a := range addr.FindAllString(string(body), -1) {
					host := a[strings.LastIndexByte(a, '@')+1:]
					if u, err := url.Parse(a); err == nil && u.Host != "" {
						host = u.Hostname()
					}
					if !strings.HasSuffix(host, ".example") && host != "www.w3.org" {
						t.Errorf("%s %d: the address %s is not of .example", name, i, a)
					}
				}
			}
		}
	}
}

func TestNobodyWantsPhishingAndEverybodyGetsIt(t *testing.T) {
	for _, name := range Names() {
		n := 0
		for seed := range uint64(2) {
			for _, m := range made(name, seed).Mail {
				if m.Kind == "phishing" {
					n++
				}
				if m.Wanted && (m.Kind == "phishing" || m.Kind == "spam" || m.Kind == "form spam") {
					t.Errorf("%s wants %s", name, m.Kind)
				}
			}
		}
		if n < 15 {
			t.Errorf("%s: %d phishing messages in two lives", name, n)
		}
	}
}

func TestWhatMustBeFoundComesToEachPerson(t *testing.T) {
	for _, name := range Names() {
		n := map[string]int{}
		for _, m := range made(name, 1).Mail {
			if m.Wanted {
				n[m.Kind]++
			}
		}
		for _, k := range Kinds {
			if k.MustFind && n[k.Name] < 3 {
				t.Errorf("%s wants only %d of kind %s in a year", name, n[k.Name], k.Name)
			}
		}
	}
}

func TestActsComeAfterTheMailInOrderAndEndWithAMove(t *testing.T) {
	for _, name := range Names() {
		l := made(name, 0)
		for i, m := range l.Mail {
			last := m.At
			for k, a := range m.Acts {
				if a.At.Before(last) {
					t.Fatalf("%s %d: act %d comes too early", name, i, k)
				}
				last = a.At
				if (a.Do == Delete || a.Do == ToJunk || a.Do == ToArchive || a.Do == ToFolder) && k != len(m.Acts)-1 {
					t.Fatalf("%s %d: acts after a move: %v", name, i, m.Acts)
				}
			}
			if m.Folder == Sent && (len(m.Acts) > 0 || m.Wanted) {
				t.Errorf("%s %d: acts on the owner's own mail", name, i)
			}
		}
	}
}

// An answer in Sent belongs to each Answer, and refers to the message.
func TestEachAnswerLiesInSent(t *testing.T) {
	for _, name := range []string{"family", "shop"} {
		l := made(name, 1)
		sent := map[string]bool{}
		head := func(m Mail, key string) string {
			r, err := mail.CreateReader(bytes.NewReader(m.Raw))
			testkit.OK(t, err)
			return r.Header.Get(key)
		}
		for _, m := range l.Mail {
			if m.Folder == Sent {
				sent[head(m, "In-Reply-To")] = true
			}
		}
		for i, m := range l.Mail {
			if slices.ContainsFunc(m.Acts, func(a Act) bool { return a.Do == Answer }) && !sent[head(m, "Message-Id")] {
				t.Errorf("%s %d (%s): answered, and no answer is there", name, i, m.Kind)
			}
		}
	}
}
