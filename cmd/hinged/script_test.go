// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/lab/verbs"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/testkit"
)

func TestMain(m *testing.M) {
	testscript.Main(homeless{m}, map[string]func(){
		"hinged":      func() { program(patience) },
		"hinged-main": main, // with the patience that users have
		"hinged-lab":  verbs.Main,
	})
}

// homeless runs the tests in a home of their own: whoever runs them may run hinged, too.
type homeless struct{ m *testing.M }

// Run implements testscript.TestingM.
func (h homeless) Run() int {
	home, err := os.MkdirTemp("", "hinged-home-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY", "HINGED_CONFIG"} {
		_ = os.Unsetenv(name) // never fails for such names
	}
	if err := os.Setenv("HOME", home); err != nil {
		panic(err)
	}
	return h.m.Run()
}

// TestScripts runs without the race detector, under which a hundred short processes take
// three times as long. What may race in the daemon is tested where it is written, and by
// TestScriptsThatRace.
func TestScripts(t *testing.T) {
	testkit.Computes(t)
	runScripts(t, false)
}

// TestScriptsThatRace runs the scripts in which a daemon does much at a time.
func TestScriptsThatRace(t *testing.T) { runScripts(t, true) }

// races is the first line of a script that make test runs under the race detector.
const races = "# Races."

func runScripts(t *testing.T, racing bool) {
	all, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var scripts []string
	for _, path := range all {
		text := testkit.Read(t, path)
		if bytes.HasPrefix(text, []byte(races)) == racing {
			scripts = append(scripts, path)
		}
	}
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       exits,
			"seed":        seed,
			"waitfor":     waitfor,
			"mbox":        mbox,
			"halve":       halve,
			"deaf":        deaf,
			"imap":        imapServer(t),
			"kafka":       kafkaServer(),
			"incoming":    incoming,
			"recreate":    recreate,
			"stopped":     stopped,
			"takenover":   takenOver,
			"badrecords":  badRecords,
			"appendto":    appendTo,
			"samedigests": samedigests,
			"caughtup":    caughtup,
			"schema":      schemaCommand,
			"agree":       agree,
			"digests":     digests,
			"gone":        gone,
			"lookin":      lookin,
			"alike":       alike,
			"next":        nextSaid,
			"page":        page,
		},
		Setup: func(env *testscript.Env) error {
			// The scripts that write a configuration of their own unset it.
			env.Setenv("HINGED_CONFIG", "hinged.toml")
			// How the race detector is to behave, if it is there.
			env.Setenv("GORACE", os.Getenv("GORACE"))
			// Dovecot runs as users of its own, who must get to their files.
			return os.Chmod(filepath.Dir(env.WorkDir), 0o711)
		},
	})
}

// exits runs a command and wants an exit code, or one of several: exits 0|1
// hinged status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [argument…]")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if !slices.Contains(strings.Split(args[0], "|"), code) {
		ts.Fatalf("got exit code %s, want %s", code, args[0])
	}
}

// agree wants one number to be the same in several JSON objects: agree key file…
// Negated, it wants two to differ.
func agree(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || neg && len(args) != 3 {
		ts.Fatalf("usage: agree key file file…, or ! agree key file file")
	}
	want := ""
	for i, file := range args[1:] {
		var object map[string]json.RawMessage
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &object))
		got := string(object[args[0]])
		if got == "" || i > 0 && (got != want) != neg {
			ts.Fatalf("%s is %q in %s, %q in %s", args[0], got, file, want, args[1])
		}
		want = got
	}
}

// digests writes the digests of all accounts to a file: digests file [flag…].
func digests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: digests file [flag…]")
	}
	ts.Check(ts.Exec("hinged", append([]string{"verify"}, args[1:]...)...))
	var out strings.Builder
	for _, m := range digestLine.FindAllString(ts.ReadFile("stdout"), -1) {
		out.WriteString(m + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out.String()), 0o600))
}

// nextSaid wants standard error to say that nothing has been learnt, and what to do next.
func nextSaid(ts *testscript.TestScript, neg bool, args []string) {
	said := ts.ReadFile("stderr")
	if neg || len(args) > 0 || !strings.Contains(said, "nothing has been learnt yet: ") || !strings.HasSuffix(said, "/state/hinged.db does not exist\n"+firstSteps+"\n") {
		ts.Fatalf("got\n%s\nwant the next steps: %s", said, firstSteps)
	}
}

// patience is how long a test waits for what must come, on the slowest machine.
const patience = 2 * time.Minute

