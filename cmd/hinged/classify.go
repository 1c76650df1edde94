// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/host/passthrough"
	"github.com/hinged/hinged/store/boltfile"
)

// Exit codes of one decided message beside 0, important. They are no code of a shell (1,
// 2, 126 and above), of a Go program that crashed (2) or of sysexits.h (64 to 78), so that
// a filter that dies, for want of memory say, is never taken for a decision.
const (
	exitOrdinary = 10
	exitUnsure   = 11
	// exitAgain: the message did not come out whole, and nothing may be done with what
	// did (EX_TEMPFAIL).
	exitAgain = 75
)

func classifyCommand() *cobra.Command {
	v := &classifying{}
	c := &cobra.Command{
		Use:   "classify [FILE…]",
		Short: "Decide messages as if they had just arrived, also as a mail filter",
		Long: `Decide the message on standard input, or each one in FILE (a message, an mbox, a
Maildir, a folder), as if it had just arrived. Nothing is learnt, marked or
stored. classify asks the running daemon; if none runs, it reads the store.

For one message the exit code is 0 (important), 10 (ordinary) or 11 (unsure);
for several it is 0. Every other code means that there is no decision, or with
several messages that some could not be read; all others are decided then.

As a mail filter it accepts bogofilter's flags. With --passthrough it writes the
message unchanged, except that it adds X-Hinged-Status and X-Hinged-Reason at
the top and removes such fields if somebody forged them. If it can't get a
decision, it writes the message without these two fields, prints the error on
standard error, and exits with the code of the error, or with 0 if --embed is
set. Exit code 75 means that the message was not written completely and must be
delivered in another way.`,
		Example: `  $ hinged classify message.eml
  message.eml: important, score +1.274, threshold +0.801
  $ hinged classify -p < message.eml
  X-Hinged-Status: important; score=+1.27; threshold=0.80
  X-Hinged-Reason: from ann@example.org +0.412; "invoice" in the subject +0.210
  From: ann@example.org
  …
  $ hinged classify -q < message.eml; echo $?
  0`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A filter holds nothing that has to be put away first: one signal ends it.
			signal.Reset(os.Interrupt, syscall.SIGTERM)
			v.config = configOf(cmd)
			return v.failed(v.run(cmd, args))
		},
	}
	c.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		v.tempfail = v.tempfail || slices.Contains(os.Args, "--tempfail") // it may stand behind the mistake
		return v.failed(cli.UnreadFlag(cmd, err))
	})
	accountFlag(c, &v.account)
	cli.JSONFlag(c, &v.json, "one JSON object a line for each message")
	c.Flags().BoolVarP(&v.passthrough, "passthrough", "p", false, "write the message itself, with the decision in its header")
	c.Flags().BoolVarP(&v.embed, "embed", "e", false, "exit code 0 for every decision; with --passthrough also without\na decision, if the message was written completely")
	c.Flags().BoolVarP(&v.quiet, "quiet", "q", false, "write nothing; the exit code is the decision")
	c.Flags().BoolVar(&v.tempfail, "tempfail", false, "exit code 75 after any error, so that a mail server tries again later")
	c.Flags().StringVar(&v.socket, "socket", "", "ask the daemon that listens here, and read no configuration")
	c.Flags().DurationVar(&v.timeout, "timeout", 5*time.Second, "how long a decision may take")
	return c
}

type classifying struct {
	config, account, socket string
	timeout                 time.Duration

	passthrough, embed, quiet, tempfail, json bool
}

// failed gives every error the exit code of --tempfail. An outcome is none.
func (v *classifying) failed(err error) error {
	var exit *cli.ExitError
	if v.tempfail && err != nil && (!errors.As(err, &exit) || exit.Err != nil) {
		return &cli.ExitError{Code: exitAgain, Err: err}
	}
	return err
}

func (v *classifying) run(cmd *cobra.Command, args []string) error {
	if err := v.check(cmd, args); err != nil {
		return err
	}
	stdin := len(args) == 0 || len(args) == 1 && args[0] == "-"
	if stdin {
		return v.one(cmd, "-", cmd.InOrStdin())
	}
	if v.passthrough {
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		return v.one(cmd, args[0], f)
	}
	return v.many(cmd, args)
}

