// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rivo/uniseg"

	"github.com/hinged/hinged/internal/testkit"
)

// onTerminal runs hinged on a terminal of 80 columns and returns what it shows. With
// apart, standard error is not shown: a progress bar is there.
func onTerminal(t *testing.T, apart bool, args ...string) string {
	t.Helper()
	cmd := exec.Command("hinged", args...)
	if apart {
		cmd.Stderr = io.Discard
	}
	screen, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	shown, _ := io.ReadAll(screen) // it ends with an error, when the other end is closed
	_ = cmd.Wait()                 // some fail, as they should
	return strings.ReplaceAll(string(shown), "\r\n", "\n")
}

// piped runs hinged where there is no terminal.
func piped(apart bool, args ...string) string {
	cmd := exec.Command("hinged", args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	if !apart {
		cmd.Stderr = &out
	}
	_ = cmd.Run() // some fail, as they should
	return out.String()
}

// TestNothingIsBrokenAtEightyColumns compares what is shown on a narrow terminal with what
// a pipe gets: no line is wider, and the words are the same.
func TestNothingIsBrokenAtEightyColumns(t *testing.T) {
	testkit.Computes(t)
	// Among the words are wide characters and combining ones, and no space for long.
	const wide = "会議の議事録と来週の予定についてのお知らせですのでご確認くださいますようお願い申し上げます"
	combining := strings.Repeat("Cafe\u0301 cre\u0300me ", 12)
	f := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := f.Owner(t)
	mail := testkit.NewMail(3)
	for i := range 240 {
		m := mail.Next()
		subject := []string{wide + wide, combining, wide + " " + combining}[i%3]
		raw := bytes.Replace(m.Raw, []byte("Subject: "), []byte("Subject: =?utf-8?B?"+base64.StdEncoding.EncodeToString([]byte(subject))+"?=\r\n "), 1)
		flags := []string{`\Seen`, "$Junk"}
		if m.Important {
			flags = []string{`\Seen`, `\Flagged`, "$MailFlagBit0", "$label1"}
		}
		owner.Append("INBOX", raw, time.Now().Add(time.Duration(i-240)*time.Hour), flags...)
	}
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(f.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	letter := filepath.Join(dir, "letter.eml")
	if err := os.WriteFile(letter, mail.Next().Raw, 0o600); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "hinged.toml")
	initArgs := []string{"init", "--force", "--letters=false", "--config", conf, "--address", f.User, "--name", "owner", "--reads", "phone, Thunderbird, Evolution, NeoMutt",
		"--server", f.Addr, "--tls", "none", "--password-file", secret, "--state-dir", filepath.Join(dir, "state")}
	type run struct {
		args  []string
		apart bool
		want  string // a long line that must be there
	}
	runs := []run{
		{initArgs, false, "The star is seen in"},
		{[]string{"check", "--config", conf}, false, "is seen in every mail program that hinged knows"},
		{[]string{"status", "--config", conf}, false, "nothing has been learnt yet"},
		{[]string{"bootstrap", "--config", conf, "--months", "0", "--dry-run", "--last", "240"}, true, "会議の"},
		{[]string{"bootstrap", "--config", conf, "--months", "0"}, true, "Next: hinged run"},
		{[]string{"status", "--config", conf}, false, "false alarms"},
		{[]string{"explain", "--config", conf, letter}, false, " score"},
		{[]string{"explain", "--config", conf}, false, "towards important"},
		{[]string{"ledger", "--config", conf}, false, "marks"},
		{[]string{"status", "--ceiling", "--config", conf}, false, "owner"},
		{[]string{"eval", "--config", conf, "--set", "learner.kind=perceptron", "--set", "threshold.mode=budget", "--set", "threshold.share=0.3"}, true, "would mark"},
		{[]string{"verify", "--config", conf}, false, "as committed"},
		{[]string{"undo", "--marks", "--dry-run", "--config", conf}, false, "0 marks"},
		{[]string{"status", "--config", filepath.Join(dir, "none.toml")}, false, "writes one for your mailbox"},
		{[]string{"eval", "--lables", "x"}, false, "did you mean --labels"},
		{[]string{"init", "--reads", wide, "--address", "a@example.org", "--password-command", "X"}, false, "is not a mail program"},
		{[]string{"--help"}, false, "To correct and stop"},
	}
	for _, verb := range verbNames() {
		runs = append(runs, run{[]string{verb, "--help"}, false, "Usage:"})
	}
	for _, r := range runs {
		name := fmt.Sprint(r.args[:min(2, len(r.args))])
		before := clone(t, filepath.Join(dir, "state"))
		whole := piped(r.apart, r.args...)
		before.put(t)
		shown := onTerminal(t, r.apart, r.args...)
		if !strings.Contains(strings.Join(strings.Fields(shown), " "), r.want) {
			t.Errorf("%s: %q is not in\n%s", name, r.want, shown)
		}
		for line := range strings.Lines(shown) {
			line = strings.TrimSuffix(line, "\n")
			if n := uniseg.StringWidth(line); n > 80 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		// How long bound took, to a tenth of a second, differs from run to run.
		shown, whole = found.ReplaceAllString(shown, "found${1}in${2}0.0"), found.ReplaceAllString(whole, "found${1}in${2}0.0")
		words := strings.Fields(whole)
		for _, w := range strings.Fields(shown) {
			if !slices.Contains(words, w) && !strings.ContainsFunc(w, func(r rune) bool { return r > 0x1100 }) {
				t.Errorf("%s: there is no word %q in\n%s", name, w, whole)
			}
		}
		if letters(shown) != letters(whole) {
			t.Errorf("%s: on the terminal\n%s\nelsewhere\n%s", name, shown, whole)
		}
	}
}

var found = regexp.MustCompile(`found(\s+)in(\s+)\d+\.\d\b`)

// letters is a text without its spaces and line ends.
func letters(text string) string { return strings.Join(strings.Fields(text), "") }

// tree is a directory as it was.
type tree struct {
	dir, copy string
	there     bool
}

func clone(t *testing.T, dir string) tree {
	t.Helper()
	c := tree{dir: dir, copy: filepath.Join(t.TempDir(), "copy")}
	if _, err := os.Stat(dir); err != nil {
		return c
	}
	c.there = true
	if err := os.CopyFS(c.copy, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return c
}

// put brings the directory back.
func (c tree) put(t *testing.T) {
	t.Helper()
	err := os.RemoveAll(c.dir)
	if err == nil && c.there {
		err = os.CopyFS(c.dir, os.DirFS(c.copy))
	}
	if err == nil && c.there {
		err = os.Chmod(c.dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}
