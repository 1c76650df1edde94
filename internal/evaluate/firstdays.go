// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"strings"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/model"
)

// firsts are of how many examples after the owner's first own message the first days are
// judged.
var firsts = [...]int{200, 500, 1000}

// First says how the first examples after the owner's first own message were judged. This
// shows how a new account does before it has learnt much.
type First struct {
	Examples         int     `json:"examples"`          // number of examples
	Important        int     `json:"important"`         // number of these examples that were important
	AveragePrecision float64 `json:"average_precision"` // average precision of their scores at arrival
	F1               float64 `json:"f1"`                // f1 of the decisions on them
}

// firstDays gathers the examples that First is about.
type firstDays struct {
	begun    bool // the owner's first own message has come
	examples []Judged
	called   []bool
}

func (d *firstDays) note(score float64, called bool, label model.Label) {
	if d.begun && len(d.examples) < firsts[len(firsts)-1] {
		d.examples = append(d.examples, Judged{score, label})
		d.called = append(d.called, called)
	}
}

// results leaves out those for which there were too few examples.
func (d *firstDays) results() []First {
	var out []First
	for _, n := range firsts {
		if n > len(d.examples) {
			break
		}
		var t filter.Tally
		for i, e := range d.examples[:n] {
			t.Count(d.called[i], e.Label == model.Important, 1)
		}
		out = append(out, First{
			Examples: n, Important: t.Hits + t.Missed,
			AveragePrecision: AveragePrecision(d.examples[:n]), F1: t.F1(),
		})
	}
	return out
}

// firstDaysLine is the line of the table.
func firstDaysLine(all []First) string {
	var parts []string
	for _, f := range all {
		parts = append(parts, fmt.Sprintf("%d: average precision %.4f, F1 %.4f", f.Examples, f.AveragePrecision, f.F1))
	}
	return strings.Join(parts, "; ")
}
