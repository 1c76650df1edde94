// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/store"
)

const poisonServer, poisonTrue, poisonMails = "mx.example.org", 40, 20 // important messages after an attack, and messages of one

// poisoned is an account whose owner has judged 200 messages. The important ones come from four
// colleagues; where list is true, they and a part of the ordinary ones come through a mailing list
// from 30 members. Ordinary mail of strangers is spam, or about the matters of important mail.
type poisoned struct {
	*world
	list bool
}

// text returns lines of ten words, of size words of the matter and as many of all mail.
func text(matter string, seed, lines, size int) (out string) {
	for i := range lines * 10 {
		word := []string{"common", matter, matter}[i%3] + letters((seed*31+i*i*7+i*13)%size)
		out += word + []string{" ", " \r\n"}[i%10/9]
	}
	return out
}

// letters writes a number in letters, as a number is no word.
func letters(n int) string { return string([]rune{'a' + rune(n/26%26), 'a' + rune(n%26)}) }

var poisonMatters = []string{"contract", "budget", "kernel", "harbour"}

// poisonMail writes a message whose domain its server vouches for.
func poisonMail(id, from, subject, text string, headers ...string) []byte {
	_, domain, _ := strings.Cut(from, "@")
	header := append([]string{
		fmt.Sprintf("Authentication-Results: %s; dkim=pass header.d=%s; dmarc=pass header.from=%[2]s", poisonServer, domain),
		"From: " + from, "To: " + owner, "Subject: " + subject, "Message-ID: <" + id + ">",
	}, headers...)
	return []byte(strings.Join(header, "\r\n") + "\r\n\r\n" + text)
}

func (p *poisoned) important(i int) (subject, body string, raw []byte) {
	matter := poisonMatters[i%4]
	from, through := p.sender(i)
	subject, body = fmt.Sprintf("%s%s %[1]s%s", matter, letters(i%40), letters(i*7%40)), text(matter, i, 25, 80)
	return subject, body, poisonMail(fmt.Sprintf("i%d@x", i), from, subject, body, through...)
}

func (p *poisoned) sender(i int) (from string, through []string) {
	if p.list {
		return fmt.Sprintf("member%d@isp%[1]d.example", i*7%30), []string{"List-Id: <dev.lists.example>", "List-Post: <mailto:dev@lists.example>"}
	}
	return fmt.Sprintf("colleague%d@example.com", i%4), nil
}

func newPoisoned(t *testing.T, believes, list bool) *poisoned {
	o := filter.DefaultOptions()
	o.Featurize.Owner, o.Shadow, o.Settle = []string{owner}, filter.ShadowOff, time.Minute
	if believes {
		o.Featurize.AuthServID = poisonServer
	}
	p := &poisoned{newWorld(t, o), list}
	for i := range 100 {
		p.now = p.now.Add(3 * time.Hour)
		subject, _, raw := p.important(i)
		l, _ := p.deliver("INBOX", raw, `\Seen`)
		if i%2 == 0 {
			p.deliver("Sent", poisonMail(fmt.Sprintf("s%d@x", i), owner, "Re: "+subject, "Yes.\r\n", fmt.Sprintf("In-Reply-To: <i%d@x>", i)))
		} else {
			p.flag(l, `\Seen`, `\Flagged`)
		}
		from, matter, through := fmt.Sprintf("news@shop%d.example", i%7), "sale", []string(nil)
		if i%3 == 0 {
			from, matter = fmt.Sprintf("a@stranger%d.example", i), poisonMatters[i/3%4]
		}
		body := text(matter, i, 5, 80) + text("sale", i, 15, 200)
		if i%3 == 1 {
			from, matter, body = fmt.Sprintf("x@crooks%d.example", i), "pills", text("pills", i*3, 8, 60)
		} else if p.list {
			from, through = p.sender(i + 1)
			matter = []string{"sale", "docs", "typo", "build"}[i%4]
		}
		p.junk(poisonMail(fmt.Sprintf("o%d@x", i), from, fmt.Sprintf("%s%s offer", matter, letters(i%40)), body, through...))
	}
	return p
}

// copied returns an account like p on which an attack leaves p as it is.
func (p *poisoned) copied() *poisoned {
	w := *p.world
	w.features, w.uids = maps.Clone(w.features), maps.Clone(w.uids)
	var err error
	w.f, err = filter.New(copyState(w.t, w.f.State()), w.features)
	testkit.OK(w.t, err)
	return &poisoned{&w, p.list}
}

func (p *poisoned) classify(raw []byte, see func(filter.Decision, *featurize.Features)) {
	testkit.OK(p.t, p.f.Classify(p.reader.Read(raw), see))
}

// above counts the messages whose score is above the threshold, without changing anything.
func (p *poisoned) above(mails [][]byte) (n int) {
	for _, raw := range mails {
		p.classify(raw, func(d filter.Decision, _ *featurize.Features) {
			if d.Outcome == store.DecidedImportant {
				n++
			}
		})
	}
	return n
}

