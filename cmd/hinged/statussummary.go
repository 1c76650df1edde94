// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hinged/hinged/internal/desk"
)

// fewAccounts is how many accounts `hinged status` describes unasked: more don't fit on a
// screen.
const fewAccounts = 2

// Kinds of accounts, in the order of the summary.
const (
	inTrouble = iota
	asPaused
	inShadow
	asMarking
)

// summed is the line of an account in the summary.
type summed struct {
	kind       int
	state, ask string // ask is what its owner is asked for; "": nothing
}

// sum summarises an account.
func sum(a *desk.AccountStatus) summed {
	switch {
	case a.Paused:
		return summed{asPaused, "paused", "`hinged resume -a " + a.Account + "` ends the pause"}
	case a.ConsentNeeded:
		return summed{inTrouble, "no login", "log in with the mail provider again"}
	case a.Problem != "" && !a.Connected:
		return summed{inTrouble, "no connection", a.Problem}
	case len(a.Warnings) > 0:
		return summed{inTrouble, stateOf(a), a.Warnings[0]}
	case a.InShadow && a.Decided > 0:
		return summed{inShadow, stateOf(a), "answers: `hinged learn -a " + a.Account + "`"}
	case a.InShadow:
		return summed{inShadow, stateOf(a), ""}
	}
	return summed{asMarking, stateOf(a), ""}
}

// stateOf says in a word or two whether an account marks.
func stateOf(a *desk.AccountStatus) string {
	switch {
	case a.InSnapshot:
		return "in a snapshot"
	case a.InShadow:
		return "not marking yet"
	}
	return "marking"
}

// printSummary prints a line for each account, those in trouble first.
func printSummary(w io.Writer, accounts []desk.AccountStatus) error {
	accounts = slices.Clone(accounts)
	slices.SortStableFunc(accounts, func(a, b desk.AccountStatus) int { return cmp.Compare(sum(&a).kind, sum(&b).kind) })
	var kinds [asMarking + 1]int
	for i := range accounts {
		kinds[sum(&accounts[i]).kind]++
	}
	var parts []string
	for kind, words := range []string{"in trouble", "paused", "not marking yet", "marking"} {
		if kinds[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", kinds[kind], words))
		}
	}
	fmt.Fprintf(w, "\n%d accounts: %s\n", len(accounts), strings.Join(parts, ", "))
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "  account\tstate\tmarks\ttaken off\tasked of its owner\n")
	for i := range accounts {
		a := &accounts[i]
		of := sum(a)
		fmt.Fprintf(t, "  %s\t%s\t%d\t%d\t%s\n", a.Account, of.state, a.MarksConfirmed, a.MarksRefused, cmp.Or(of.ask, "nothing"))
	}
	return t.Flush()
}
