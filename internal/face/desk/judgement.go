// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/store"
)

// Judgement says how good the decisions at arrival were, over all known messages that were
// decided and whose label is known by now. A mark that was left alone counts as wrong.
// Bootstrap, status, pages and metrics show these figures.
type Judgement struct {
	Messages  int `json:"messages"`  // number of messages that are judged
	Important int `json:"important"` // number of them that were important
	Figures
	Baselines []BaselineFigures `json:"baselines,omitempty"` // simple rules, judged on the same messages
	Better    bool              `json:"better"`              // Better reports whether f1 is greater by 0.05 than that of each of the baselines.
}

// Figures say how good one way to decide is.
type Figures struct {
	Found       int     `json:"found"`        // important messages called important
	FalseAlarms int     `json:"false_alarms"` // ordinary messages called important
	Missed      int     `json:"missed"`       // important messages not called important
	Wrong       int     `json:"wrong"`        // false alarms and missed messages together
	Precision   float64 `json:"precision"`    // found divided by found and false_alarms together
	Recall      float64 `json:"recall"`       // found divided by found and missed together
	F1          float64 `json:"f1"`           // harmonic mean of precision and recall
}

// BaselineFigures are those of a simple rule.
type BaselineFigures struct {
	Rule string `json:"rule"` // what it calls important, in words
	Figures
}

func figuresOf(t filter.Tally) Figures {
	return Figures{
		Found: t.Hits, FalseAlarms: t.FalseAlarms, Missed: t.Missed, Wrong: t.FalseAlarms + t.Missed,
		Precision: t.Precision(), Recall: t.Recall(), F1: t.F1(),
	}
}

// JudgementOf judges an account's decisions.
func JudgementOf(f *filter.Filter) Judgement {
	s := f.Status.Judgement()
	j := Judgement{Messages: s.Labels, Important: s.Important, Figures: figuresOf(s.Decisions), Better: s.Better()}
	for _, b := range s.Baselines() {
		j.Baselines = append(j.Baselines, BaselineFigures{b.Name, figuresOf(b.Tally)})
	}
	return j
}

// KnownF1 is the F1 of the first of the rules: mail from people that the owner writes to.
func (j *Judgement) KnownF1() float64 {
	if len(j.Baselines) == 0 {
		return 0
	}
	return j.Baselines[0].F1
}

// Words are the figures in a sentence, the same wherever they are printed.
func (j *Judgement) Words() string {
	return fmt.Sprintf("of %d whose label is known, %d were important: %d found, %d missed, %d false alarms", j.Messages, j.Important, j.Found, j.Missed, j.FalseAlarms)
}

// Comparison sets their F1 beside those of the simple rules.
func (j *Judgement) Comparison() string {
	s := fmt.Sprintf("F1 %.2f, precision %.2f, recall %.2f; ", j.F1, j.Precision, j.Recall)
	var rules []string
	for _, b := range j.Baselines {
		if b.F1 > 0 {
			rules = append(rules, fmt.Sprintf("%s: %.2f", b.Rule, b.F1))
		}
	}
	if len(rules) == 0 {
		return s + "nothing to compare with"
	}
	s += "marking " + strings.Join(rules, ", ")
	if j.Better {
		return s
	}
	return s + ". It is not better than each of these rules"
}

// Withheld counts messages that were not marked for one reason.
type Withheld struct {
	Reason   string `json:"reason"`   // the reason, in words
	Messages int    `json:"messages"` // number of messages
}

const withheldDays = 7

// withheldOf counts them over the last days by the account's clock.
func withheldOf(f *filter.Filter) []Withheld {
	var out []Withheld
	since := f.State().Account.Clock.Add(-withheldDays * 24 * time.Hour)
	counts := map[string]int{}
	for _, m := range f.Messages.Newest() {
		if m.Arrived < since {
			break
		}
		switch {
		case m.Own:
		case m.Outcome == store.Undecided:
			counts["in a folder whose mail is not decided"]++
		case m.Outcome == store.DecidedImportant && m.Reason != store.ReasonThreshold && m.Reason != store.ReasonRule:
			counts[m.Reason.String()]++
		}
	}
	for reason, n := range counts {
		out = append(out, Withheld{reason, n})
	}
	slices.SortFunc(out, func(a, b Withheld) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), strings.Compare(a.Reason, b.Reason))
	})
	return out
}

// WithheldWords lists them in words; "" for none.
func WithheldWords(list []Withheld) string {
	var parts []string
	for _, w := range list {
		parts = append(parts, fmt.Sprintf("%d: %s", w.Messages, w.Reason))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("in the last %d days %s", withheldDays, strings.Join(parts, "; "))
}
