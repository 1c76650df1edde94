// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"strings"

	"github.com/hinged/hinged/bench/mailbox/life"
	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/internal/filter"
)

// outcome is what one tool made of the live part of one life.
type outcome struct {
	tool      string
	marks     int
	tally     filter.Tally
	weeks     [maxWeeks]filter.Tally
	days      map[int]*filter.Tally // by days since the start
	kinds     map[string]*filter.Tally
	firstMark int // days since the start, from 0; -1: there was none
	phish     int // phishing that came
	questions int
	takenOff  int
}

// maxWeeks is how many weeks from the start the table tells of.
const maxWeeks = 3

// kindOf returns which of persons.Kinds a message is; nil: another.
func kindOf(v *verdict) *persons.Kind {
	for i := range persons.Kinds {
		if k := &persons.Kinds[i]; strings.Contains(v.kind, k.Name) {
			return k
		}
	}
	return nil
}

// judge adds up what a tool marked of the verdicts.
func judge(tool string, verdicts []*verdict, marked func(*verdict) bool) *outcome {
	o := &outcome{tool: tool, firstMark: -1, days: map[int]*filter.Tally{}, kinds: map[string]*filter.Tally{}}
	for _, v := range verdicts {
		did := marked(v)
		if did {
			if o.marks++; o.firstMark < 0 {
				o.firstMark = v.day
			}
		}
		o.tally.Count(did, v.wanted, 1)
		if w := v.day / 7; w < maxWeeks {
			o.weeks[w].Count(did, v.wanted, 1)
		}
		tallyOf(o.days, v.day).Count(did, v.wanted, 1)
		if k := kindOf(v); k != nil {
			if k.Phishing {
				o.phish++
			}
			tallyOf(o.kinds, k.Name).Count(did, v.wanted, 1)
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

// ours judges hinged's marks.
func ours(p *played) *outcome {
	o := judge(hinged, p.verdicts, func(v *verdict) bool { return v.marked })
	o.firstMark, o.questions, o.takenOff = p.firstMark, p.questions, p.takenOff
	return o
}

// answers reports whether the owner of a life answers mail: at least one message in a hundred.
func (o *opened) answers() bool {
	n := 0
	for _, m := range o.Mail {
		for _, a := range m.Acts {
			if a.Do == life.Answer {
				n++
				break
			}
		}
	}
	return n*100 >= len(o.arrived)
}

// mean is of what is not NaN; NaN if that is nothing.
func mean(list []float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range list {
		if !math.IsNaN(x) {
			sum += x
			n++
		}
	}
	return sum / n
}
