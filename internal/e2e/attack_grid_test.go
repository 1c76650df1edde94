// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// gridKind is one kind of forged mail.
type gridKind struct {
	from, results string
	trick
	raws   [][]byte // as it is delivered, to each of boxes
	honest string   // Message-ID of the letter of trick.letter
}

// forged reports whether only an authserv_id helps: a correspondent is in From, and the crook wrote
// a pass that no server removed.
func (k *gridKind) forged() bool {
	return (k.from == "a correspondent" || k.from == "a correspondent and the crook") &&
		(k.results == "a pass of another server" || k.results == "a pass for the crook's domain")
}

// grid makes all kinds for an account: all combinations of who is forged, what results stand in
// the message, and what else it does. Their visible text and subject are the attacker's own.
func (a *attacked) grid(c attackedAccount) (kinds []*gridKind) {
	for _, from := range gridFrom {
		for _, result := range gridResults {
			for _, trick := range gridTricks {
				if (trick.group == gridMbox) != (c.format == "mbox") {
					continue
				}
				n := len(kinds)
				k := &gridKind{from.name, result.name, trick, nil, fmt.Sprintf("honest%d@example.com", n)}
				if k.boxes == nil {
					k.boxes = []string{"INBOX"}
				}
				header := []string{result.header, from.header, "To: <me>", trick.header}
				for _, field := range []string{"Subject: wonder pills", fmt.Sprintf("Message-ID: <grid%d@CROOK>", n)} {
					if name, _, _ := strings.Cut(field, " "); !strings.Contains(trick.header, name) {
						header = append(header, field)
					}
				}
				header = slices.DeleteFunc(header, func(h string) bool { return h == "" })
				raw := strings.Join(header, "\r\n") + "\r\n" + cmp.Or(trick.text, "\r\n"+gridText) + "\r\n"
				raw = strings.NewReplacer("CROOK", fmt.Sprintf("grid%d.example", n), "<me>", "<"+a.imap.User+">",
					"NUMBER", fmt.Sprint(n%c.lessons), "HONEST", k.honest).Replace(raw)
				for i := range k.boxes {
					k.raws = append(k.raws, []byte(strings.Repeat("Delivered-To: "+a.imap.User+"\r\n", i)+raw))
				}
				kinds = append(kinds, k)
			}
		}
	}
	return kinds
}

// dropped has a plain delivery agent write the kinds into an mbox, under the lock that Dovecot
// takes, and leave in what the header has of flags.
func (a *attacked) dropped(kinds []*gridKind) {
	a.t.Helper()
	f, err := os.OpenFile(filepath.Join(a.imap.Mail(a.imap.User), "inbox"), os.O_APPEND|os.O_RDWR, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "From crook@example.com %s\n%s\n", time.Now().UTC().Format(time.ANSIC), strings.ReplaceAll(string(k.raws[0]), "\r\n", "\n"))
	}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLKW, &syscall.Flock_t{Type: syscall.F_WRLCK})
	if err == nil {
		_, err = f.WriteString(b.String())
	}
	if closed := f.Close(); err != nil || closed != nil {
		a.t.Fatal(err, closed)
	}
	a.messages += uint64(len(kinds))
}

// filed has a delivery agent put the copies with this number of the kinds into their Maildirs,
// which takes a twentieth of what APPEND takes while a daemon looks on.
func (a *attacked) filed(kinds []*gridKind, number int) {
	a.t.Helper()
	for n, k := range kinds {
		if number >= len(k.boxes) {
			continue
		}
		dir := a.imap.Mail(a.imap.User)
		if box := k.boxes[number]; box != "INBOX" {
			dir = filepath.Join(dir, "."+box)
		}
		name := fmt.Sprintf("%d.M%06dP%d.crook", time.Now().Unix(), n, number)
		half := filepath.Join(dir, "tmp", name)
		err := os.WriteFile(half, []byte(strings.ReplaceAll(string(k.raws[number]), "\r\n", "\n")), 0o644) // Dovecot is another user
		if err == nil {
			err = os.Rename(half, filepath.Join(dir, "new", name))
		}
		if err != nil {
			a.t.Fatal(err)
		}
		a.messages++
	}
}

// delivered delivers the kinds, and what else belongs to them.
func (a *attacked) delivered(c attackedAccount, kinds []*gridKind) {
	a.t.Helper()
	letters := func(after bool) {
		for _, k := range kinds {
			if k.letter != noLetter && (k.letter == letterAfter) == after {
				a.put("INBOX", time.Now(), a.honest(k.honest))
			}
		}
		a.settled("the honest letters")
	}
	letters(false)
	if c.format == "mbox" {
		a.dropped(kinds)
		a.settled("the grid")
	} else {
		for number := range 2 { // each kind is in so many mailboxes at most
			a.filed(kinds, number)
			a.settled("the grid")
		}
	}
	for i, k := range kinds {
		if k.answer != "" {
			a.put("Sent", time.Now(), a.mail(fmt.Sprintf("machine%d@example.org", i), a.imap.User, "crook@example.com", "Re: wonder pills",
				k.answer, fmt.Sprintf("In-Reply-To: <grid%d@grid%[1]d.example>", i)))
		}
	}
	letters(true)
}

