// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/testkit"
)

var errFull = errors.New("no space left")

// full is standard output on a disk with room for so many bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAMessageThatDidNotComeOutWholeMustBeTriedAgain(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		stdin  io.Reader
		stdout io.Writer
		want   int
		says   string
	}{
		{[]string{"-p"}, strings.NewReader("Subject: a\n\nb"), &full{}, exitAgain, "writing the message: no space left"},
		{[]string{"-p", "-e"}, strings.NewReader("Subject: a\n\n" + strings.Repeat("b", 1<<20)), &full{500_000}, exitAgain, "writing the message: no space left"},
		{[]string{"-p", "-e"}, iotest.ErrReader(errFull), io.Discard, exitAgain, "-: no space left"},
		{[]string{"-p", "-e"}, io.MultiReader(strings.NewReader(strings.Repeat("b", 20<<20)), iotest.ErrReader(errFull)), io.Discard, exitAgain, "no space left"},
		{nil, iotest.ErrReader(errFull), io.Discard, cli.ExitFailed, "-: no space left"},
	} {
		var errs bytes.Buffer
		code := run(t.Context(), append([]string{"classify", "--socket", filepath.Join(t.TempDir(), "none")}, tt.args...), tt.stdin, tt.stdout, &errs)
		if code != tt.want || !strings.Contains(errs.String(), tt.says) {
			t.Errorf("%q: got exit code %d and %q, want %d and %q", tt.args, code, errs.String(), tt.want, tt.says)
		}
	}
}

// What is far longer than anything that is read to decide passes through whole.
func TestALongMessagePassesThroughWhole(t *testing.T) {
	dir := t.TempDir()
	toml := `
state_dir = "state"
[[account]]
name = "me"
owner = ["owner@example.org"]
imap = {address = "127.0.0.1:1", tls = "none", username = "me", password_file = "password"}
featurize = {max_bytes = 4096}
`
	testkit.Write(t, filepath.Join(dir, "hinged.toml"), toml)
	body := strings.Repeat("X-Hinged-Status: in the body\r\n", 1_000_000)
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"classify", "-p", "--config", filepath.Join(dir, "hinged.toml")},
		strings.NewReader("X-Hinged-Status: important\r\nSubject: a\r\n\r\n"+body), &out, &errs)
	if code != cli.ExitFailed || !strings.Contains(errs.String(), "passed through without a decision") {
		t.Errorf("got exit code %d and %q", code, errs.String())
	}
	if out.String() != "Subject: a\r\n\r\n"+body {
		t.Errorf("got %d bytes that begin with %.60q", out.Len(), out.String())
	}
}
