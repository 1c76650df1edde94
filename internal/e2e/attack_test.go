// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

var attackTable = flag.Bool("attack-table", false, "write the table of attacks into docs/security.md")

const (
	attackServer  = "mx.example.org"
	attackedBoss  = "Bettina Boss <boss@example.com>"
	attackedTeam  = "team.example.com"
	attackSubject = "budget review"
)

// attacked is one account under attack.
type attacked struct {
	*site
	owner    *testkit.Owner
	believes bool
	messages uint64
	n        int
}

// results is what the owner's server writes above a message.
func results(verdict string) string {
	return "Authentication-Results: " + attackServer + "; " + verdict
}

// passed is how the owner's server judges mail from the domain in its From.
func passed(domain string) string {
	return results("dkim=pass header.d=" + domain + "; dmarc=pass header.from=" + domain)
}

// forgery is how the owner's server judges mail under a name that is not the sender's.
var forgery = results("dkim=none; dmarc=fail header.from=example.com")

// pastLetter is a letter that an account learns from.
type pastLetter struct {
	from, words string
	header      []string
}

// past returns a pair of an account's letters. A third of the ordinary ones are about the same
// matters as the important ones, and from strangers. On a list words decide: three of four
// important ones come from its members, and so does half of the ordinary ones; some are spam.
func (c attackedAccount) past(i int) (important, ordinary pastLetter) {
	team := "List-Id: <" + attackedTeam + ">"
	shop := fmt.Sprintf("shop%d.example", i%5)
	important = pastLetter{attackedBoss, []string{"contract draft", "invoice approval", "board meeting", attackSubject}[i%4], []string{passed("example.com"), team}}
	ordinary = pastLetter{
		fmt.Sprintf("Shop %d <news@%s>", i%5, shop),
		[]string{"spring sale", "budget review", "weekly newsletter", "points expire", "board meeting", "new arrivals"}[i%6], []string{passed(shop)},
	}
	if !c.list {
		return important, ordinary
	}
	member := func(n int, words string) pastLetter {
		domain := fmt.Sprintf("isp%d.example", n%30)
		return pastLetter{"Member <member@" + domain + ">", words, []string{passed(domain) + "; dkim=pass header.d=" + attackedTeam, team}}
	}
	if i%4 != 0 {
		important = member(i, important.words)
	}
	switch ordinary.header = append(ordinary.header, "List-Id: <news."+shop+">"); {
	case i%2 == 0:
		ordinary = member(i+1, []string{"typo fix", "build failure", "docs change"}[i%3])
	case i%32 == 1:
		spam := fmt.Sprintf("spam%d.example", i)
		ordinary = pastLetter{"crook@" + spam, "wonder pills", []string{passed(spam)}}
	}
	return important, ordinary
}

// newAttacked makes an account with so many important and as many ordinary messages, all
// of them judged by the owner, and answers in Sent.
func newAttacked(t *testing.T, c attackedAccount) *attacked {
	t.Helper()
	extra := quick
	if c.still {
		extra += still
	}
	if c.believes {
		extra += fmt.Sprintf("[account.featurize]\nauthserv_id = %q\n", attackServer)
	}
	server := testkit.StartDovecot(t, testkit.DovecotOptions{Format: c.format})
	a := &attacked{site: siteOn(t, server, t.TempDir(), extra), believes: c.believes}
	a.owner = a.imap.Owner(t)
	day := time.Now().Add(-time.Duration(c.lessons+10) * time.Hour)
	for i := range c.lessons {
		day = day.Add(time.Hour)
		important, ordinary := c.past(i)
		a.put("INBOX", day, a.mail(fmt.Sprintf("m%d@example.com", i), important.from, a.imap.User, important.words, important.header...), `\Seen`, `\Flagged`, `\Answered`)
		a.put("Sent", day, a.mail(fmt.Sprintf("o%d@example.org", i), a.imap.User, important.from, "Re: "+important.words,
			fmt.Sprintf("In-Reply-To: <m%d@example.com>", i), fmt.Sprintf("References: <m%d@example.com>", i)), `\Seen`)
		a.put("INBOX", day, a.mail(fmt.Sprintf("n%d@example.net", i), ordinary.from, a.imap.User, ordinary.words, ordinary.header...), `\Seen`, "$Junk")
	}
	// The verb reads in one order. A daemon decides what has arrived meanwhile before it
	// learns any of it, and how much that is at once is chance.
	a.bootstrap()
	a.start()
	a.settled("the past")
	return a
}

// mail writes a message whose text is about its subject.
func (a *attacked) mail(id, from, to, words string, headers ...string) []byte {
	var b strings.Builder
	for _, h := range headers { // what a server writes stands on top
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "From: %s\r\nTo: %s\r\nSubject: %s\r\nMessage-ID: <%s>\r\n\r\nPlease look at this %s before Friday.\r\n", from, to, words, id, words)
	return []byte(b.String())
}

// honest is an important letter.
func (a *attacked) honest(id string) []byte {
	return a.mail(id, attackedBoss, a.imap.User, attackSubject, passed("example.com"), "List-Id: <"+attackedTeam+">")
}

func (a *attacked) put(box string, at time.Time, raw []byte, flags ...string) uint32 {
	a.t.Helper()
	uid := a.owner.Append(box, raw, at, flags...)
	a.messages++
	return uid
}