// won reports which kinds are marked, or cost the honest letter with their Message-ID its mark.
func (a *attacked) won(kinds []*gridKind) map[*gridKind]bool {
	a.t.Helper()
	flags, won := map[string][]string{}, map[*gridKind]bool{} // flags of all that is there
	for _, box := range []string{"INBOX", "Junk", "Archive", "Trash"} {
		for _, m := range a.owner.All(box) {
			flags[keyOf(a.t, m.Raw)] = m.Flags
		}
	}
	marked := func(key string) bool { return slices.Contains(flags[key], "$important") }
	for _, k := range kinds {
		won[k] = k.letter != noLetter && !marked(keyOf(a.t, a.honest(k.honest)))
		for _, key := range k.keys(a.t) {
			if now, there := flags[key]; !there || k.group == gridMbox && strings.Contains(k.header, "X-Status") && !slices.Contains(now, `\flagged`) {
				a.t.Fatalf("%s, %s, %s is in no mailbox, or without the star of its header: %q", k.from, k.results, k.name, now)
			}
			// In an mbox the header itself can show the mark.
			won[k] = won[k] || marked(key) && a.explain(desk.Message{Name: key}).Outcome == "important"
		}
	}
	return won
}

// keys are those of the messages as hinged sees them: in an mbox, Dovecot hides the fields with flags.
func (k *gridKind) keys(t testing.TB) (keys []string) {
	for _, raw := range k.raws {
		if k.group == gridMbox {
			raw = []byte(strings.Replace(string(raw), k.header+"\r\n", "", 1))
		}
		keys = append(keys, keyOf(t, raw))
	}
	return keys
}

func keyOf(t testing.TB, raw []byte) string {
	t.Helper()
	key, err := desk.KeyOf(raw, len(raw))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// gridAccounts are the columns of the table, and the same with mbox.
var gridAccounts = [...]attackedAccount{
	{name: "sender", lessons: 100}, {name: "sender, believing", lessons: 100, believes: true},
	{name: "list", lessons: 100, list: true}, {name: "list, believing", lessons: 100, believes: true, list: true},
}

// grid delivers all kinds to an account, and counts wins and tries of each group.
func grid(t *testing.T, c attackedAccount) map[string][2]int {
	a := newAttacked(t, c)
	if s := a.score(a.honest("before@example.com")); s <= 0 {
		t.Fatalf("the account was taught badly: honest mail scores %+.3f", s)
	}
	words := a.score([]byte("From: a@words.example\r\nTo: " + a.imap.User + "\r\nSubject: wonder pills\r\n" + inHTML("<p>"+gridWords+"</p>")))
	if c.list && words <= 0 {
		t.Errorf("where words decide, those that others hide score %+.3f in plain sight", words)
	}
	before, _ := a.status()
	kinds := a.grid(c)
	a.delivered(c, kinds)
	after, _ := a.status()
	if before.Important != after.Important || before.Ordinary != after.Ordinary {
		t.Errorf("the crook taught: %d and %d lessons, were %d and %d", after.Important, after.Ordinary, before.Important, before.Ordinary)
	}
	won, count := a.won(kinds), map[string][2]int{}
	for _, k := range kinds {
		n := count[k.group]
		if n[1]++; won[k] {
			n[0]++
			if c.believes || !k.forged() {
				t.Errorf("%s, %s, %s wins with score %+.3f", k.from, k.results, k.name, a.explain(desk.Message{Name: k.keys(t)[0]}).ScoreThen)
			}
		}
		count[k.group] = n
	}
	return count
}

// TestTheGridOfAttacks delivers every kind to accounts on which the sender decides, or the words of a
// mailing list. With an authserv_id none is marked, whoever is forged; without one, nothing
// but a From with results that the crook wrote helps. No kind teaches anything, and honest letters
// have their marks. It prints the table of docs/security.md, and with -attack-table writes it there.
func TestTheGridOfAttacks(t *testing.T) {
	t.Parallel()
	var counts [len(gridAccounts)]map[string][2]int
	var mu sync.Mutex
	t.Run("accounts", func(t *testing.T) {
		for i, c := range gridAccounts {
			c.still = true // the replay moves the scores of a young account, whatever comes
			counts[i] = map[string][2]int{}
			for _, format := range []string{"maildir", "mbox"} {
				t.Run(c.name+", "+format, func(t *testing.T) {
					t.Parallel()
					in := c
					in.format = format
					of := grid(t, in)
					mu.Lock()
					defer mu.Unlock()
					for group, n := range of {
						counts[i][group], counts[i]["**all**"] = n, [2]int{counts[i]["**all**"][0] + n[0], counts[i]["**all**"][1] + n[1]}
					}
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	var groups []string
	for _, k := range gridTricks {
		groups = append(groups, k.group)
	}
	table := "| kinds: 5 senders × 5 results × | sender decides | the same, `authserv_id` | list | list, `authserv_id` |\n|---|---|---|---|---|\n"
	for _, group := range append(slices.Compact(groups), "**all**") {
		table += "| " + group + " |"
		for _, count := range counts {
			table += fmt.Sprintf(" %d of %d |", count[group][0], count[group][1])
		}
		table += "\n"
	}
	t.Log("\n" + table)
	if *attackTable {
		writeTable(t, gridBegin, table)
	}
}
