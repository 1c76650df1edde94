// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
)

// Summary is the result of a demo. It compares the decisions with what the made-up owner
// thinks of each message. The daemon learns from her actions alone.
type Summary struct {
	Seconds   float64 `json:"seconds"`   // Seconds is the duration of the live part.
	Messages  int     `json:"messages"`  // Messages counts the messages decided in the live part.
	Important int     `json:"important"` // Important counts those of the messages that are in truth important.
	Marked    int     `json:"marked"`    // Marked counts messages decided important.
	MarksSet  uint64  `json:"marks_set"` // MarksSet counts the marks that the daemon set on the server.
	Unsure    int     `json:"unsure"`    // Unsure counts messages decided unsure, which are not marked.

	Corrections int `json:"corrections"`        // Corrections counts the owner's actions that showed the daemon a wrong decision.
	OwnMarks    int `json:"marks_set_by_owner"` // OwnMarks counts the marks that the owner set on missed messages.
	Unmarked    int `json:"marks_taken_off"`    // Unmarked counts the marks that the owner removed.
	Starred     int `json:"starred"`            // Starred counts the messages that the owner starred.
	Answered    int `json:"answered"`           // Answered counts the messages that the owner answered.
	Junked      int `json:"junked"`             // Junked counts the messages that the owner moved to Junk.
	Discarded   int `json:"thrown_away_unread"` // Discarded counts the messages that the owner moved to Trash unread.

	LearntImportant uint64 `json:"learnt_important"` // LearntImportant counts the important lessons of the live part, as the daemon reports them.
	LearntOrdinary  uint64 `json:"learnt_ordinary"`  // LearntOrdinary counts the ordinary lessons of the live part.

	Thirds    [3]Third `json:"thirds"`    // Thirds has the result of each third of the messages, in the order of their decisions.
	Precision float64  `json:"precision"` // Precision is the share of the marked messages that were important.
	Recall    float64  `json:"recall"`    // Recall is the share of the important messages that were marked.

	Baselines []Baseline `json:"baselines"`           // Baselines has the results of simpler rules on the same messages.
	Explained string     `json:"explained,omitempty"` // Explained is the Message-ID of the message whose decision the demo explains at the end.
}

// Third is one third of the messages.
type Third struct {
	Messages int `json:"messages"`        // Messages counts the decided messages.
	Wrong    int `json:"wrong_decisions"` // Wrong counts important messages that were not marked and ordinary ones that were.
}

// Baseline is how a simpler rule would have done on the same messages.
type Baseline struct {
	Name      string  `json:"name"`            // Name describes the rule.
	Wrong     int     `json:"wrong_decisions"` // Wrong counts wrong decisions as in a Third.
	Precision float64 `json:"precision"`       // Precision of the rule; 0 if it marks nothing.
	Recall    float64 `json:"recall"`          // Recall of the rule.
}

// summary adds everything up. What the daemon counts is asked of it once more.
func (s *stage) summary(ctx context.Context) *Summary {
	t := &s.tally
	now, err := s.status(ctx)
	if err != nil {
		now = t.last // it is gone
	}
	sum := &Summary{
		Seconds: s.clock().Round(100 * time.Millisecond).Seconds(), Messages: len(t.order), Corrections: t.corrections(),
		LearntImportant: now.Important - t.before.Important, LearntOrdinary: now.Ordinary - t.before.Ordinary,
		MarksSet: now.MarksConfirmed - t.before.MarksConfirmed,
	}
	done := map[deed]int{}
	for _, e := range t.entries {
		if e.acted {
			done[e.deed]++
		}
	}
	sum.OwnMarks, sum.Unmarked, sum.Starred = done[marks], done[unmarks], done[stars]
	sum.Answered, sum.Junked, sum.Discarded = done[answers], done[junks], done[discards]
	var ours, known, never filter.Tally
	for _, e := range t.order {
		ours.Count(e.outcome == "important", e.m.Important, 1)
		known.Count(e.baseline, e.m.Important, 1)
		never.Count(false, e.m.Important, 1)
		if e.outcome == "unsure" {
			sum.Unsure++
		}
	}
	sum.Important, sum.Marked = ours.Hits+ours.Missed, ours.Hits+ours.FalseAlarms
	sum.Precision, sum.Recall = ours.Precision(), ours.Recall()
	for _, b := range []struct {
		name string
		t    filter.Tally
	}{{"mark whomever Nora has written to", known}, {"mark nothing", never}} {
		sum.Baselines = append(sum.Baselines, Baseline{b.name, b.t.FalseAlarms + b.t.Missed, b.t.Precision(), b.t.Recall()})
	}
	n := len(t.wrong)
	for i := range sum.Thirds {
		part := t.wrong[i*n/3 : (i+1)*n/3]
		sum.Thirds[i] = Third{Messages: len(part), Wrong: count(part)}
	}
	sum.Explained = s.telling(ctx)
	return sum
}

// telling picks the decision to take apart: of the last few important messages
// that were marked, the one whose greatest parts make up most of its score. Ties
// go to the later one. "" when nothing was marked rightly.
func (s *stage) telling(ctx context.Context) string {
	const few, parts = 12, 8
	id, best, seen := "", -1.0, 0
	for _, e := range slices.Backward(s.tally.order) {
		if !e.m.Important || e.outcome != "important" {
			continue
		}
		if seen++; seen > few {
			break
		}
		ex, err := desk.Explain.Do(ctx, s.daemon, "", desk.ExplainRequest{Message: desk.Message{Name: e.m.ID}})
		if err != nil || ex.Score <= 0 {
			continue // gone, or not for a positive reason any more
		}
		sum := 0.0
		for _, p := range ex.Parts[:min(parts, len(ex.Parts))] {
			sum += p.Amount
		}
		if sum/ex.Score > best {
			id, best = e.m.ID, sum/ex.Score
		}
	}
	return id
}

