package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/daemon"
)

// Exit codes of classify --exit-code, those of bogofilter.
const (
	exitImportant = 0
	exitOrdinary  = 1
	exitUnsure    = 2
	exitTrouble   = 3
)

func classifyCommand() *cobra.Command {
	var path, account string
	var asJSON, code bool
	c := &cobra.Command{
		Use:   "classify [FILE…]",
		Short: "Decide messages as if they had just arrived",
		Long: `Decide each message in FILE (a message, an mbox, a Maildir, a folder), or on
standard input, as if it had just arrived. Nothing is learnt, marked or
remembered. It asks the daemon when one runs, else it reads the store.

With --exit-code the outcome of the last message is the exit code, for mail
filters: 0 important, 1 ordinary, 2 unsure, 3 on any error.`,
		Example: `  $ hinged classify --config hinged.toml message.eml
  message.eml: important, score +1.274, threshold +0.801
  $ hinged classify --json < message.eml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"-"}
			}
			last := daemon.Classified{}
			show := func(d daemon.Classified) error {
				last = d
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(d)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", d.File, daemon.Verdict(d.Outcome, d.Reason, d.Score, d.Threshold))
				return err
			}
			_, err := ask(cmd.Context(), path, func(b daemon.Backend) (struct{}, error) {
				return struct{}{}, classifyAll(cmd.Context(), b, account, args, cmd.InOrStdin(), show)
			})
			if !code {
				return err
			}
			if err != nil {
				return &exitError{exitTrouble, err}
			}
			return outcomeCode(last.Outcome)
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	jsonFlag(c, &asJSON, "one JSON object a line for each message")
	c.Flags().BoolVar(&code, "exit-code", false, "tell the outcome by the exit code")
	return c
}

// classifyAll has every message in paths decided.
func classifyAll(ctx context.Context, b daemon.Backend, account string, paths []string, stdin io.Reader, show func(daemon.Classified) error) error {
	decide := func(name string, raw []byte) error {
		d, err := b.Classify(ctx, account, raw)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		d.File = name
		return show(d)
	}
	for _, path := range paths {
		n := 0
		err := eachMessage(path, stdin, func(m *archive.Message) error {
			n++
			return decide(nameOf(m), m.Raw)
		})
		if err == nil && n == 0 {
			// An empty file is an empty message here: it was named to be decided.
			err = decide(path, nil)
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

// eachMessage calls fn with every message in path.
func eachMessage(path string, stdin io.Reader, fn func(*archive.Message) error) (err error) {
	r, err := archive.Open([]string{path}, archive.Options{Stdin: stdin})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) && err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is no end
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(m); err != nil {
			return err
		}
	}
}

func outcomeCode(outcome string) error {
	switch outcome {
	case "important":
		return nil
	case "ordinary":
		return &exitError{code: exitOrdinary}
	default:
		return &exitError{code: exitUnsure}
	}
}
