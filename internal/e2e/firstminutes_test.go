// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

var record = flag.String("record", "", "write TestTheFirstTenMinutes to this file, as asciinema records")

// newcomer is somebody who tries hinged on their own mailbox for the first time, at a
// terminal that is recorded.
type newcomer struct {
	life
	*recording
	imap    *testkit.Dovecot
	owner   *testkit.Owner
	program string        // its path
	pause   time.Duration // between two messages
}

// TestTheFirstTenMinutes: from `hinged init` to live mail and back, in the words of
// docs/one-person.md, each command at a terminal of 80 columns on a real mail server.
// The mail is generated; with HINGED_MTD it is that of linux-mtd (make recording), whose
// subscriber with most answers is the owner.
func TestTheFirstTenMinutes(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	n.run("hinged init --server "+n.imap.Addr,
		enter("E-mail address: ", n.life.owner), enter("(not shown): ", n.imap.Password),
		act{after: regexp.MustCompile(`Where do you read your mail\?.* $`), text: "phone, Thunderbird\r"},
		enter("May it ask you by letter? [y/N] ", ""))
	n.run("hinged check")
	n.run("hinged bootstrap --dry-run | head -40")
	matters := "Does it matter to you? [y/n, Enter if you don't know] "
	if said := n.run("hinged bootstrap", enter("Answer them now? [y/N] ", "y"), enter(matters, "n"), enter(matters, ""), enter(matters, "n")); strings.Count(said, ": learnt as ordinary") != 2 {
		t.Errorf("bootstrap asked, and said\n%s", said)
	}
	if shown := n.run("hinged run", act{regexp.MustCompile(`watching`), n.live, "\x03"}); !regexp.MustCompile(`\d\d:\d\d  marked +[^\r\n]+: [^\r\n]+ \(`).MatchString(shown) {
		t.Errorf("run said of no message that it was marked, and why:\n%s", shown)
	}
	n.run("hinged status")
	marked := regexp.MustCompile(`\b[0-9a-f]{12}\b`).FindString(n.run("hinged ledger | head -20"))
	if marked == "" {
		t.Fatal("no message was marked")
	}
	n.run("hinged explain " + marked + " | head -20")
	undone := n.run("hinged undo --marks")
	if !regexp.MustCompile(`[1-9]\d* marks taken back`).MatchString(undone) {
		t.Errorf("undo said %s", undone)
	}
	if *record != "" {
		n.write(*record)
	}
}

// newNewcomer fills a server with the past of an owner, and gives them an empty home
// with the program in its path.
func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	n := &newcomer{life: generatedLife(t, 31, 800).at(600, 500, 20), recording: &recording{t: t, dir: shortDir(t)}}
	if archive := os.Getenv("HINGED_MTD"); archive != "" {
		n.life = lifeOf(t, "linux-mtd", "miquel.raynal@bootlin.com", archive).at(8290, 3000, 40)
		n.pause = 1200 * time.Millisecond
	}
	n.mail = slices.Clone(n.mail)
	n.shift(n.past-1, time.Now().Add(-time.Minute))
	n.imap = testkit.StartDovecot(t, testkit.DovecotOptions{Users: []string{n.life.owner}})
	n.dropPast(n.imap)
	n.owner = n.imap.Owner(t)
	n.program = program(t)
	n.env = []string{
		"HOME=" + n.dir, "XDG_RUNTIME_DIR=" + n.dir, "USER=me", "LANG=C.UTF-8", "TERM=xterm-256color",
		"HINGED_CONFIG=" + filepath.Join(n.dir, ".config/hinged/hinged.toml"),
		"PATH=" + filepath.Dir(n.program) + ":" + os.Getenv("PATH"),
	}
	return n
}

// live lets mail come, and the owner's answers as the life says.
func (n *newcomer) live() {
	numbers := n.judged()
	uids := map[int]uint32{}
	for i := n.past; i <= numbers[len(numbers)-1]; i++ {
		m := n.mail[i]
		if !m.own {
			// As the server that delivers it would write. Without it the mail would be as
			// old as the archive, and old mail is never marked.
			now := time.Now()
			received := "Received: from lists.example.org by mail.example.org; " + now.Format(time.RFC1123Z) + "\r\n"
			uids[i] = n.owner.Append("INBOX", slices.Concat([]byte(received), m.raw), now)
		} else {
			n.await(len(uids)) // what is answered was seen before
			n.owner.Append("Sent", m.raw, time.Now(), `\Seen`)
			for k, uid := range uids {
				if n.mail[k].answered == i {
					n.owner.Set("INBOX", uid, `\Answered`, `\Seen`)
				}
			}
		}
		time.Sleep(n.pause)
	}
	n.await(len(uids))
}

// await waits until the daemon has decided so many messages after the past, and set its
// marks.
func (n *newcomer) await(messages int) {
	n.t.Helper()
	for _, m := range n.mail[:n.past] {
		if !m.own {
			messages++
		}
	}
	var out []byte
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		cmd := exec.Command(n.program, "status", "--json")
		cmd.Env = n.env
		var err error
		if out, err = cmd.Output(); err != nil {
			n.t.Fatal(err)
		}
		var st desk.Status
		if err := json.Unmarshal(out, &st); err != nil {
			n.t.Fatal(err)
		}
		if a := st.Accounts[0]; int(a.Decided) >= messages && a.MarksIntended == 0 {
			return
		}
	}
	n.t.Fatalf("%d messages were never seen and marked:\n%s", messages, out)
}
