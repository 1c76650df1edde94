// SPDX-License-Identifier: Apache-2.0

// Player is "hinged eval --json" without the rest of hinged. All that makes the state is
// the same, and there is less than half as much to compile for another processor.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/prior"
	"github.com/hinged/hinged/internal/measure/evaluate"
	"github.com/hinged/hinged/model"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || args[0] != "eval" {
		return fmt.Errorf("usage: player eval --json --owner ADDRESS [--feedback WHEN] [--set learner.kind=KIND] FILE, got %q", args)
	}
	o := filter.DefaultOptions()
	f := flag.NewFlagSet("eval", flag.ContinueOnError)
	f.Bool("json", true, "print one JSON object, as always")
	owner := f.String("owner", "", "address of the owner")
	feedback := f.String("feedback", "", "when labels arrive")
	set := f.String("set", "", "learner.kind=KIND")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	o.Featurize.Owner = []string{*owner}
	if kind, given := strings.CutPrefix(*set, "learner.kind="); given {
		o.Learner.Kind = model.Kind(kind)
	}
	first, err := prior.Named("default")
	if err != nil {
		return err
	}
	play := evaluate.Play{Paths: f.Args(), Feedback: evaluate.Feedback(*feedback), Options: o, Prior: first.Pack()}
	r, err := play.Run(context.Background())
	if err != nil {
		return err
	}
	return r.WriteJSON(os.Stdout)
}