func (v *classifying) check(cmd *cobra.Command, args []string) error {
	switch {
	case v.passthrough && v.json:
		return cli.Misuse(cmd, "--passthrough writes the message, --json does not: choose one of them")
	case v.passthrough && v.quiet:
		return cli.Misuse(cmd, "--passthrough writes the message, --quiet nothing: choose one of them")
	case v.quiet && v.json:
		return cli.Misuse(cmd, "--json writes the decision, --quiet nothing: choose one of them")
	case v.passthrough && len(args) > 1:
		return cli.Misuse(cmd, "--passthrough takes one message, got %d files", len(args))
	case v.timeout <= 0:
		return cli.Misuse(cmd, "--timeout is %s, want a time above 0", v.timeout)
	case v.socket != "" && v.config != "":
		return cli.Misuse(cmd, "--socket reads no configuration, so it excludes --config")
	}
	return nil
}

// one decides the one message that in holds. What it does when there is no
// decision is written in docs/mail-filters.md.
func (v *classifying) one(cmd *cobra.Command, name string, in io.Reader) error {
	connect, most, noConfig := v.backend()
	head, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
		if v.passthrough {
			return &cli.ExitError{Code: exitAgain, Err: err}
		}
		return err
	}
	var c desk.Classification
	if why := archive.Foreign(name, head); why != "" && !v.passthrough {
		return fmt.Errorf("read %s: it is %s", name, why)
	}
	if err = noConfig; err == nil {
		c, err = v.decide(cmd.Context(), connect, head)
	}
	c.File = name
	switch {
	case v.passthrough:
		var fields []byte
		if err == nil {
			fields = c.Fields()
		}
		out := bufio.NewWriter(cmd.OutOrStdout())
		werr := passthrough.Copy(out, io.MultiReader(bytes.NewReader(head), in), fields)
		if ferr := out.Flush(); werr == nil && ferr != nil {
			werr = &passthrough.WriteError{Err: ferr}
		}
		if werr != nil {
			return &cli.ExitError{Code: exitAgain, Err: errors.Join(err, werr)}
		}
		if err != nil {
			err = fmt.Errorf("passed through without a decision: %w", err)
			if v.embed && !v.tempfail {
				return &cli.ExitError{Code: 0, Err: err}
			}
		}
	case err == nil:
		err = v.show(cmd.OutOrStdout(), c)
	}
	if err != nil {
		return err
	}
	return v.told(c.Outcome)
}

func (v *classifying) told(outcome string) error {
	switch {
	case v.embed || outcome == "important":
		return nil
	case outcome == "ordinary":
		return &cli.ExitError{Code: exitOrdinary}
	default:
		return &cli.ExitError{Code: exitUnsure}
	}
}

func (v *classifying) show(w io.Writer, c desk.Classification) error {
	switch {
	case v.quiet:
		return nil
	case v.json:
		return json.NewEncoder(w).Encode(c)
	default:
		_, err := fmt.Fprintf(w, "%s: %s\n", c.File, desk.Verdict(c.Outcome, c.Reason, c.Score, c.Threshold))
		return err
	}
}

// backend finds out whom to ask, and how much of a message to read for that: as
// much as any account does, and one byte, by which a longer one is told.
func (v *classifying) backend() (connect func(context.Context) (*control.At, error), most int64, err error) {
	account := config.DefaultAccount()
	most = int64(account.Featurize.MaxBytes) + 1
	if v.socket != "" {
		return func(ctx context.Context) (*control.At, error) { return control.Dial(ctx, v.socket) }, most, nil
	}
	c, err := config.Load(v.config)
	if err != nil {
		return nil, most, err
	}
	for _, a := range c.Accounts {
		most = max(most, int64(a.Featurize.MaxBytes)+1)
	}
	if c.Kafka != nil {
		most = max(most, int64(c.Kafka.Featurize.MaxBytes)+1)
	}
	// A mail filter opens the store for every message.
	o := boltfile.Options{Unread: true}
	return func(ctx context.Context) (*control.At, error) { return connectTo(ctx, c, o) }, most, nil
}