// waitfor waits until a daemon listens on a socket.
func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor socket")
	}
	deadline := time.Now().Add(patience)
	for {
		c, err := control.Dial(context.Background(), ts.MkAbs(args[0]))
		if err == nil {
			ts.Check(c.Close())
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no daemon: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// mbox writes a generated stream with the owner's answers: mbox file. It is
// compressed when the name ends in .gz.
func mbox(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mbox file")
	}
	all, _ := testkit.Answered(60, 1)
	if strings.HasSuffix(args[0], ".gz") {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(all)
		ts.Check(err)
		ts.Check(z.Close())
		all = packed.Bytes()
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), all, 0o644))
}

// deaf puts something behind a socket that takes every call and answers none, as
// a daemon that hangs: deaf socket.
func deaf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: deaf socket")
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
}

// halve cuts a file in the middle: halve file.
func halve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: halve file")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()/2))
}

// seed runs the daemon of a configuration on generated mail, in which the owner
// has starred what is important and thrown away the rest, and leaves its store
// behind: seed hinged.toml. With "quiet" nothing is done with the last five
// messages. With "short" a second passes between any two events, and only the last
// lessons are kept. With "owed" all mail came four days ago, and the owner asked something in two
// letters, to the second of which an answer came. With "deaf" the last message comes 45 days after the last lesson. It
// writes the last message to last.eml, which is
// ordinary, and the last important one to important.eml.
func seed(ts *testscript.TestScript, neg bool, args []string) {
	how := append(args, "", "")[1]
	if neg || len(args) < 1 || len(args) > 2 || !slices.Contains([]string{"", "quiet", "short", "deaf", "owed"}, how) {
		ts.Fatalf("usage: seed config [quiet|short|deaf|owed]")
	}
	c, err := config.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	o, err := daemonOptions(c, slog.New(slog.DiscardHandler))
	ts.Check(err)
	// Later than all the mail, and the same on every run.
	var seconds atomic.Int64
	o.Now = func() time.Time { return time.Date(2024, 3, 1, 0, 0, int(seconds.Load()), 0, time.UTC) }
	if how == "owed" {
		ago := time.Now().Add(-4 * 24 * time.Hour)
		o.Now = func() time.Time { return ago }
	}
	s := &scripted{done: make(chan struct{}), how: how, seconds: &seconds}
	if how == "short" { // the store lets go, and so does the account
		o.Store.CheckpointEvery, o.Store.JournalCap = 2, 20
	}
	for i := range o.Accounts {
		if how == "short" {
			o.Accounts[i].Filter.Limits.Journal = 20
		}
		o.Accounts[i].NewSource = func([]ingest.Known) (ingest.Source, error) { return s, nil }
	}
	d, err := daemon.New(o)
	ts.Check(err)
	if how == "short" || how == "deaf" {
		s.learnt = func(ctx context.Context, n uint64) error {
			for ; ; time.Sleep(time.Millisecond) {
				if now, err := d.Status(ctx); err != nil || now.Accounts[0].Important+now.Accounts[0].Ordinary >= n {
					return err
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-s.done
		cancel()
	}()
	ts.Check(d.Run(ctx))
	ts.Check(d.Close())
	ts.Check(os.WriteFile(filepath.Join(filepath.Dir(ts.MkAbs(args[0])), "last.eml"), s.last, 0o644))
	ts.Check(os.WriteFile(filepath.Join(filepath.Dir(ts.MkAbs(args[0])), "important.eml"), s.important, 0o644))
}

// scripted is a source that reports some mail and is done.
type scripted struct {
	last, important []byte
	done            chan struct{}
	how             string        // as the script says
	seconds         *atomic.Int64 // of the daemon's clock
	// learnt, if any, waits until so many lessons are committed.
	learnt func(ctx context.Context, n uint64) error
}

// asks has the owner ask something.
func (s *scripted) asks(send func(...ingest.Event) error) error {
	if s.how != "owed" {
		return nil
	}
	letter := func(mailbox string, uid uint32, header, words string) ingest.Event {
		raw := []byte(header + "\r\n\r\n" + words + "\r\n")
		return ingest.Arrival{Place: ingest.Place{Mailbox: mailbox, UIDValidity: 1, UID: uid}, Internal: time.Now().Add(-4 * 24 * time.Hour), Raw: raw, Size: int64(len(raw))}
	}
	return send(
		ingest.MailboxOpened{Mailbox: "Sent", Role: ingest.RoleSent, UIDValidity: 1, Keywords: true},
		letter("Sent", 1, "From: owner@example.org\r\nTo: colleague@example.com\r\nSubject: Plan\r\nMessage-ID: <asked@example.org>", "Shall we?"),
		letter("Sent", 2, "From: owner@example.org\r\nTo: friend@example.com\r\nSubject: Lunch\r\nMessage-ID: <lunch@example.org>", "At noon?"),
		letter("INBOX", 41, "From: friend@example.com\r\nTo: owner@example.org\r\nSubject: Re: Lunch\r\nMessage-ID: <yes@example.com>\r\nIn-Reply-To: <lunch@example.org>", "Yes."),
	)
}

func (*scripted) Mark(...ingest.MarkRequest) {}
func (*scripted) Status() ingest.Status      { return ingest.Status{Connected: true} }

func (s *scripted) Run(ctx context.Context, emit ingest.Emit) error {
	mail := testkit.NewMail(1)
	send := func(events ...ingest.Event) error {
		for _, e := range events {
			if err := emit(ctx, e); err != nil {
				return err
			}
		}
		return nil
	}
	if err := send(ingest.MailboxOpened{Mailbox: "INBOX", Role: ingest.RoleInbox, UIDValidity: 1, Keywords: true}); err != nil {
		return err
	}
	for uid := uint32(1); uid <= 40; uid++ {
		m := mail.Next()
		s.last = m.Raw
		place := ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uid}
		flag := `$junk`
		if m.Important {
			flag = `\flagged`
			s.important = m.Raw
		}
		flags := []string{flag}
		switch {
		case s.how == "quiet" && uid > 35:
			flags = nil
		case s.how == "owed":
			m.Date = time.Now().Add(-4 * 24 * time.Hour)
		case s.how == "short":
			s.seconds.Add(1)
		case s.how == "deaf" && uid == 40:
			s.seconds.Add(45 * 24 * 60 * 60)
			flags, m.Date = nil, time.Date(2024, 4, 15, 0, 0, 0, 0, time.UTC)
		}
		if err := send(
			ingest.Arrival{Place: place, Internal: m.Date, Raw: m.Raw, Size: int64(len(m.Raw))},
			ingest.FlagsChanged{Place: place, Flags: flags},
			ingest.Cursor{Mailbox: "INBOX", UIDValidity: 1, UIDNext: uid + 1},
		); err != nil {
			return err
		}
		if s.learnt != nil && flags != nil {
			if err := s.learnt(ctx, uint64(uid)); err != nil {
				return err
			}
		}
	}
	if err := s.asks(send); err != nil {
		return err
	}
	close(s.done)
	<-ctx.Done()
	return nil
}

// The configuration's message for every mistake is tested there; here, that all
// of them reach standard error and the exit code.
func TestAnUnreadableConfigurationIsNoUsageError(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"status", "--config", filepath.Join(t.TempDir(), "none.toml")}, strings.NewReader(""), &out, &errs)
	if code != cli.ExitFailed || !strings.Contains(errs.String(), "no such file") {
		t.Errorf("got exit code %d and %q", code, errs.String())
	}
}

