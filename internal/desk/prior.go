// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/prior"
)

// GetPrior returns what the accounts together would give a new one to begin with.
var GetPrior = offer(Verb[None, Prior]{Name: "prior", Slow: true, do: func(ctx context.Context, h Host, _ string, _ None) (Prior, error) {
	out := Prior{Weights: []PriorWeight{}}
	var mean prior.Mean
	err := h.Each(ctx, func(d *Desk) error { out.add(&mean, d.Filter); return nil })
	if err == nil && out.Accounts > 0 {
		for _, w := range mean.Prior().Weights {
			out.Weights = append(out.Weights, PriorWeight{w.Name, w.Value})
		}
	}
	return out, err
}})

// Prior is the mean of what all accounts weigh, for features that name nobody. It names
// no account.
type Prior struct {
	Accounts int `json:"accounts"` // that it is the mean of
	// Skipped are accounts with too few labels yet, or with a kernel, whose weights are
	// no weights of features.
	Skipped   int           `json:"skipped"`
	Lessons   uint64        `json:"lessons"`   // that the accounts have learnt
	Important uint64        `json:"important"` // of those, lessons with that label
	Weights   []PriorWeight `json:"weights"`   // by feature
}

// PriorWeight is the mean weight of one feature.
type PriorWeight struct {
	Feature string  `json:"feature"`
	Weight  float64 `json:"weight"`
}

// fewLessons of a class are too few for what an account learnt to be of use to others.
const fewLessons = 20

// add adds an account; nil is one that has not come in yet.
func (p *Prior) add(mean *prior.Mean, f *filter.Filter) {
	if f == nil {
		p.Skipped++
		return
	}
	o, a := f.Options(), f.State().Account
	if min(a.Important, a.Ordinary) < fewLessons || o.Kernel != (filter.Kernel{}) {
		p.Skipped++
		return
	}
	mean.Add(f.Explainer.Alone())
	p.Accounts++
	p.Lessons += a.Important + a.Ordinary
	p.Important += a.Important
}
