// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"math"
	"net/mail"
	"slices"
	"strings"

	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/internal/account/filter"
)

// outcome is what one tool made of the live part of one life.
type outcome struct {
	tool      string
	tally     filter.Tally
	days      map[int]*filter.Tally // by days since the start
	kinds     map[string]*filter.Tally
	dangerous int // messages that are dangerous to mark
	firstMark int // days since the start, from 0; -1: there was none
	questions int
	takenOff  int
}

// judge adds up what a tool marked of the verdicts.
func judge(tool string, verdicts []*verdict, marked func(*verdict) bool) *outcome {
	o := &outcome{tool: tool, firstMark: -1, days: map[int]*filter.Tally{}, kinds: map[string]*filter.Tally{}}
	for _, v := range verdicts {
		did := marked(v)
		if did && o.firstMark < 0 {
			o.firstMark = v.day
		}
		o.tally.Count(did, v.wanted, 1)
		tallyOf(o.days, v.day).Count(did, v.wanted, 1)
		for _, k := range persons.Kinds {
			if strings.Contains(v.kind, k.Name) {
				tallyOf(o.kinds, k.Name).Count(did, v.wanted, 1)
				if k.Phishing {
					o.dangerous++
				}
			}
		}
	}
	return o
}

func tallyOf[K comparable](m map[K]*filter.Tally, k K) *filter.Tally {
	if m[k] == nil {
		m[k] = new(filter.Tally)
	}
	return m[k]
}

// add adds t to sum.
func add(sum, t *filter.Tally) {
	sum.Hits, sum.FalseAlarms, sum.Missed = sum.Hits+t.Hits, sum.FalseAlarms+t.FalseAlarms, sum.Missed+t.Missed
}

// ours judges hinged's marks.
func ours(p *played) *outcome {
	o := judge("hinged", p.verdicts, func(v *verdict) bool { return v.marked })
	o.firstMark, o.questions, o.takenOff = p.firstMark, p.questions, p.takenOff
	return o
}

// best judges the threshold over hinged's scores that would have had the best F1, known only
// afterwards.
func best(verdicts []*verdict) *outcome {
	top, cut := -1.0, math.Inf(1)
	for _, v := range verdicts {
		var t filter.Tally
		for _, w := range verdicts {
			t.Count(w.score >= v.score, w.wanted, 1)
		}
		if f1 := t.F1(); f1 > top {
			top, cut = f1, v.score
		}
	}
	return judge("best threshold", verdicts, func(v *verdict) bool { return v.score >= cut })
}

func (o *outcome) marks() int { return o.tally.Hits + o.tally.FalseAlarms }

// week is F1 in a week from the start; NaN where nothing was to be marked.
func (o *outcome) week(n int) float64 {
	var sum filter.Tally
	for d, t := range o.days {
		if d/7 == n {
			add(&sum, t)
		}
	}
	return given(sum.F1(), sum != filter.Tally{})
}

// given is x, or NaN where there is none.
func given(x float64, there bool) float64 {
	if !there {
		return math.NaN()
	}
	return x
}

// figures are the columns of the table. Each is averaged over what is not NaN.
var figures = []struct {
	head, format string
	of           func(*outcome) float64
}{
	{"silent", "%.1f", func(o *outcome) float64 { return float64(max(0, 1-o.marks())) }},
	{"first day", "%.1f", func(o *outcome) float64 { return given(float64(o.firstMark), o.firstMark >= 0) }},
	{"marks", "%.1f", func(o *outcome) float64 { return float64(o.marks()) }},
	{"precision", "%.2f", func(o *outcome) float64 { return given(o.tally.Precision(), o.marks() > 0) }},
	{"recall", "%.2f", func(o *outcome) float64 { return o.tally.Recall() }},
	{"F1", "%.3f", func(o *outcome) float64 { return o.tally.F1() }},
	{"week 1", "%.2f", func(o *outcome) float64 { return o.week(0) }},
	{"week 2", "%.2f", func(o *outcome) float64 { return o.week(1) }},
	{"week 3", "%.2f", func(o *outcome) float64 { return o.week(2) }},
	{"asked", "%.1f", func(o *outcome) float64 { return float64(o.questions) }},
	{"off", "%.1f", func(o *outcome) float64 { return float64(o.takenOff) }},
}

// rule is the rule "a person wrote to me, no list, not Cc", of the header alone: To names an
// address of the owner's; there is no field List-* and no Precedence; Auto-Submitted is absent
// or "no"; and the local part of From is no machine's (machine). Reply-To, the display name
// and the text don't count.
func rule(raw []byte, owner []string) bool {
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return false
	}
	for name := range m.Header {
		if strings.HasPrefix(name, "List-") {
			return false
		}
	}
	if auto := m.Header.Get("Auto-Submitted"); m.Header.Get("Precedence") != "" || auto != "" && !strings.EqualFold(auto, "no") {
		return false
	}
	from, err := m.Header.AddressList("From")
	if err != nil || len(from) == 0 || machine(from[0].Address) {
		return false
	}
	to, _ := m.Header.AddressList("To")
	return slices.ContainsFunc(to, func(a *mail.Address) bool {
		return slices.ContainsFunc(owner, func(o string) bool { return strings.EqualFold(o, a.Address) })
	})
}

// machines are what the local parts of addresses that nobody reads contain, without "-", "_"
// and "."; roleAccounts are whole local parts of programs.
var (
	machines     = []string{"noreply", "donotreply", "nepasrepondre", "nichtantworten", "keineantwort", "nietbeantwoorden"}
	roleAccounts = []string{"notification", "notifications", "newsletter", "mailerdaemon", "bounce", "bounces"}
)

// machine reports whether an address says that a program writes from it.
func machine(address string) bool {
	local, _, _ := strings.Cut(strings.ToLower(address), "@")
	local = strings.NewReplacer("-", "", "_", "", ".", "").Replace(local)
	return slices.Contains(roleAccounts, local) || slices.ContainsFunc(machines, func(m string) bool { return strings.Contains(local, m) })
}