// Check returns an error that wraps ErrLoop when a demo did not show what it is
// there to show.
func (sum *Summary) Check() error {
	var errs []error
	if sum.MarksSet == 0 {
		errs = append(errs, errors.New("no mark was set"))
	}
	if sum.Corrections == 0 {
		errs = append(errs, errors.New("the owner corrected nothing"))
	}
	if sum.LearntImportant+sum.LearntOrdinary == 0 {
		errs = append(errs, errors.New("nothing was learnt"))
	}
	errs = append(errs, sum.better())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrLoop, err)
	}
	return nil
}

// better returns an error when a simpler rule was wrong as seldom. Whether wrong
// decisions fall within the demo says less: what was read beforehand may have taught
// enough for the first of its messages to be decided as well as the last.
func (sum *Summary) better() error {
	wrong := 0
	for _, t := range sum.Thirds {
		wrong += t.Wrong
	}
	for _, b := range sum.Baselines {
		if wrong >= b.Wrong {
			return fmt.Errorf("%d decisions were wrong; %q is wrong about %d", wrong, b.Name, b.Wrong)
		}
	}
	return nil
}

// Print writes the summary for people.
func (sum *Summary) Print(w io.Writer) error {
	line := func(name, format string, args ...any) {
		if _, err := fmt.Fprintf(w, "  %-16s "+format+"\n", append([]any{name}, args...)...); err != nil {
			return
		}
	}
	t := sum.Thirds
	line("messages", "%d in %.0f s; %d mattered to Nora, %d were marked, %d unsure", sum.Messages, sum.Seconds, sum.Important, sum.MarksSet, sum.Unsure)
	line("corrections", "%d; she marked %d, starred %d and took %d marks off", sum.Corrections, sum.OwnMarks, sum.Starred, sum.Unmarked)
	line("other signs", "%d answered, %d moved to Junk, %d thrown away unread", sum.Answered, sum.Junked, sum.Discarded)
	line("learnt", "%d important, %d ordinary", sum.LearntImportant, sum.LearntOrdinary)
	line("wrong decisions", "%d of the first %d, %d of the next %d, %d of the last %d", t[0].Wrong, t[0].Messages, t[1].Wrong, t[1].Messages, t[2].Wrong, t[2].Messages)
	line("precision", "%.2f of what was marked mattered", sum.Precision)
	line("recall", "%.2f of what mattered was marked", sum.Recall)
	_, err := fmt.Fprintf(w, "\n  %-36s %5s  %9s  %6s\n", "beside simpler rules", "wrong", "precision", "recall")
	rows := append([]Baseline{{"hinged", t[0].Wrong + t[1].Wrong + t[2].Wrong, sum.Precision, sum.Recall}}, sum.Baselines...)
	for _, b := range rows {
		precision := fmt.Sprintf("%9.2f", b.Precision)
		if b.Precision == 0 && b.Recall == 0 {
			precision = "        -"
		}
		_, err = fmt.Fprintf(w, "    %-34s %5d  %s  %6.2f\n", b.Name, b.Wrong, precision, b.Recall)
	}
	return err
}

// close shows the summary and an explanation. A fast demo is over then; any
// other stays up for looking around until ctx is done.
func (s *stage) close(ctx, running context.Context, sum *Summary) error {
	s.screen.footer(nil)
	if sum == nil {
		return nil
	}
	s.screen.heading("What it came to")
	if err := sum.Print(s.screen.body()); err != nil {
		return err
	}
	if sum.Explained != "" {
		if err := s.explain(running, sum.Explained); err != nil {
			return err
		}
	}
	if s.o.Fast {
		return sum.Check()
	}
	if ctx.Err() == nil {
		s.screen.heading("Look around")
		s.lookIn()
		if sum.Explained != "" {
			s.screen.line("                           " + s.o.Program + " explain --config " + s.config + " " + sum.Explained)
		}
		s.screen.line("It stays up until you press Ctrl-C, and goes on learning from what you do to the mail.")
		return s.visitors(ctx)
	}
	return nil
}

func (s *stage) explain(ctx context.Context, id string) error {
	ex, err := desk.Explain.Do(ctx, s.daemon, "", desk.ExplainRequest{Message: desk.Message{Name: id}})
	if err != nil {
		return err
	}
	for _, e := range s.tally.order {
		if e.m.ID == id {
			s.screen.heading("Why this one was marked: " + e.m.From + ", " + e.m.Subject)
		}
	}
	return s.o.Explain(s.screen.body(), ex)
}

// visitors waits for the end and tells what whoever looks in teaches meanwhile.
func (s *stage) visitors(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, err := s.status(ctx)
	if err != nil {
		return quiet(ctx, err)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := s.status(ctx)
		if err != nil {
			return quiet(ctx, err)
		}
		if lessons(now) > lessons(last) {
			s.screen.line(fmt.Sprintf("%8s  learnt from you: %d important, %d ordinary so far", stamp(s.clock()), now.Important, now.Ordinary))
		}
		last = now
	}
}

func lessons(a desk.AccountStatus) uint64 { return a.Important + a.Ordinary }
