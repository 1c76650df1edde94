// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/ceiling"
	"github.com/hinged/hinged/internal/run/stream"
)

type statusQuery struct {
	Long    bool `flag:"long,l" usage:"all about every account"`
	Ceiling bool `flag:"ceiling" usage:"compare the learner's mistakes with the most that theory allows"`
}

type shownStatus struct {
	desk.Status
	would map[string][]desk.MessageSummary // by account, the newest messages that would have been marked
	long  bool
}

var status = of(desk.Help{
	Group: desk.ToSee,
	Use:   "status",
	Short: "Show the state of every account, and what is missing",
	Long: `Show the state of every account: whether it is connected, what it has decided
and learnt, whether it marks and, if not, what is missing. Of more than two
accounts there is a line each, those in trouble first; --account and --long say
more. All numbers describe committed state. If no daemon runs, they come from
the store.

With --ceiling, compare the mistakes that the learner made with a proven ceiling on
them. The ceiling is a theorem about the lessons so far: if some fixed weights would
have done well on all of them, the learner can have made only few mistakes. It says
nothing about future mail. A mistake is a lesson whose score was 0 or on the wrong
side of 0. A wrong decision, which the status counts, is something else: it is made
by the threshold when the message comes, and you show later that it was wrong. The
gap says how far the search for the best weights may be from its end. If no theorem
covers what was learnt, the answer is "none" with the reason.`,
	Example: `  $ hinged status --config hinged.toml
  hinged marks nothing yet. Answer 3 questions: hinged learn --account me
  hinged 0.1.0 is running, process 4711
  dashboard: http://127.0.0.1:7425/
  
  me: in shadow: it decides and learns, and marks nothing
    connection   connected
    marking      not yet: of the messages that it learnt from, 3 are important; …
    to end that  2 more messages that you star, answer or mark; or …
    would mark   4 messages of late
                 ann@example.org: your invoice (7 in 10 such messages mattered)
    …
  $ hinged status --ceiling
  me: lessons 1 to 6883, passive-aggressive
    mistakes      567 lessons scored on the wrong side of 0; hinge loss 1601.2
    ceiling       at most 2071 mistakes on these lessons; bound 2072.0, gap 0.27 (found in 0.1 s)
    best weights  distance 24.113, loss 311.402; longest vector 1.000, displaced 0.000`,
}, func(c *call, q *statusQuery) (any, error) {
	return with(c.Context(), c.config, func(at *control.At) (any, error) { return askStatus(c, at, q) })
}, func(w io.Writer, a any) error {
	if bounds, ok := a.([]ceiling.Bound); ok {
		return printBounds(w, bounds)
	}
	return printStatus(w, a.(shownStatus))
}, desk.Status{}, []ceiling.Bound{})

func askStatus(c *call, at *control.At, q *statusQuery) (any, error) {
	s, err := control.Ask(c.Context(), at, desk.GetStatus, "", desk.None{})
	if err != nil {
		return nil, err
	}
	if c.account != "" {
		s.Accounts = slices.DeleteFunc(s.Accounts, func(a desk.AccountStatus) bool { return a.Account != c.account })
		if len(s.Accounts) == 0 {
			return nil, fmt.Errorf("%w: %s", desk.ErrNoAccount, c.account)
		}
	}
	if q.Ceiling {
		bounds := []ceiling.Bound{}
		for i := range s.Accounts {
			b, err := control.Ask(c.Context(), at, desk.GetBound, s.Accounts[i].Account, desk.None{})
			if err != nil {
				return nil, err
			}
			bounds = append(bounds, b)
		}
		return bounds, nil
	}
	out := shownStatus{s, map[string][]desk.MessageSummary{}, q.Long}
	for _, a := range s.Accounts {
		if len(a.WouldMarked) == 0 || len(s.Accounts) > fewAccounts && !q.Long || c.json {
			continue
		}
		// Where they can't be named, as before an account has come in whole, they are counted.
		if list, err := control.Ask(c.Context(), at, desk.GetMessages, a.Account, desk.MessagesRequest{Messages: a.WouldMarked}); err == nil {
			out.would[a.Account] = list.Messages
		}
	}
	return out, nil
}

const mostInvitations = 3

func printInvitations(w io.Writer, accounts []desk.AccountStatus) {
	invited := 0
	for i := range accounts {
		if text := accounts[i].Invitation(); text != "" && invited < mostInvitations {
			invited++
			fmt.Fprintln(w, text)
		}
	}
}

