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
)

// errNotAnswered is returned when the owner ends a question with Ctrl-C or
// Ctrl-D, or a signal ends it.
var errNotAnswered = errors.New("not answered: hinged wrote nothing")

// asker asks questions on a terminal.
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

// line asks for one line. secret lines are not shown.
func (a *asker) line(ctx context.Context, prompt string, secret bool) (string, error) {
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
			return "", errNotAnswered
		}
		return r.text, r.err
	case <-ctx.Done():
		restore()
		fmt.Fprintln(a.out)
		return "", errNotAnswered
	}
}

// yes asks for a yes; anything else is a no.
func (a *asker) yes(ctx context.Context, question string) bool {
	text, err := a.line(ctx, question+" [y/N] ", false)
	text = strings.ToLower(strings.TrimSpace(text))
	return err == nil && (text == "y" || text == "yes")
}
