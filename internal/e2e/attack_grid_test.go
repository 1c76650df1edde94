// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/desk"
)

// axis is a way in which forged mail differs, with the header of each variant. "CROOK" stands
// for the crook's domain.
type axis []struct{ name, header string }

// The kinds of forged mail are all combinations of who is forged, what results stand in the
// message, and what else it carries.
var (
	gridFrom = axis{
		{"the owner", "From: Me <me>"},
		{"a correspondent", "From: " + attackedBoss},
		{"a correspondent and the crook", "From: " + attackedBoss + ", crook@CROOK"},
		{"a correspondent's name", "From: Bettina Boss <crook@CROOK>"},
		{"a stranger", "From: crook@CROOK"},
	}
	gridResults = axis{
		{"none", ""},
		{"dmarc=fail", results("dkim=none; dmarc=fail")},
		{"a pass of another server", "Authentication-Results: mx.CROOK; dmarc=pass header.from=example.com; dkim=pass header.d=example.org"},
		{"a pass below a fail", results("dmarc=fail") + "\r\n" + passed("example.com")},
		{"a pass for the crook's domain", passed("CROOK")},
	}
	gridExtra = axis{
		{"nothing", ""},
		{"Reply-To", "Reply-To: " + attackedBoss},
		{"References", "In-Reply-To: <o1@example.org>\r\nReferences: <m1@example.com> <o1@example.org>"},
		{"List-Id", "List-Id: <" + attackedTeam + ">\r\nSender: boss@example.com"},
		{"a link", ""},
		{"an automatic answer", "Auto-Submitted: auto-replied\r\nX-Hinged-Status: important"},
		{"flags", "X-Status: F\r\nX-Keywords: $Important\r\nStatus: O"},
	}
)

// gridKind is one combination.
type gridKind struct {
	from, results, extra string
	raw                  []byte
}

// grid makes all kinds for an account. Their text and subject are the attacker's own.
func (a *attacked) grid() (kinds []gridKind) {
	for _, from := range gridFrom {
		for _, result := range gridResults {
			for _, extra := range gridExtra {
				n := len(kinds)
				var header []string
				for _, h := range []string{result.header, strings.Replace(from.header, "<me>", "<"+a.imap.User+">", 1), extra.header} {
					if h = strings.TrimRight(h, "\r\n"); h != "" {
						header = append(header, h)
					}
				}
				text := "Please look at these wonder pills before Friday."
				if extra.name == "a link" {
					text += " https://CROOK/pills"
				}
				raw := fmt.Sprintf("%s\r\nTo: %s\r\nSubject: wonder pills\r\nMessage-ID: <grid%d@CROOK>\r\n\r\n%s\r\n", strings.Join(header, "\r\n"), a.imap.User, n, text)
				kinds = append(kinds, gridKind{from.name, result.name, extra.name, []byte(strings.ReplaceAll(raw, "CROOK", fmt.Sprintf("grid%d.example", n)))})
			}
		}
	}
	return kinds
}

// TestTheGridOfAttacks delivers every combination to four accounts and counts what is marked.
// With an authserv_id that is nothing, whoever is forged.
func TestTheGridOfAttacks(t *testing.T) {
	t.Parallel()
	for _, c := range attackedAccounts {
		t.Run(c.name, func(t *testing.T) {
			a := newAttacked(t, c.lessons, c.believes)
			kinds := a.grid()
			at := map[uint32]gridKind{}
			for _, k := range kinds {
				at[a.put("INBOX", time.Now(), k.raw)] = k
			}
			a.settled("the grid")
			wins, sum := map[string]int{}, 0
			for _, m := range a.owner.All("INBOX") {
				k, ours := at[m.UID]
				if !ours || !strings.Contains(strings.Join(m.Flags, " "), "$important") {
					continue
				}
				wins[k.from+", "+k.results]++
				sum++
				if c.believes {
					key, err := desk.KeyOf(k.raw, len(k.raw))
					if err != nil {
						t.Fatal(err)
					}
					t.Errorf("%s, %s, %s: marked with score %+.3f", k.from, k.results, k.extra, a.explain(desk.Message{Name: key}).ScoreThen)
				}
			}
			for _, from := range gridFrom {
				for _, result := range gridResults {
					t.Logf("%-30s  %-30s  %d of %d", from.name, result.name, wins[from.name+", "+result.name], len(gridExtra))
				}
			}
			t.Logf("%d of %d kinds are marked", sum, len(kinds))
		})
	}
}
