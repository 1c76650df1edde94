// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// A reader's commands are the lines of the blocks that the pages mark as sh, and
// those after "$ " in blocks marked console, whose other lines are answers. A
// block marked toml or ini that begins with a path in a comment is a file that
// the reader writes. Each page is one reader: an empty home, a mailbox, one shell
// command after another, as printed.

// placeholders are what a reader puts something of their own in for, and the
// directories of the machine that a test must leave alone.
func placeholders(r *reader) *strings.Replacer {
	kafka := "kafka.example.org:9092"
	if r.kafka != nil {
		kafka = r.kafka.Addrs()[0]
	}
	return strings.NewReplacer("imap.example.org", r.imap.Addr, "kafka.example.org:9092", kafka,
		"/etc/", r.machine+"/etc/", "/var/lib/", r.machine+"/var/lib/", "/run/", r.machine+"/run/")
}

// sessions are the pages that have commands.
var sessions = []string{"README.md", "docs/one-person.md", "docs/mail-server.md", "docs/kafka.md"}

// elsewhere are pages whose commands other tests run, with these.
var elsewhere = map[string]string{
	apiPage:                   "TestTheCommandsOfTheAPIPageRunAsPrinted",
	"docs/large-mailboxes.md": "TestTakeoutTeachesAsGmailDoes",
	"docs/mcp.md":             "TestAnAssistantAsks",
	"docs/milter.md":          "TestMilterWithPostfix",
	"docs/oauth.md":           "TestLoginIsAllThatAnOwnerDoes",
	"docs/owed.md":            "TestLettersWithoutAnAnswer",
	"docs/releasing.md":       "internal/project, TestAReleaseIsTheSameWhereverItIsMade",
}

// asRoot are the pages whose commands only root can run.
var asRoot = []string{"docs/mail-server.md"}

// leftOut are commands that are not run, with the reason. It is to stay short.
var leftOut = map[string]string{
	"make test":                             "it is what runs this",
	"systemctl daemon-reload":               noSystemd,
	"systemctl enable --now hinged":         noSystemd,
	"systemctl disable --now hinged":        noSystemd,
	"systemctl restart hinged":              noSystemd,
	"journalctl -u hinged -p warning":       noSystemd,
	"systemctl --user enable --now hinged":  noSystemd,
	"systemctl --user disable --now hinged": noSystemd,
	"loginctl enable-linger":                noSystemd,
	"journalctl --user -u hinged":           noSystemd,
}

const noSystemd = "there is no systemd where tests run"

// endless are commands that go on until Ctrl-C, by what they print once they
// have come so far.
var endless = map[string]string{
	"hinged run": `watching`,
	"make demo":  `marked +[+-]`,
}

// meanwhile are commands that go on in another terminal until the end of their
// page, by what they print once the reader goes on.
var meanwhile = map[string]map[string]string{
	"docs/kafka.md": {"hinged run": `partition assigned to this process`},
}

// needs are programs that a page's commands need beside those of all pages.
var needs = map[string][]string{"docs/kafka.md": {"kcat", "jq"}}

// prints is what commands have to print, where running without an error says too
// little.
var prints = map[string]string{
	"hinged check":                                  `(?m)^(all is well|it works, with \d warnings?)\s*$`,
	"hinged bootstrap --dry-run":                    `of your last \d+ messages it would have marked`,
	"hinged bootstrap":                              `Next: hinged run`,
	"hinged status":                                 `marking important mail, and learning|in shadow: it decides and learns, and says of nothing that it is to be marked`,
	"hinged explain 'abc123@example.org'":           `(?m) score$`,
	"hinged learn --important 'abc123@example.org'": `learnt as important`,
	"doveconf -n > /dev/null":                       `\A\s*\z`,
	"doveconf -h -f protocol=imap mail_plugins":     `quota acl imap_quota imap_acl virtual\s*$`,
	"doveadm log errors":                            `\A\s*\z`,
	`kcat -C -b kafka.example.org:9092 -t hinged.decisions -o beginning -c 1 -u | jq -r '[.account, .decision, .mark, .score, .message_id] | @tsv'`: `(?m)^ann@example.org\tunsure\t`,
	"hinged learn --account kafka:ann@example.org --ordinary abc123@example.org":                                                                    `handed to the input topic`,
	"hinged kafka replay rebuilt.db": `(?m)^  kafka:ann@example.org: model`,
	"hinged verify":                  `(?m)^\S+: model \w+ state`,
	"doveadm search -u ann@example.org mailbox virtual/Important all": `(?m)^[0-9a-f]{32} \d+\s*$`,
}

