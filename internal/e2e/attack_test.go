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

	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
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

// newAttacked makes an account with so many important and as many ordinary messages, all
// of them judged by the owner, and answers in Sent. A third of the ordinary messages are
// about the same matters as the important ones, and from strangers.
func newAttacked(t *testing.T, lessons int, believes bool) *attacked {
	t.Helper()
	extra := quick
	if believes {
		extra = fmt.Sprintf("%s[account.featurize]\nauthserv_id = %q\n", quick, attackServer)
	}
	a := &attacked{site: newSite(t, extra), believes: believes}
	a.owner = a.imap.Owner(t)
	day := time.Now().Add(-time.Duration(lessons+10) * time.Hour)
	matters := []string{"contract draft", "invoice approval", "board meeting", attackSubject}
	dull := []string{"spring sale", "budget review", "weekly newsletter", "points expire", "board meeting", "new arrivals"}
	for i := range lessons {
		day = day.Add(time.Hour)
		a.put("INBOX", day, a.mail(fmt.Sprintf("m%d@example.com", i), attackedBoss, a.imap.User, matters[i%4], passed("example.com"),
			"List-Id: <"+attackedTeam+">"), `\Seen`, `\Flagged`, `\Answered`)
		a.put("Sent", day, a.mail(fmt.Sprintf("o%d@example.org", i), a.imap.User, "boss@example.com", "Re: "+matters[i%4],
			fmt.Sprintf("In-Reply-To: <m%d@example.com>", i), fmt.Sprintf("References: <m%d@example.com>", i)), `\Seen`)
		a.put("INBOX", day, a.mail(fmt.Sprintf("n%d@shop%d.example", i, i%5), fmt.Sprintf("Shop %d <news@shop%d.example>", i%5, i%5), a.imap.User, dull[i%6],
			passed(fmt.Sprintf("shop%d.example", i%5))), `\Seen`, "$Junk")
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

// attackedAccounts are young or trained, without an authserv_id or with one that they believe.
var attackedAccounts = [4]struct {
	name     string
	lessons  int
	believes bool
}{{"young", 20, false}, {"young, believing", 20, true}, {"trained", 100, false}, {"trained, believing", 100, true}}

// TestAttacks plays every attack against four accounts on a real Dovecot: young and
// trained, with and without an authserv_id. It prints the table of docs/security.md, and
// with -attack-table writes it there.
func TestAttacks(t *testing.T) {
	t.Parallel()
	var rows [4][]struck
	for i, c := range attackedAccounts {
		t.Run(c.name, func(t *testing.T) {
			a := newAttacked(t, c.lessons, c.believes)
			honest := a.mail("honest@example.com", attackedBoss, a.imap.User, attackSubject, passed("example.com"), "List-Id: <"+attackedTeam+">")
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
		writeTable(t, table)
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
	tableEnd   = "<!-- end -->\n"
)

func writeTable(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", tableFile)
	}
	if err := os.WriteFile(tableFile, []byte(before+tableBegin+table+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTheTableOfAttacksNamesThemAll compares the published table with the attacks.
func TestTheTableOfAttacksNamesThemAll(t *testing.T) {
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range attacks {
		if !strings.Contains(string(text), "| "+k.name+" |") || !strings.Contains(string(text), "| "+k.defence+" |") {
			name, _ := json.Marshal(k.name)
			t.Errorf("%s is not in %s; `make attacks` writes the table", name, tableFile)
		}
	}
}