// imapServer starts an IMAP server of two messages for a script, sets $IMAP to
// its address and writes a configuration for it, there.toml: imap [what]. "refuse" takes no password, "bare" has no IDLE, no
// CONDSTORE and keeps no new keywords, "mute" says nothing, "sticky" keeps what
// was set on a message.
func imapServer(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) > 1 {
			ts.Fatalf("usage: imap [refuse|bare|mute|sticky]")
		}
		what := strings.Join(args, "")
		f := testkit.StartFake(t, func(f *testkit.Fake) {
			f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
				switch {
				case what == "refuse" && cmd.Name == "AUTHENTICATE":
					c.Line("%s NO [AUTHENTICATIONFAILED] Authentication failed.", cmd.Tag)
				case what == "sticky" && cmd.Name == "UID STORE" && strings.Contains(cmd.Args, "-FLAGS"):
					c.Line("%s NO not today", cmd.Tag)
				case what == "mute":
					c.Mute()
				default:
					return false
				}
				return true
			}
			switch what {
			case "bare":
				f.Caps, f.Permanent = "IMAP4rev1 AUTH=PLAIN", `\Answered \Flagged \Deleted \Seen \Draft`
			case "", "refuse", "mute", "sticky":
			default:
				ts.Fatalf("no such server: %s", what)
			}
		})
		f.Add("Subject: one\r\n\r\none", `\Seen $label1`)
		f.Add("Subject: two\r\n\r\ntwo", `$MailFlagBit0`)
		ts.Setenv("IMAP", f.Addr)
		ts.Check(os.WriteFile(ts.MkAbs("there.toml"), fmt.Appendf(nil, `state_dir = "state"
[[account]]
name = "me"
owner = ["owner@example.org"]
imap = {address = %q, tls = "none", username = "owner@example.org", password_file = "password"}
`, f.Addr), 0o600))
	}
}
