// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
)

// verb is a verb from which command makes a command line: one of the desk, or one that asks
// for several things or for something beside the desk. Its request has the tags of
// desk.Verb; beside those, a field with `file:"key"` takes a file for the key of the message
// in it.
//
// A request may have Wrong, which returns a mistake on the command line, and Asks, which
// reports whether the question is to be asked. An answer may have Nothing, which reports
// whether there is nothing to ask about.
type verb struct {
	desk.Help
	request any   // a value of its type; the flags have its defaults
	prints  []any // values of the types that --json prints
	do      func(c *call, q any) (any, error)
	text    func(w io.Writer, a any) error
	problem func(a any) error // nil: there is none
}

type call struct {
	*cobra.Command
	config, account string
	json            bool
}

func ofDesk(o *desk.Offer) verb {
	return verb{
		Help: *o.Help, request: reflect.Zero(o.Request).Interface(), prints: []any{reflect.Zero(o.Answer).Interface()},
		do: func(c *call, q any) (any, error) {
			if alone, ok := q.(interface {
				Alone(ctx context.Context) (any, error)
			}); ok {
				if a, err := alone.Alone(c.Context()); a != nil || err != nil {
					return a, err
				}
			}
			return with(c.Context(), c.config, func(at *control.At) (any, error) {
				return control.AskFor(c.Context(), at, o, c.account, q)
			})
		},
		text: o.Text, problem: o.Problem,
	}
}

// of makes a verb whose request and answer have these types. prints: what --json prints is
// of these types instead.
func of[Q, A any](h desk.Help, do func(c *call, q *Q) (A, error), text func(w io.Writer, a A) error, prints ...any) verb {
	var q Q
	if len(prints) == 0 {
		var a A
		prints = []any{a}
	}
	return verb{
		Help: h, request: q, prints: prints,
		do:   func(c *call, q any) (any, error) { return do(c, q.(*Q)) },
		text: func(w io.Writer, a any) error { return text(w, a.(A)) },
	}
}

func (v verb) command() *cobra.Command {
	call := &call{}
	q := reflect.New(reflect.TypeOf(v.request))
	c := &cobra.Command{Use: v.Use, Short: v.Short, Long: v.Long, Example: v.Example, GroupID: string(v.Group)}
	call.Command = c
	c.Flags().BoolVar(&call.json, "json", false, "print JSON")
	if !v.All {
		accountFlag(c, &call.account)
	}
	var after []func() error
	var arg reflect.Value
	for i := range q.Elem().NumField() {
		field, to := q.Elem().Type().Field(i), q.Elem().Field(i)
		if _, ok := field.Tag.Lookup("arg"); ok {
			arg = to
		}
		after = append(after, addFlag(c, field, to))
		if field.Tag.Get("file") == "key" {
			after = append(after, func() (err error) {
				*to.Addr().Interface().(*string), err = messageName(call, to.String())
				return err
			})
		}
	}
	c.Args = func(_ *cobra.Command, args []string) error { return takeArgs(c, args, arg) }
	c.RunE = func(*cobra.Command, []string) error {
		call.config = configOf(c)
		for _, do := range after {
			if err := do(); err != nil {
				return err
			}
		}
		if w, ok := q.Interface().(interface{ Wrong() error }); ok {
			if err := w.Wrong(); err != nil {
				return cli.Misuse(c, "%w", err)
			}
		}
		return v.run(call, q)
	}
	return c
}

// run carries the verb out, after a question if there is one, and shows the answer.
func (v verb) run(c *call, q reflect.Value) error {
	var a any
	show := func() (err error) {
		if c.json {
			return cli.PrintJSON(c.OutOrStdout(), a)
		}
		return v.text(cli.Wrapping(c.OutOrStdout()), a)
	}
	do := func() (err error) {
		if a, err = v.do(c, q.Interface()); err == nil {
			err = show()
		}
		return err
	}
	asks := v.Question != ""
	if a, ok := q.Interface().(interface{ Asks() bool }); ok {
		asks = asks && a.Asks()
	}
	if asks {
		if err := v.confirm(c, q.Elem().FieldByName("Yes").Bool(), q.Elem().FieldByName("DryRun"), do, func() bool {
			n, ok := a.(interface{ Nothing() bool })
			return ok && n.Nothing()
		}); err != nil {
			return err
		}
	} else if err := do(); err != nil {
		return err
	}
	if v.problem == nil {
		return nil
	}
	err := v.problem(a)
	if errors.Is(err, desk.ErrSaid) {
		return &cli.ExitError{Code: cli.ExitFailed}
	}
	return err
}

var errDeclined = errors.New("nothing was changed")