// decide asks, and waits no longer than it may. A store that takes too long to
// read is left behind: the process is about to end.
func (v *classifying) decide(ctx context.Context, connect func(context.Context) (*control.At, error), raw []byte) (desk.Classification, error) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	type decision struct {
		c   desk.Classification
		err error
	}
	done := make(chan decision, 1)
	go func() {
		var d decision
		// After a crash the message would not come out.
		defer func() {
			if p := recover(); p != nil {
				d.err = fmt.Errorf("deciding: %v", p)
			}
			done <- d
		}()
		at, err := connect(ctx)
		if err != nil {
			d.err = err
			return
		}
		d.c, d.err = control.Ask(ctx, at, desk.Classify, v.account, desk.ClassifyRequest{Mail: raw})
		d.err = errors.Join(d.err, at.Close())
	}()
	select {
	case d := <-done:
		if d.err == nil || ctx.Err() == nil {
			return d.c, d.err
		}
	case <-ctx.Done():
	}
	return desk.Classification{}, noDecision(v.timeout)
}

func (v *classifying) many(cmd *cobra.Command, paths []string) error {
	collectSeldom()
	connect, _, err := v.backend()
	if err != nil {
		return err
	}
	at, err := connect(cmd.Context())
	if err != nil {
		return err
	}
	n, outcome := 0, ""
	// Writing each line by itself takes a thirtieth of the time.
	out := bufio.NewWriter(cmd.OutOrStdout())
	live := slices.Contains(paths, "-") // somebody may wait for each
	from := &reading{stdin: cmd.InOrStdin(), goOn: true}
	err = v.all(cmd.Context(), at, paths, from, func(c desk.Classification) error {
		n++
		outcome = c.Outcome
		err := v.show(out, c)
		if live && err == nil {
			err = out.Flush()
		}
		return err
	})
	if !v.quiet {
		from.note(cmd.ErrOrStderr())
	}
	if failed := out.Flush(); err == nil { // what was decided before an error is told all the same
		err = failed
	}
	if err = errors.Join(errors.Join(from.failed...), err, at.Close()); err != nil || n != 1 {
		return err
	}
	return v.told(outcome)
}

// classify waits for a decision so long and no longer.
func (v *classifying) classify(ctx context.Context, at *control.At, raw []byte) (desk.Classification, error) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	c, err := control.Ask(ctx, at, desk.Classify, v.account, desk.ClassifyRequest{Mail: raw, Brief: !v.json})
	if err != nil && ctx.Err() != nil {
		err = noDecision(v.timeout)
	}
	return c, err
}

func noDecision(within time.Duration) error { return fmt.Errorf("no decision within %s", within) }

func (v *classifying) all(ctx context.Context, at *control.At, paths []string, from *reading, show func(desk.Classification) error) error {
	decide := func(name string, raw []byte) error {
		d, err := v.classify(ctx, at, raw)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		d.File = name
		return show(d)
	}
	for _, path := range paths {
		n := 0
		failed := len(from.failed)
		err := from.each(path, func(m *archive.Message) error {
			n++
			return decide(nameOf(m), m.Raw)
		})
		if err == nil && n == 0 && len(from.failed) == failed {
			if isFile(path) {
				// An empty file is an empty message here: it was named to be decided.
				err = decide(path, nil)
			} else {
				err = from.fail(fmt.Errorf("%s holds no message", path))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nameOf tells the messages of one file apart.
func nameOf(m *archive.Message) string {
	if m.Index == 0 {
		return m.Path
	}
	return fmt.Sprintf("%s#%d", m.Path, m.Index+1)
}

func eachMessage(path string, stdin io.Reader, fn func(*archive.Message) error) error {
	return (&reading{stdin: stdin}).each(path, fn)
}

type reading struct {
	stdin  io.Reader
	order  archive.Order
	goOn   bool     // behind what can't be read
	failed []error  // what that was
	passed []string // files of folders that hold no message
}

func (r *reading) fail(err error) error {
	if !r.goOn {
		return err
	}
	r.failed = append(r.failed, err)
	return nil
}

func (r *reading) each(path string, fn func(*archive.Message) error) (err error) {
	a, err := archive.Open([]string{path}, archive.Options{Stdin: r.stdin, Order: r.order})
	if err != nil {
		return r.fail(err)
	}
	defer func() {
		r.passed = append(r.passed, a.PassedOver()...)
		err = errors.Join(err, a.Close())
	}()
	for {
		m, err := a.Next()
		if errors.Is(err, io.EOF) && err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is no end
			return nil
		}
		if err != nil {
			err = r.fail(err)
		} else {
			err = fn(m)
		}
		if err != nil {
			return err
		}
	}
}

func (r *reading) note(w io.Writer) {
	if n := len(r.passed); n > 0 {
		fmt.Fprintf(cli.Wrapping(w), "Passed over %d files that hold no message, such as %s\n", n, r.passed[0])
	}
}