// printStatus prints all about every account if there are few, or long is set.
func printStatus(w io.Writer, s shownStatus) error {
	printInvitations(w, s.Accounts)
	if s.Running {
		fmt.Fprintf(w, "hinged %s is running, process %d\n", s.Version, s.PID)
		if s.Dashboard != "" {
			fmt.Fprintf(w, "dashboard: %s\n", s.Dashboard)
		}
	} else {
		fmt.Fprintf(w, "hinged is not running; this is what it last committed\n")
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(w, "WARNING: %s\n", warning)
	}
	if b := s.Backups; b != nil {
		fmt.Fprintf(w, "backups: %s\n", backupWords(b))
	}
	fmt.Fprint(w, milterWords(s.Milter))
	if s.Stream != nil {
		if err := printStream(w, s.Status); err != nil {
			return err
		}
	}
	learnt := s.Running || s.Stream != nil
	if len(s.Accounts) > 1 {
		if err := printSummary(w, s.Accounts); err != nil {
			return err
		}
	}
	for _, a := range s.Accounts {
		learnt = learnt || a.InSnapshot || a.Messages > 0 || a.Important+a.Ordinary > 0
		if len(s.Accounts) > fewAccounts && !s.long {
			continue
		}
		fmt.Fprintf(w, "\n%s: %s\n", a.Account, a.Doing)
		for _, warning := range a.Warnings {
			fmt.Fprintf(w, "  WARNING: %s\n", warning)
		}
		if a.InSnapshot {
			continue
		}
		if err := printAccount(w, a, s.would[a.Account], s.Running); err != nil {
			return err
		}
	}
	if !learnt {
		fmt.Fprintf(w, "\nNothing has been learnt yet. %s.\n", firstSteps)
	}
	return nil
}

func backupWords(b *desk.BackupStatus) string {
	if b.Newest == nil {
		return "none yet in " + b.Directory
	}
	return fmt.Sprintf("%d, the newest of %s is %s", b.Kept, desk.Moment(b.Newest), b.File)
}

func milterWords(m *desk.MilterStatus) string {
	if m == nil {
		return ""
	}
	text := fmt.Sprintf("mail server: %s, %d connections, messages:", m.Socket, m.Connections)
	for _, result := range slices.Sorted(maps.Keys(m.Messages)) {
		text += fmt.Sprintf(" %d %s", m.Messages[result], result)
	}
	return text + "\n"
}

func printAccount(w io.Writer, a desk.AccountStatus, would []desk.MessageSummary, running bool) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "  "+name+"\t"+format+"\n", args...) }
	if running || a.Paused {
		line("connection", "%s", connection(a))
	}
	line("marking", "%s", a.Marking)
	if a.EndOfShadow != "" {
		line("to end that", "%s", a.EndOfShadow)
	}
	if a.WouldMark > 0 {
		line("would mark", "%d messages of late", a.WouldMark)
	}
	for _, m := range would {
		odds := words.InTen(m.Probability)
		if odds != "" {
			odds = " (" + odds + ")"
		}
		m.Facts = nil
		line("", "%s%s", desk.Clip(whatOf(&m), screenColumns), odds)
	}
	line("messages", "%d seen, %d decided, %d of them unsure", a.Messages, a.Decided, a.Unsure)
	settling := fmt.Sprint(a.Pending, " settling")
	if a.SettledBy != nil {
		settling += " until " + desk.Moment(a.SettledBy)
	}
	line("learnt", "%d important, %d ordinary; %s, %d waiting, %d unknown (personal, read and kept)", a.Important, a.Ordinary, settling, a.Waiting, a.Unknown)
	line("reading", "%s", a.Reading.Words)
	if j := &a.Judgement; j.Messages > 0 {
		line("decisions", "%s", j.Words())
		line("quality", "%s", j.Comparison())
	}
	if words := desk.WithheldWords(a.Withheld); words != "" {
		line("not marked", "%s", words)
	}
	back := ""
	switch {
	case a.MarksUndone > 0:
		back = fmt.Sprintf(", %d taken back", a.MarksUndone)
	case a.MarksConfirmed > a.MarksRefused:
		back = "; `hinged undo --marks` takes back every one"
	}
	line("marks", "%d set, %d on their way, %d removed by the owner%s", a.MarksConfirmed, a.MarksIntended, a.MarksRefused, back)
	if a.AddressBook != nil {
		line("book", "%s", a.AddressBook.Words())
	}
	if len(a.Rules) > 0 {
		line("rules", "%s", rulesWords(a.Rules))
	}
	if a.Supports > 0 {
		line("model", "%d supports, threshold %+.3f", a.Supports, a.Threshold)
	} else {
		line("model", "%d weights, threshold %+.3f", a.Weights, a.Threshold)
	}
	line("last", "arrival %s, lesson %s", desk.Moment(a.LastArrival), desk.Moment(a.LastLesson))
	for _, m := range a.Mailboxes {
		line("mailbox", "%s (%s): %d messages%s", m.Mailbox, m.Role, m.Messages, lookWords(&m))
	}
	return t.Flush()
}

// lookWords says when a mailbox was last looked at, "" if nobody knows.
func lookWords(m *desk.MailboxStatus) string {
	switch {
	case m.LookedAt == nil:
		return ""
	case m.Listening:
		return ", listening"
	}
	return ", looked at " + desk.Moment(m.LookedAt)
}