// confirm does what a look says would be done, once the owner has agreed: on the terminal,
// or before with --yes. With --dry-run, or where nothing is to be done, it only looks.
func (v verb) confirm(c *call, yes bool, dryRun reflect.Value, do func() error, nothing func() bool) error {
	if dryRun.Bool() || yes {
		return do()
	}
	a := newAsker(c.InOrStdin(), c.ErrOrStderr())
	if a == nil || c.json {
		return cli.Misuse(c.Command, "%s needs --yes when it can't ask, and with --json; --dry-run shows what it would do", c.CommandPath())
	}
	dryRun.SetBool(true)
	if err := do(); err != nil || nothing() {
		return err
	}
	agreed, err := a.yes(c.Context(), v.Question)
	if err != nil {
		return err
	}
	if !agreed {
		return errDeclined
	}
	dryRun.SetBool(false)
	if _, err := fmt.Fprintln(c.ErrOrStderr()); err != nil {
		return err
	}
	return do()
}

var (
	capitals  = regexp.MustCompile(`\b[A-Z]{2,}\b`)
	errFuture = errors.New("that is in the future, want a time that has passed")
)

// addFlag adds the flag of a field, if it is one. What it returns is to be called once the
// flags were read.
func addFlag(c *cobra.Command, field reflect.StructField, to reflect.Value) (after func() error) {
	after = func() error { return nil }
	tag, ok := field.Tag.Lookup("flag")
	if !ok {
		return after
	}
	parts := append(strings.Split(tag, ","), "", "")
	name, short, initial := parts[0], parts[1], parts[2]
	usage := field.Tag.Get("usage")
	if at := capitals.FindStringIndex(usage); at != nil {
		usage = usage[:at[0]] + "`" + strings.ToLower(usage[at[0]:at[1]]) + "`" + usage[at[1]:]
	}
	flags := c.Flags()
	switch p := to.Addr().Interface().(type) {
	case *bool:
		flags.BoolVarP(p, name, short, false, usage)
	case *int:
		n, _ := strconv.Atoi(initial)
		flags.IntVarP(p, name, short, n, usage)
		after = func() error {
			if *p < 0 {
				return cli.Misuse(c, "--%s is %d, want 0 or more", name, *p)
			}
			return nil
		}
	case *[]string:
		flags.StringArrayVarP(p, name, short, nil, usage)
	case *time.Duration:
		d, _ := time.ParseDuration(initial)
		flags.DurationVarP(p, name, short, d, usage)
		after = func() error {
			if *p <= 0 {
				return cli.Misuse(c, "--%s is %s, want a time above 0", name, *p)
			}
			return nil
		}
	case **time.Time:
		flags.VarP(&timeFlag{p}, name, short, usage)
	case *string:
		if choices := enum(field); len(choices) > 0 {
			chosen := cli.ChoiceVar(c, name, initial, usage, choices...)
			after = func() error { *p = chosen.Value; return nil }
			break
		}
		flags.StringVarP(p, name, short, initial, usage)
	default:
		panic("no flag can be of type " + field.Type.String())
	}
	return after
}

// enum returns the values that a field may have, if its schema says so.
func enum(field reflect.StructField) (out []string) {
	for _, word := range strings.Split(field.Tag.Get("jsonschema"), ",") {
		if value, ok := strings.CutPrefix(word, "enum="); ok {
			out = append(out, value)
		}
	}
	return out
}

type timeFlag struct{ to **time.Time }

func (f *timeFlag) String() string { return "" }
func (f *timeFlag) Type() string   { return "time" }
func (f *timeFlag) Set(s string) error {
	t, err := timeAgo(s, time.Now())
	if err == nil && t.After(time.Now()) {
		err = errFuture
	}
	*f.to = &t
	return err
}

// timeAgo reads a time: how long ago, a date, or a moment.
func timeAgo(s string, now time.Time) (time.Time, error) {
	if d, err := config.ParseDuration(s); err == nil {
		return now.Add(-d.Std()), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("want how long ago (7d, 12h), a date (2026-03-01) or a moment (2026-03-01T09:00:00Z)")
}

// arguments says what the words in a usage stand for.
var arguments = map[string]string{
	"MESSAGE": "a Message-ID, the key of a message, or a file",
	"FILE":    `a file, or "-" for standard input or output`,
}

// takeArgs gives the arguments to the field for them, as the usage has them: [WORD] for one
// at most, WORD for one, [WORD…] for any number.
func takeArgs(c *cobra.Command, args []string, to reflect.Value) error {
	_, takes, _ := strings.Cut(c.Use, " ")
	word := strings.Trim(takes, "[]…")
	what, known := arguments[word]
	switch {
	case !to.IsValid():
		return cli.NoArgs(c, args)
	case strings.HasSuffix(takes, "…]"):
		to.Set(reflect.ValueOf(slices.Clone(args)))
		return nil
	case !known:
		what = "a " + strings.ToLower(word)
	}
	if len(args) == 0 && strings.HasPrefix(takes, "[") {
		return nil
	}
	if err := cli.OneArg(what)(c, args); err != nil {
		return err
	}
	to.SetString(args[0])
	return nil
}
