// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/face/cli"
)

// hinged runs the program in this process.
func hinged(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// verbNames are the names of all verbs, help and topics of the help aside.
func verbNames() []string {
	var names []string
	for _, c := range rootCommand().Commands() {
		if c.Name() != "help" && !c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func TestEveryUsageErrorHasItsHint(t *testing.T) {
	mail := filepath.Join(t.TempDir(), "m.eml")
	if err := os.WriteFile(mail, []byte("Subject: x\n\nx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	type test struct{ args, want, hint string }
	tests := []test{
		{"nonsense", `unknown verb "nonsense"`, "hinged --help"},
		{"statsu", `unknown verb "statsu"; did you mean "status"?`, "hinged status --help"},
		{"eval --lables x", "unknown flag: --lables; did you mean --labels?", "hinged eval --help"},
		{"--nonsense", "unknown flag: --nonsense", "hinged --help"},
		{"classify --timeout 0s", "--timeout is 0s, want a time above 0", "hinged classify --help"},
		{"classify --timeout soon", `invalid argument "soon"`, "hinged classify --help"},
		{"classify -p --json", "choose one of them", "hinged classify --help"},
		{"classify -p a b", "--passthrough takes one message, got 2 files", "hinged classify --help"},
		{"classify --socket a --config b", "excludes --config", "hinged classify --help"},
		{"explain a b", `and nothing more, got "b"`, "hinged explain --help"},
		{"explain --word x y", "takes a message or --word, and not both", "hinged explain --help"},
		{"learn -n 0", "-n is 0, want 1 or more", "hinged learn --help"},
		{"learn --since soon", "--since soon: want how long ago (7d, 12h), a date", "hinged learn --help"},
		{"forget --before 2999-01-01 --yes", "that is in the future", "hinged forget --help"},
		{"undo --learning 2999-01-01 --yes", "that is in the future", "hinged undo --help"},
		{"undo --marks --yes", "--yes is for --learning", "hinged undo --help"},
		{"undo --marks --wait 0s", "--wait is 0s, want a time above 0", "hinged undo --help"},
		{"ledger a b", `and nothing more, got "b"`, "hinged ledger --help"},
		{"ledger -n -1", "--number is -1, want 0 or more", "hinged ledger --help"},
		{"ledger --since soon", "want how long ago (7d, 12h), a date", "hinged ledger --help"},
		{"ledger --state lost", "want one of intended, confirmed, refused, abandoned, undoing, undone", "hinged ledger --help"},
		{"learn x", "needs --important or --ordinary", "hinged learn --help"},
		{"learn --important --ordinary x", "and not both", "hinged learn --help"},
		{"learn --important", "needs a Message-ID, the key of a message, or a file", "hinged learn --help"},
		{"eval " + mail, "need the owner's addresses", "hinged eval --help"},
		{"eval --owner me@example.org " + mail, "no message is from the owner", "hinged eval --help"},
		{"eval --owner me " + mail, `--owner "me" is not a bare address`, "hinged eval --help"},
		{"eval --owner me@example.org -", "standard input", "hinged eval --help"},
		{"eval --important " + mail, "both important and ordinary", "hinged eval --help"},
		{"eval --important a --ordinary b " + mail, "combined with other archives", "hinged eval --help"},
		{"eval --important a --ordinary b --feedback delayed", "have no time of their own", "hinged eval --help"},
		{"eval --feedback soon " + mail, "want one of immediate, delayed", "hinged eval --help"},
		{"eval --set learner.kind=svm " + mail, "learner.kind: unknown choice, got \"svm\"", "hinged eval --help"},
		{"eval --set learner.kind=margin --set learner.aggressiveness=1 " + mail, "--set:2: learner.aggressiveness: has no effect", "hinged eval --help"},
		{"eval --set threshold.mode=fixed --set threshold.value=nan " + mail, "--set:2: threshold.value: not a finite number", "hinged eval --help"},
		{"eval --set kind " + mail, "not a setting, got \"kind\"", "hinged eval --help"},
	}
	for _, c := range rootCommand().Commands() {
		verb := c.Name()
		if verb == "help" || c.IsAdditionalHelpTopicCommand() {
			continue
		}
		tests = append(tests, test{verb + " --nonsense", "unknown flag: --nonsense", "hinged " + verb + " --help"})
		if _, takes, _ := strings.Cut(c.Use, " "); takes == "" && !c.HasSubCommands() {
			tests = append(tests, test{verb + " extra", "hinged " + verb + ` takes no arguments, got "extra"`, "hinged " + verb + " --help"})
		}
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.args, mail, "FILE"), func(t *testing.T) {
			code, stdout, stderr := hinged(t, strings.Fields(tt.args)...)
			if code != cli.ExitUsage {
				t.Errorf("got exit code %d, want %d", code, cli.ExitUsage)
			}
			if !strings.HasPrefix(stderr, "hinged: ") || !strings.Contains(stderr, tt.want) || !strings.HasSuffix(stderr, "\nTry: "+tt.hint+"\n") {
				t.Errorf("got %q, want %q and the hint %q", stderr, tt.want, tt.hint)
			}
			if stdout != "" {
				t.Errorf("got %q on standard output", stdout)
			}
			if code, out, _ := hinged(t, strings.Fields(tt.hint)[1:]...); code != cli.ExitOK || !strings.Contains(out, "Usage:") {
				t.Errorf("the hint %q does not help: exit code %d, %q", tt.hint, code, out)
			}
		})
	}
}