func rulesWords(rules []desk.RuleStatus) string {
	const most = 3
	var list []string
	for _, r := range rules[:min(most, len(rules))] {
		list = append(list, fmt.Sprintf("always %s: %s", r.Label, r.Match))
	}
	if more := len(rules) - most; more > 0 {
		list = append(list, fmt.Sprintf("%d more (--json has them)", more))
	}
	return strings.Join(list, "; ")
}

func connection(a desk.AccountStatus) string {
	s := "connected"
	if a.Paused {
		return fmt.Sprintf("none: paused since %s; `hinged resume` ends it", desk.Moment(a.PausedSince))
	}
	if !a.Connected {
		s = "not connected"
	}
	if a.Problem != "" {
		s += ": " + a.Problem
	}
	if a.Remaining > 0 {
		s += fmt.Sprintf("; %d messages still to be read", a.Remaining)
	}
	return s
}

func printBounds(w io.Writer, bounds []ceiling.Bound) error {
	for _, b := range bounds {
		if err := printBound(w, b); err != nil {
			return err
		}
	}
	return nil
}

func printBound(w io.Writer, b ceiling.Bound) error {
	if b.Lessons == 0 {
		_, err := fmt.Fprintf(w, "%s: no lessons yet; %s\n", b.Account, firstSteps)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	learner := b.Learner
	if b.KernelDegree > 0 {
		learner += fmt.Sprintf(", kernel of degree %d", b.KernelDegree)
	}
	fmt.Fprintf(t, "%s: lessons %d to %d, %s\n", b.Account, b.FirstLesson, b.LastLesson, learner)
	fmt.Fprintf(t, "  mistakes\t%d lessons scored on the wrong side of 0; hinge loss %.1f\n", b.Mistakes, b.HingeLoss)
	fmt.Fprintf(t, "  ceiling\t%s\n", b.Ceiling)
	if b.NoCeiling == "" {
		fmt.Fprintf(t, "  best weights\tdistance %.3f, loss %.3f; longest vector %.3f, displaced %.3f\n", b.Distance, b.Loss, b.Radius, b.Displaced)
	}
	return t.Flush()
}

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

type summed struct {
	kind       int
	state, ask string // ask is what its owner is asked for; "": nothing
}

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

func stateOf(a *desk.AccountStatus) string {
	switch {
	case a.InSnapshot:
		return "in a snapshot"
	case a.InShadow:
		return "not marking yet"
	}
	return "marking"
}

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

func printStream(w io.Writer, status desk.Status) error {
	s := status.Stream
	fmt.Fprintf(w, "\nKafka, topic %s: %s\n", s.Topic, s.Doing)
	if s.Problem != "" {
		fmt.Fprintf(w, "  WARNING: %s\n", s.Problem)
	}
	for _, p := range s.Partitions {
		if p.Problem != "" {
			fmt.Fprintf(w, "  WARNING: %s\n", p.Problem)
		}
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "  "+name+"\t"+format+"\n", args...) }
	line("accounts", "%d", s.Accounts)
	if status.Running {
		line("records", "%d read: %d messages (%d of the owners' own, %d came before), %d of feedback", s.Records, s.Messages, s.Own, s.Repeated, s.Feedback)
		line("decided", "%d important, %d unsure, %d ordinary", s.Important, s.Unsure, s.Ordinary)
		line("learnt", "%d lessons", s.Lessons)
		dead := "none"
		if len(s.DeadLetters) > 0 {
			var all []string
			for _, why := range s.Reasons() {
				all = append(all, fmt.Sprintf("%d %s", s.DeadLetters[why], why))
			}
			dead = strings.Join(all, ", ")
		}
		line("dead letters", "%s", dead)
		line("passed over", "%d control markers, %d records of aborted transactions", s.Markers, s.Aborted)
		line("behind", "%s", s.Waits())
		line("rebalances", "%d", s.Rebalances)
	}
	for i := range s.Partitions {
		line("partition", "%d %s", s.Partitions[i].Partition, partitionText(&s.Partitions[i], status.Running))
	}
	return t.Flush()
}

func partitionText(p *stream.PartitionStatus, running bool) string {
	text := "at an unknown offset"
	if p.Position >= 0 {
		text = fmt.Sprintf("at offset %d", p.Position)
	}
	if p.End >= 0 {
		text += fmt.Sprintf(" of %d", p.End)
	}
	if running && (p.Lag == nil || *p.Lag > 0) {
		text += "; behind: " + p.Waits()
	}
	if p.Snapshots > 0 {
		text += fmt.Sprintf("; %d snapshots", p.Snapshots)
	}
	if p.Restoring > 0 {
		text += fmt.Sprintf("; %d accounts still to be fetched out of the snapshot", p.Restoring)
	}
	if p.DamagedFile != "" {
		text += "; its file was damaged and is now " + p.DamagedFile
	}
	if n := len(p.Differs); n > 0 {
		text += fmt.Sprintf("; %d accounts DIFFER from what another process made of the same records, such as %s", n, p.Differs[0])
	}
	if p.Stopped {
		text += "; STOPPED"
	}
	return text
}
