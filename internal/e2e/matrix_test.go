// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

var update = flag.Bool("update", false, "write the table of docs/servers.md anew")

// matrixServer is a row of the matrix: a mail server, set up in some way.
type matrixServer struct {
	name  string
	start func(*testing.T) *testkit.MailServer
	tls   string // none, tls or starttls; "" is none
	mark  string // what init proposes; "" is $Important
	// config is TOML for the connection, where a server needs other settings.
	config string
	// without says for each step that the server makes impossible why it is so.
	without map[string]string
}

// The capabilities of Dovecot 2.3 after the login, by what the rows take away.
var dovecotCapabilities = strings.Fields(`IMAP4rev1 SASL-IR LOGIN-REFERRALS ID ENABLE LITERAL+ NAMESPACE UNSELECT CHILDREN
	LIST-EXTENDED LIST-STATUS BINARY ESEARCH WITHIN CONTEXT=SEARCH SEARCHRES I18NLEVEL=1 SORT THREAD=REFERENCES MULTIAPPEND
	CONDSTORE QRESYNC IDLE MOVE UIDPLUS SPECIAL-USE SNIPPET=FUZZY PREVIEW=FUZZY STATUS=SIZE SAVEDATE`)

// onDovecot starts a Dovecot that keeps mail in a format and does not tell of some
// capabilities.
func onDovecot(o testkit.DovecotOptions, without ...string) func(*testing.T) *testkit.MailServer {
	return func(t *testing.T) *testkit.MailServer {
		if len(without) > 0 {
			caps := slices.DeleteFunc(slices.Clone(dovecotCapabilities), func(c string) bool { return slices.Contains(without, c) })
			o.Config += "imap_capability = " + strings.Join(caps, " ") + "\n"
		}
		return testkit.StartDovecot(t, o).MailServer()
	}
}

const (
	noKeywords = "the server keeps no keywords"
	starIsMark = "the star is the mark"

	// Dovecot with mbox, maddy and GreenMail do not tell an idling client of all of
	// other clients' flags.
	recheck = "recheck_interval = \"1s\"\n"
)

// matrixServers are the rows.
var matrixServers = []matrixServer{
	{name: "Dovecot, Maildir", start: onDovecot(testkit.DovecotOptions{})},
	{name: "Dovecot, mbox", start: onDovecot(testkit.DovecotOptions{Format: "mbox"}), config: recheck},
	{name: "Dovecot, sdbox, TLS", start: onDovecot(testkit.DovecotOptions{Format: "sdbox", TLS: true}), tls: "tls"},
	{name: "Dovecot, mdbox, STARTTLS", start: onDovecot(testkit.DovecotOptions{Format: "mdbox", StartTLS: true}), tls: "starttls"},
	{name: "Dovecot without CONDSTORE", start: onDovecot(testkit.DovecotOptions{}, "CONDSTORE", "QRESYNC")},
	{name: "Dovecot without IDLE", start: onDovecot(testkit.DovecotOptions{}, "IDLE")},
	{name: "Dovecot without MOVE, UIDPLUS", start: onDovecot(testkit.DovecotOptions{Format: "mdbox"}, "MOVE", "UIDPLUS")},
	{name: "Dovecot without SPECIAL-USE", start: onDovecot(testkit.DovecotOptions{}, "SPECIAL-USE", "LIST-EXTENDED")},
	{name: "Dovecot, IMAP4rev1 alone", start: onDovecot(testkit.DovecotOptions{}, dovecotCapabilities[1:]...)},
	{name: "Cyrus", start: func(t *testing.T) *testkit.MailServer { return testkit.StartCyrus(t, testkit.CyrusOptions{}) }},
	{name: "Cyrus, folders below INBOX", start: func(t *testing.T) *testkit.MailServer {
		return testkit.StartCyrus(t, testkit.CyrusOptions{Below: true})
	}},
	{name: "Courier", start: func(t *testing.T) *testkit.MailServer {
		return testkit.StartCourier(t, testkit.CourierOptions{IdlePoll: time.Second})
	}},
	{
		name: "Courier without keywords", mark: `\Flagged`,
		start: func(t *testing.T) *testkit.MailServer {
			return testkit.StartCourier(t, testkit.CourierOptions{IdlePoll: time.Second, NoKeywords: true})
		},
		without: map[string]string{"junk keyword": noKeywords, "star": starIsMark},
	},
	{name: "maddy", config: recheck, start: func(t *testing.T) *testkit.MailServer { return testkit.StartMaddy(t) }},
	{name: "GreenMail", config: recheck, start: func(t *testing.T) *testkit.MailServer { return testkit.StartGreenMail(t) }},
}

// TestMatrix takes a mailbox on every server from nothing through everything that
// hinged does there and prints what went well: the table of docs/servers.md. A cell
// that is not "yes" has a reason that the server gives.
func TestMatrix(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	rows := map[string][]string{}
	t.Run("servers", func(t *testing.T) {
		for _, server := range matrixServers {
			t.Run(server.name, func(t *testing.T) {
				t.Parallel()
				row := walk(t, server)
				mu.Lock()
				defer mu.Unlock()
				rows[server.name] = row
			})
		}
	})
	table := matrixTable(rows)
	t.Logf("\n%s", table)
	if !t.Failed() && len(rows) == len(matrixServers) {
		checkTable(t, filepath.Join("..", "..", "docs", "servers.md"), table)
	}
}

// walk goes through all steps on one server. A step that fails ends it.
func walk(t *testing.T, server matrixServer) (row []string) {
	w := &walker{t: t, mark: server.mark, server: server.start(t)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server says:\n%s", tail(w.server.Log()))
		}
	})
	if w.mark == "" {
		w.mark = "$Important"
	}
	w.prepare(server.tls, server.config)
	for _, step := range matrixSteps {
		reason := server.without[step.name]
		if reason == "" {
			reason = "yes"
			began := time.Now()
			step.do(w)
			t.Logf("%s: %v", step.name, time.Since(began).Round(time.Millisecond))
		}
		row = append(row, reason)
	}
	return row
}

// matrixTable prints the rows in Markdown. Reasons are numbered below it.
func matrixTable(rows map[string][]string) string {
	var b strings.Builder
	b.WriteString("| server |")
	for _, step := range matrixSteps {
		fmt.Fprintf(&b, " %s |", step.name)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", len(matrixSteps)))
	var notes []string
	for _, server := range matrixServers {
		row, ran := rows[server.name]
		if !ran {
			continue
		}
		fmt.Fprintf(&b, "| %s |", server.name)
		for _, cell := range row {
			if cell != "yes" {
				if !slices.Contains(notes, cell) {
					notes = append(notes, cell)
				}
				cell = fmt.Sprintf("– (%d)", slices.Index(notes, cell)+1)
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	for i, note := range notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%d. %s\n", i+1, note)
	}
	return b.String()
}

// checkTable demands that a page has the table between its two comments, or with
// -update writes it there.
func checkTable(t *testing.T, page, table string) {
	t.Helper()
	const begin, end = "<!-- Written by go test ./internal/e2e -run TestMatrix -update -->\n", "<!-- end -->"
	table = "\n" + table + "\n"
	data := testkit.Read(t, page)
	before, rest, found := strings.Cut(string(data), begin)
	was, after, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Fatalf("%s has no place for the table", page)
	case was == table:
	case *update:
		testkit.Write(t, page, before+begin+table+end+after)
	default:
		t.Errorf("%s has another table; go test ./internal/e2e -run TestMatrix -update writes it anew", page)
	}
}