// marked delivers messages to a copy of p and counts those that are marked.
func (p *poisoned) marked(mails [][]byte) (n int) {
	p = p.copied()
	for _, raw := range mails {
		if _, r := p.deliver("INBOX", raw); len(r.Marks) > 0 {
			n++
		}
	}
	return n
}

// junk delivers a message, and the owner calls it junk.
func (p *poisoned) junk(raw []byte) {
	l, _ := p.deliver("INBOX", raw)
	p.now = p.now.Add(2 * time.Minute)
	p.flag(l, "$Junk")
	p.wait(2 * time.Minute)
}

// best returns the words of important mail that weigh most, in order.
func (p *poisoned) best(n int) (words []string) {
	weight, weights := map[string]float64{}, p.f.Explainer.Alone()
	for i := range poisonTrue {
		_, _, raw := p.important(i)
		p.classify(raw, func(_ filter.Decision, x *featurize.Features) {
			for f := range x.All() {
				if word, ok := strings.CutPrefix(f.Name, "body:"); ok && !strings.Contains(word, " ") {
					weight[word] = weights.Get(f.Index)
				}
			}
		})
	}
	return slices.SortedFunc(maps.Keys(weight), func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), strings.Compare(a, b))
	})[:n]
}

// spams are messages of strangers, each with an own domain, with good text above a spam.
func (p *poisoned) spams(subject, good func(i int) string) (mails [][]byte) {
	for i := range poisonMails {
		mails = append(mails, poisonMail(fmt.Sprintf("spam%d@x", i), fmt.Sprintf("x@pharmacy%d.example", 2*i+20), subject(i), good(i)+text("pills", i, 8, 60)))
	}
	return mails
}

// after counts the messages that stay above the threshold when the owner has junked others.
func (p *poisoned) after(junked, mails [][]byte) int {
	p = p.copied()
	for _, raw := range junked {
		p.junk(raw)
	}
	return p.above(mails)
}

// TestPoisonAndGoodWordAttacks prints the table of docs/security.md: what the focused attack
// (Nelson et al. 2008, Exploiting machine learning to subvert your spam filter) and good words
// (Lowd and Meek 2005, Good word attacks on statistical spam filters) do to a trained account.
// Nothing there is held off but by the owner's corrections, and by the rule on links.
func TestPoisonAndGoodWordAttacks(t *testing.T) {
	rows := map[string][]int{}
	for column := range 4 {
		p := newPoisoned(t, column%2 == 1, column >= 2)
		limit := func(what string, got, least, most int) {
			if rows[what] = append(rows[what], got); got < least || got > most {
				t.Errorf("list %v, authserv-id %v, %s: %d; it must be from %d to %d", column >= 2, column%2 == 1, what, got, least, most)
			}
		}
		var wanted, poison [][]byte
		for i := range poisonTrue {
			subject, body, raw := p.important(1000 + i)
			wanted = append(wanted, raw)
			poison = append(poison, poisonMail(fmt.Sprintf("poison%d@x", i), fmt.Sprintf("x@crook%d.example", i), subject, body))
		}
		for _, n := range []int{0, 10, 20, 40} {
			least := 0
			if n == 0 || n == 40 {
				least = poisonTrue * 9 / 10 // what is lost comes back
			}
			limit(fmt.Sprintf("a %d junked look-alikes: important mail above the threshold, of 40", n), p.after(poison[:n], wanted), least, poisonTrue)
		}
		subject := func(i int) string { s, _, _ := p.important(2 * i); return "Re: " + s }
		lines := func(i int) string {
			_, body, _ := p.important(2 * i)
			return strings.Join(strings.SplitAfter(body, "\r\n")[:20], "")
		}
		words := strings.Join(p.best(10), " ")
		for _, k := range []struct {
			name  string
			mails [][]byte
		}{
			{"b 20 lines of an answered letter", p.spams(subject, lines)},
			{"c the 10 best words", p.spams(func(int) string { return words }, func(int) string { return words + "\r\n" })},
		} {
			limit(k.name+": marked, of 20", p.marked(k.mails), 0, poisonMails)
			limit(k.name+", after one correction: above, of 19", p.after(k.mails[:1], k.mails[1:]), 0, poisonMails/4)
			limit(k.name+", after two: above, of 18", p.after(k.mails[:2], k.mails[2:]), 0, 0)
		}
		linked := p.spams(subject, func(i int) string { return lines(i) + fmt.Sprintf("https://crook%d.example/\r\n", i) })
		limit("d 20 lines and a link: marked, of 20", p.marked(linked), 0, 0)
	}
	for _, what := range slices.Sorted(maps.Keys(rows)) {
		t.Logf("| %s | %d | %d | %d | %d |", what[2:], rows[what][0], rows[what][1], rows[what][2], rows[what][3])
	}
}