// typed is what a reader types when a command asks.
var typed = map[string][]answer{
	"hinged init --server imap.example.org": {{"E-mail address: ", "me@example.org"}, {"(not shown): ", "PASSWORD"}, {"Where do you read your mail? ", "phone, Thunderbird"}, {"May it ask you by letter? [y/N] ", ""}},
	"hinged undo --learning 2d":             {{"[y/N] ", "y"}},
}

// answer is what is typed once a command has asked.
type answer struct{ question, text string }

// command is one command of a page, or a file to be written.
type command struct {
	text string
	path string // "": a command
	page string
	line int
}

// at tells where it stands.
func (c command) at() string { return fmt.Sprintf("%s:%d: %s", c.page, c.line, c.text) }

var (
	fence    = regexp.MustCompile("^```(\\w*)$")
	filePath = regexp.MustCompile(`^# ([~/][^ ]*)$`)
)

// commandsOf reads the commands of a page, in order.
func commandsOf(page string, text []byte) ([]command, error) {
	var out []command
	kind, open, lastOpened := "", false, 0
	var part string // of a command that goes on in the next line, or of a file
	var path string // of a file
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if m := fence.FindStringSubmatch(line); m != nil {
			if open = !open; !open && path != "" {
				out = append(out, command{part, path, page, n})
				part, path = "", ""
			}
			if open {
				kind, lastOpened = m[1], n
				switch kind {
				case "sh", "console", "text", "toml", "ini", "sieve", "json":
				default:
					return nil, fmt.Errorf("%s:%d: a block of kind %q; want one that says whether it is to be run", page, n, kind)
				}
			}
			continue
		}
		if m := filePath.FindStringSubmatch(line); open && m != nil && lastOpened == n-1 && (kind == "toml" || kind == "ini") {
			path = m[1]
			continue
		}
		if path != "" {
			part += line + "\n"
			continue
		}
		if !open || kind != "sh" && kind != "console" {
			continue
		}
		if kind == "console" && part == "" {
			rest, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			line = rest
		}
		if part == "" && (strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#")) {
			continue
		}
		part += line
		if strings.HasSuffix(line, `\`) {
			part += "\n"
			continue
		}
		out = append(out, command{part, "", page, n})
		part = ""
	}
	if open || part != "" {
		return nil, fmt.Errorf("%s: a block has no end", page)
	}
	return out, lines.Err()
}

// shortDir makes a directory that other users can look into, with a name that
// leaves room for that of a socket, which has at most 107 bytes.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hd") //nolint:usetesting // the names of t.TempDir are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// busySite is what a server has that serves people for years: quota, access control lists,
// and plugins that protocols name for themselves.
const busySite = `
mail_plugins = $mail_plugins quota acl
protocol imap {
  mail_plugins = $mail_plugins imap_quota imap_acl
}
plugin {
  quota = maildir:User quota
  quota_rule = *:storage=1G
  acl = vfile
}
`

// dovecotOf returns what a page adds to the configuration of Dovecot.
func dovecotOf(page []command) (text string) {
	for _, c := range page {
		if strings.HasPrefix(c.path, "/etc/dovecot/conf.d/") {
			text += c.text
		}
	}
	return text
}

// newReader makes a home with nothing in it but where the checkout comes from,
// and a mail server with what the page says of its configuration.
func newReader(t *testing.T, page []command) *reader {
	t.Helper()
	home := shortDir(t)
	r := &reader{t: t, home: home, dir: home, machine: shortDir(t)}
	server := testkit.DovecotOptions{Users: []string{"me@example.org"}}
	if text := dovecotOf(page); text != "" {
		server.Users = []string{"ann@example.org", "bob@example.org"}
		server.Config = busySite + strings.ReplaceAll(text, "/etc/", r.machine+"/etc/")
	}
	r.mailbox = newMailbox(t, server)
	run := filepath.Join(home, ".run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	trust := filepath.Join(home, ".trust.pem")
	testkit.Write(t, trust, r.certificate)
	r.env = []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + run, "USER=me", "LANG=C.UTF-8", "TERM=dumb",
		"PATH=" + filepath.Join(home, ".local/bin") + ":" + filepath.Join(r.machine, "usr/local/bin") + ":" + os.Getenv("PATH"),
		"SSL_CERT_FILE=" + trust,
		// Where make, doveadm, git and hinged look for the machine's own.
		"PREFIX=" + filepath.Join(r.machine, "usr/local"),
		"CONFIG_FILE=" + filepath.Join(r.imap.Mail("x"), "../../../dovecot.conf"),
		"GIT_CONFIG_NOSYSTEM=1",
		"SOON=", // make demo compiles as the other builds do: a minute of processor time less
	}
	// A reader who is not root has a configuration in the home, root one in /etc;
	// whoever runs this test writes to neither.
	place := filepath.Join(home, ".config/hinged/hinged.toml")
	if slices.ContainsFunc(page, func(c command) bool { return c.path == "/etc/hinged/hinged.toml" }) {
		place = filepath.Join(r.machine, "etc/hinged/hinged.toml")
	}
	r.env = append(r.env, "HINGED_CONFIG="+place)
	// Another home must not mean another cache: everything would be fetched and
	// compiled again.
	for _, name := range []string{"CGO_ENABLED", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOTOOLCHAIN", "GOSUMDB"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		r.env = append(r.env, name+"="+strings.TrimSpace(string(out)))
	}
	r.publish()
	return r
}

// publish makes the working tree what `git clone` of the project gets.
func (r *reader) publish() {
	r.t.Helper()
	origin := filepath.Join(r.home, ".origin")
	git := func(dir string, args ...string) []byte {
		r.t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "safe.directory=*", "-C", dir}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			r.t.Fatalf("git %v: %v", args, err)
		}
		return out
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(git("../..", "ls-files", "-z", "-co", "--exclude-standard")), "\x00"), "\x00") {
		from := filepath.Join("../..", name)
		info, err := os.Stat(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		}
		if err != nil {
			r.t.Fatal(err)
		}
		data := testkit.Read(r.t, from)
		to := filepath.Join(origin, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(to, data, info.Mode().Perm()); err != nil {
			r.t.Fatal(err)
		}
	}
	git(origin, "init", "-q")
	git(origin, "add", "-A")
	git(origin, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "the working tree")
	config := fmt.Sprintf("[url %q]\n\tinsteadOf = https://github.com/hinged/hinged\n[safe]\n\tdirectory = *\n", origin)
	testkit.Write(r.t, filepath.Join(r.home, ".gitconfig"), config)
}

func TestThePagesCommandsRunAsPrinted(t *testing.T) {
	t.Parallel()
	need(t, "bash", "git", "make", "script")
	used := map[string]bool{}
	for _, page := range sessions {
		text := testkit.Read(t, filepath.Join("../..", page))
		commands, err := commandsOf(page, text)
		if err != nil {
			t.Fatal(err)
		}
		if len(commands) < 5 {
			t.Errorf("%s has only %d commands", page, len(commands))
		}
		for _, c := range commands {
			used[c.text] = true
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			if slices.Contains(asRoot, page) && os.Geteuid() != 0 {
				if os.Getenv("CI") == "true" {
					t.Fatal("not root, and CI=true")
				}
				t.Skip("SKIPPED: its commands are for root")
			}
			need(t, needs[page]...)
			var broker *testkit.Kafka
			if bytes.Contains(text, []byte("kafka.example.org:9092")) {
				broker = testkit.StartKafka(t, testkit.KafkaOptions{})
			}
			r := newReader(t, commands)
			r.kafka = broker
			for _, c := range commands {
				if c.path != "" {
					r.write(c)
					continue
				}
				if why, ok := leftOut[c.text]; ok {
					t.Logf("%s\nnot run: %s", c.at(), why)
					continue
				}
				if until, ok := meanwhile[page][c.text]; ok {
					r.keep(c, until)
					continue
				}
				r.follow(c)
			}
			r.unharmed()
		})
	}
	for _, text := range slices.Concat(slices.Collect(maps.Keys(leftOut)), slices.Collect(maps.Keys(endless)), slices.Collect(maps.Keys(typed)), slices.Collect(maps.Keys(prints))) {
		if !used[text] {
			t.Errorf("%q is in a table of this test and on no page", text)
		}
	}
}

// A page that nobody follows would rot.
func TestEveryPageWithCommandsIsFollowed(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages (%v)", err)
	}
	for _, path := range append(pages, "../../README.md") {
		page := strings.TrimPrefix(path, "../../")
		text := testkit.Read(t, path)
		commands, err := commandsOf(page, text)
		if err != nil {
			t.Error(err)
		}
		if len(commands) > 0 && !slices.Contains(sessions, page) && elsewhere[page] == "" {
			t.Errorf("%s has commands and is not among the pages that are followed", page)
		}
	}
}
