// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/face/desk"
)

// household is the status of so many accounts, four of them not as they should be.
func household(n int) desk.Status {
	s := desk.Status{Running: true, Version: "dev", PID: 4711}
	for i := range n {
		a := desk.AccountStatus{Account: fmt.Sprintf("a%02d", i), Doing: "marking important mail, and learning", Connected: true, Decided: 100, MarksConfirmed: uint64(i)}
		switch i {
		case 3:
			a.InShadow = true
		case 5:
			a.Paused = true
		case 7:
			a.Connected, a.Problem = false, "connection refused"
		case 9:
			a.Warnings = []string{"learning has stopped"}
		}
		s.Accounts = append(s.Accounts, a)
	}
	return s
}

func TestStatusOfManyAccountsBeginsWithTheirTrouble(t *testing.T) {
	var out strings.Builder
	if err := printStatus(&out, shownStatus{Status: household(20), long: false}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	at := slices.Index(lines, "20 accounts: 2 in trouble, 1 paused, 1 not marking yet, 16 marking")
	if at < 0 || len(lines) > 25 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, want := range []string{
		"account state marks taken off asked of its owner", "a07 no connection 7 0 connection refused", "a09 marking 9 0 learning has stopped",
		"a05 paused 5 0 `hinged resume -a a05` ends the pause", "a03 not marking yet 3 0 answers: `hinged learn -a a03`", "a00 marking 0 0 nothing",
	} {
		if got := strings.Join(strings.Fields(lines[at+1+i]), " "); got != want {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
}

func TestStatusSaysAllOfFewAccountsAndOfManyIfAsked(t *testing.T) {
	for _, c := range []struct {
		accounts int
		long     bool
		details  int
		summary  bool
	}{{1, false, 1, false}, {2, false, 2, true}, {3, false, 0, true}, {3, true, 3, true}} {
		var out strings.Builder
		if err := printStatus(&out, shownStatus{Status: household(c.accounts), long: c.long}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "\n  learnt "); got != c.details || strings.Contains(out.String(), " accounts: ") != c.summary {
			t.Errorf("%d accounts, long %t: all about %d of them, want %d\n%s", c.accounts, c.long, got, c.details, out.String())
		}
	}
}