// settled waits until all mail is known and nothing is pending.
func (a *attacked) settled(what string) {
	a.t.Helper()
	a.until(what, func(s desk.AccountStatus) bool {
		return s.Messages == a.messages && s.Pending == 0 && s.MarksIntended == 0
	})
}

// score asks what would be decided of a message now.
func (a *attacked) score(raw []byte) float64 {
	a.t.Helper()
	return a.explain(desk.Message{Content: new(raw)}).Score
}

func (a *attacked) explain(m desk.Message) desk.Explanation {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	c, err := control.Dial(ctx, a.socket)
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	ex, err := control.Ask(ctx, c, desk.Explain, "", desk.ExplainRequest{Message: m})
	if err != nil {
		a.t.Fatal(err)
	}
	return ex
}

// struck is what became of one attack in one account.
type struck struct {
	before, after float64 // scores; above 0 is important
	marked        bool
}

// play delivers the mail that an attack needs, then the crook's message, and compares its
// score with that of the same message without the trick.
func (a *attacked) play(k attack) (o struck) {
	a.t.Helper()
	a.n++
	crook := fmt.Sprintf("crook@crook%d.example", a.n)
	own := passed(fmt.Sprintf("crook%d.example", a.n))
	c := &crime{attacked: a, crook: crook, own: own}
	o.before = a.score(c.letter("before", crook, "wonder pills", own))
	raw := k.commit(c)
	a.settled(k.name)
	uid := a.put("INBOX", time.Now(), raw)
	a.settled(k.name)
	for _, m := range a.owner.All("INBOX") {
		if m.UID == uid {
			o.marked = strings.Contains(strings.Join(m.Flags, " "), "$important")
		}
	}
	key, err := desk.KeyOf(raw, len(raw))
	if err != nil {
		a.t.Fatal(err)
	}
	o.after = a.explain(desk.Message{Name: key}).ScoreThen
	return o
}

// attackedAccount is how an account is taught, and what it believes.
type attackedAccount struct {
	name     string
	lessons  int
	believes bool   // it has an authserv_id
	list     bool   // it reads a mailing list
	format   string // of the mailbox; "": Maildir
	still    bool   // nothing moves the weights but lessons
}

// attackedAccounts are young or trained, without an authserv_id or with one that they believe.
var attackedAccounts = [4]attackedAccount{
	{name: "young", lessons: 20}, {name: "young, believing", lessons: 20, believes: true},
	{name: "trained", lessons: 100}, {name: "trained, believing", lessons: 100, believes: true},
}

// TestAttacks plays every attack against four accounts on a real Dovecot: young and
// trained, with and without an authserv_id. It prints the table of docs/security.md, and
// with -attack-table writes it there.
func TestAttacks(t *testing.T) {
	t.Parallel()
	var rows [4][]struck
	for i, c := range attackedAccounts {
		t.Run(c.name, func(t *testing.T) {
			a := newAttacked(t, c)
			honest := a.honest("honest@example.com")
			if s := a.score(honest); s <= 0 {
				t.Fatalf("the account was taught badly: honest mail scores %+.3f", s)
			}
			for _, k := range attacks {
				o := a.play(k)
				rows[i] = append(rows[i], o)
				if safe := k.safe == always || k.safe == believing && c.believes; safe && (o.after > 0 || o.marked) {
					t.Errorf("%s: score %+.3f, was %+.3f, marked %v", k.name, o.after, o.before, o.marked)
				}
			}
			if s := a.score(honest); s <= 0 {
				t.Errorf("after the attacks honest mail scores %+.3f", s)
			}
		})
	}
	if t.Failed() {
		return
	}
	for _, column := range rows {
		if len(column) < len(attacks) {
			t.Log("no table: -run left out some of the accounts")
			return
		}
	}
	table := attackRows(rows)
	t.Log("\n" + table)
	if *attackTable {
		writeTable(t, tableBegin, table)
	}
}

func attackRows(rows [4][]struck) string {
	var b strings.Builder
	b.WriteString("| attack | young | young, `authserv_id` | trained | trained, `authserv_id` | defence |\n|---|---|---|---|---|---|\n")
	for i, k := range attacks {
		fmt.Fprintf(&b, "| %s |", k.name)
		for _, column := range rows {
			o := column[i]
			cell := fmt.Sprintf(" %+.2f → %+.2f", o.before, o.after)
			if o.marked {
				cell = fmt.Sprintf(" %+.2f → **%+.2f**", o.before, o.after)
			}
			b.WriteString(cell + " |")
		}
		fmt.Fprintf(&b, " %s |\n", k.defence)
	}
	return b.String()
}

const (
	tableFile  = "../../docs/security.md"
	tableBegin = "<!-- made by make attacks -->\n"
	gridBegin  = "<!-- made by make attacks, the grid -->\n"
	tableEnd   = "<!-- end -->\n"
)

func writeTable(t *testing.T, begin, table string) {
	t.Helper()
	text := testkit.Read(t, tableFile)
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", tableFile)
	}
	if err := os.WriteFile(tableFile, []byte(before+begin+table+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTheTableOfAttacksNamesThemAll compares the published table with the attacks.
func TestTheTableOfAttacksNamesThemAll(t *testing.T) {
	text := testkit.Read(t, tableFile)
	for _, k := range attacks {
		if !strings.Contains(string(text), "| "+k.name+" |") || !strings.Contains(string(text), "| "+k.defence+" |") {
			name, _ := json.Marshal(k.name)
			t.Errorf("%s is not in %s; `make attacks` writes the table", name, tableFile)
		}
	}
}
