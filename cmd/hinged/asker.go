// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/hinged/hinged/internal/face/cli"
)

// exitStopped is the exit code after Ctrl-C, as shells have it: 128 and the signal's
// number.
const exitStopped = 130

// errStopped is returned when the owner ends a question, or init, with Ctrl-C or Ctrl-D,
// or a signal does.
var errStopped error = &cli.ExitError{Code: exitStopped, Err: errors.New("stopped; nothing was written")}

// answerColumns is the room that is left for an answer.
const answerColumns = 10

type asker struct {
	in  *os.File
	out io.Writer
}

// newAsker returns nil where nobody can be asked.
func newAsker(in io.Reader, out io.Writer) *asker {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &asker{f, out}
}

// quiet keeps the terminal from showing what is typed while nobody asks, until end is
// called or ctx ends. What was typed by then and nobody read is thrown away: it may be a
// password, and would go to the shell.
func (a *asker) quiet(ctx context.Context) (end func()) {
	if a == nil {
		return func() {}
	}
	restore, err := muteTerminal(int(a.in.Fd()))
	if err != nil {
		return func() {} // questions still work, and secrets are not shown while asked for
	}
	// A second signal ends the process at once, so this can't wait for the caller. A
	// question that ctx ends may still mute the terminal after that; the caller comes last.
	stop := context.AfterFunc(ctx, restore)
	return func() {
		stop()
		restore()
	}
}

// forget throws away what was typed and nobody read, so that it answers no question.
func (a *asker) forget() {
	if a != nil {
		_ = flushTerminal(int(a.in.Fd())) // what can't be thrown away is read
	}
}

// line asks for one line. secret lines are not shown.
func (a *asker) line(ctx context.Context, prompt string, secret bool) (string, error) {
	if ctx.Err() != nil {
		return "", errStopped
	}
	columns, _ := cli.Columns(a.out)
	// All but the last line of a long question; the terminal shows that, and the answer.
	wrapped := cli.Wrap(strings.TrimRight(prompt, " "), columns-answerColumns)
	if end := strings.LastIndexByte(wrapped, '\n') + 1; end > 0 {
		fmt.Fprint(a.out, wrapped[:end])
		prompt = wrapped[end:] + " "
	}
	old, err := term.MakeRaw(int(a.in.Fd()))
	if err != nil {
		return "", fmt.Errorf("asking on the terminal: %w", err)
	}
	restore := func() {
		_ = term.Restore(int(a.in.Fd()), old) // there is nobody to tell
	}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{a.in, a.out}, prompt)
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	// The read cannot be interrupted; when a signal ends the wait, the process is
	// about to end, and with it the read.
	go func() {
		var r answer
		if secret {
			r.text, r.err = t.ReadPassword(prompt)
		} else {
			r.text, r.err = t.ReadLine()
		}
		got <- r
	}()
	select {
	case r := <-got:
		restore()
		if errors.Is(r.err, io.EOF) {
			fmt.Fprintln(a.out)
			return "", errStopped
		}
		return r.text, r.err
	case <-ctx.Done():
		restore()
		fmt.Fprintln(a.out)
		return "", errStopped
	}
}

func (a *asker) yes(ctx context.Context, question string) (bool, error) {
	text, err := a.line(ctx, question+" [y/N] ", false)
	text = strings.ToLower(strings.TrimSpace(text))
	return text == "y" || text == "yes", err
}
