// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// where counts the marks with one result by mailbox.
func where(u UndoneMarks, result string) string {
	in := map[string]int{}
	for _, m := range u.Marks {
		if m.Result == result {
			for _, box := range m.Mailboxes {
				in[box]++
			}
		}
	}
	var out []string
	for _, box := range slices.Sorted(maps.Keys(in)) {
		out = append(out, fmt.Sprintf("%s %d", box, in[box]))
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

// reasons lists why the server would not, each once.
func reasons(u UndoneMarks) string {
	var out []string
	for _, m := range u.Marks {
		if m.Why != "" && !slices.Contains(out, m.Why) {
			out = append(out, m.Why)
		}
	}
	return cmp.Or(strings.Join(out, "; "), "it gave no reason")
}

func printUndone(w io.Writer, u UndoneMarks) (err error) {
	say := lines(w, &err)
	verb := "taken back"
	if u.DryRun {
		verb = "would be taken back"
	}
	say("%s: %s %s%s", u.Account, Count(u.Undone, "mark"), verb, where(u, UndoneDone))
	if n := u.Waiting; n > 0 {
		say("  %d not confirmed by the server yet%s; hinged continues with %s when it runs%s",
			n, where(u, UndoneWaiting), plural(n, "it", "them"), because(u.Problem))
	}
	if n := u.Failed; n > 0 {
		say("  %d not taken back%s; the server said: %s", n, where(u, UndoneFailed), reasons(u))
	}
	if n := u.Companions; n > 0 {
		say("  %s without its mark %s%s", Count(n, "companion keyword"), verb, where(u, UndoneBare))
	}
	if n := u.Own; n > 0 {
		say("  %d left alone: you or another program set %s", n, plural(n, "it", "them"))
	}
	if n := u.Unseen; n > 0 {
		say("  %d on %s in no watched mailbox; taken back if %s up within a day",
			n, plural(n, "a message that is", "messages that are"), plural(n, "it turns", "they turn"))
	}
	if n := u.Passed; n > 0 {
		say("  %d not on %s any more", n, plural(n, "its message", "their messages"))
	}
	if n := u.Forgotten; n > 0 {
		say("  the ledger no longer has the first %s, so undo can't remove them", Count(int(n), "mark"))
	}
	if u.Restored {
		say("  the account comes from a backup or an export; the ledger lacks the marks that were set later")
	}
	switch {
	case u.DryRun:
	case u.Paused:
		say("%s is still paused and marks nothing", u.Account)
	case u.Shadow:
		say("%s is in shadow and marks nothing now; `hinged status` says what would end that", u.Account)
	default:
		say("%s marks new mail as before; `hinged pause` stops that, and shadow = \"on\" in the configuration lets it decide without marking", u.Account)
	}
	return err
}

func because(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}
