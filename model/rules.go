// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// RuleMargin is the least y·w·x on the prototype x of every rule that weights obey, y
// being its label. Lessons have no loss there.
const RuleMargin = 1

// Rule is a rule of the owner in terms of weights: whatever has a certain feature has
// a certain label. Its prototype is a vector with only that feature and the affine
// coordinate.
type Rule struct {
	Index  Index   // of the feature, not Affine
	Value  float64 // of the feature in the prototype, > 0
	Affine float64 // of the affine coordinate in it, ≥ 0
	Label  Label
}

// Prototype returns the rule's prototype, in ascending order.
func (r Rule) Prototype() Vector {
	if r.Affine == 0 {
		return Vector{{r.Index, r.Value}}
	}
	return Vector{{Affine, r.Affine}, {r.Index, r.Value}}
}

// Rules are rules that weights are kept to: the set of all w with y·w·x ≥ RuleMargin
// on each prototype, which is convex. nil means no rules. They are immutable and safe
// for concurrent use.
type Rules struct{ list []Rule }

// NewRules returns rules in the order of their features. It refuses two rules for
// one feature, and numbers that make no prototype.
func NewRules(list []Rule) (*Rules, error) {
	r := &Rules{slices.Clone(list)}
	slices.SortFunc(r.list, func(a, b Rule) int { return cmp.Compare(a.Index, b.Index) })
	for i, rule := range r.list {
		switch {
		case rule.Index <= Affine:
			return nil, fmt.Errorf("rule %d has the reserved index %d", i, rule.Index)
		case i > 0 && rule.Index == r.list[i-1].Index:
			return nil, fmt.Errorf("there are two rules for the feature with index %#x", uint64(rule.Index))
		case !(rule.Value > 0 && rule.Value <= math.MaxFloat64 && rule.Affine >= 0 && rule.Affine <= math.MaxFloat64):
			return nil, fmt.Errorf("the prototype of a rule has the values %v and %v; they must be above 0, and 0 or more", rule.Value, rule.Affine)
		case rule.Label != Important && rule.Label != Ordinary:
			return nil, fmt.Errorf("a rule has the label %d", rule.Label)
		}
	}
	return r, nil
}

// Len returns how many rules there are.
func (r *Rules) Len() int {
	if r == nil {
		return 0
	}
	return len(r.list)
}

// Touched appends to x the features that Project may change, with their values in the prototypes.
func (r *Rules) Touched(x Vector) Vector {
	if r.Len() == 0 {
		return x
	}
	x = append(x, Feature{Affine, 0})
	for _, rule := range r.list {
		x = append(x, Feature{rule.Index, rule.Value})
	}
	return x
}

// Project moves w to the nearest weights that obey all rules, and returns how far
// (the Euclidean norm, rounded up); 0 when it obeys already. O(n) expected time for n rules
// that are obeyed, O(n log n) else.
//
// Only the affine coordinate b and the rules' own features move. Whatever b
// becomes, the feature of a rule that it leaves broken must make up for it, by
// (y − a·b)/v for the prototype (a, v); so what is left is to find the b with the
// least sum of squares, (b − b₀)² + Σ (a/v)²·(β − b)² over the rules broken at b,
// β = (y − v·w)/a the b at which the rule is just obeyed. That is convex and
// piecewise quadratic, and its derivative changes only at the β: they are passed
// in ascending order until it is 0.
//
// Weights so great that this overflows are left as they are.
func (r *Rules) Project(w *Weights) float64 {
	if r.Len() == 0 || r.obeyed(w) {
		return 0
	}
	own := make([]float64, len(r.list))
	for i, rule := range r.list {
		own[i] = w.Get(rule.Index)
	}
	before := w.Get(Affine)
	b, moved, ok := r.project(before, own, RuleMargin)
	if !ok {
		return 0
	}
	if b != before {
		w.Set(Affine, b)
	}
	for i, rule := range r.list {
		if own[i] != w.Get(rule.Index) {
			w.Set(rule.Index, own[i])
		}
	}
	return moved
}

func (r *Rules) obeyed(w *Weights) bool {
	b := w.Get(Affine)
	for _, rule := range r.list {
		if !rule.holds(b, w.Get(rule.Index), RuleMargin) {
			return false
		}
	}
	return true
}

// holds reports whether the weights b and w, as Dot sums them, obey the rule.
func (r Rule) holds(b, w, margin float64) bool {
	return float64(float64(r.Label)*(float64(b*r.Affine)+float64(w*r.Value))) >= margin
}

// project is Project on the affine coordinate and the rules' own features, in the
// order of the rules, which it overwrites.
func (r *Rules) project(b0 float64, own []float64, margin float64) (b, moved float64, ok bool) {
	b = r.balance(b0, own, margin)
	square := float64((b - b0) * (b - b0))
	fixed := make([]float64, len(own))
	for i, rule := range r.list {
		fixed[i] = own[i]
		if rule.holds(b, own[i], margin) {
			continue
		}
		y := float64(rule.Label)
		fixed[i] = (float64(y*margin) - float64(rule.Affine*b)) / rule.Value
		for range 8 { // rounding may leave it a hair short
			if rule.holds(b, fixed[i], margin) {
				break
			}
			fixed[i] = math.Nextafter(fixed[i], math.Inf(int(rule.Label)))
		}
		square += float64((fixed[i] - own[i]) * (fixed[i] - own[i]))
	}
	if !(square <= math.MaxFloat64) {
		return b0, 0, false
	}
	copy(own, fixed)
	// Rounded up, since it joins D.
	return b, float64(math.Sqrt(square) * (1 + float64(float64(4*(len(own)+8))*roundoff))), true
}

// balance finds the affine coordinate of the projection.
func (r *Rules) balance(b0 float64, own []float64, margin float64) float64 {
	type bend struct {
		at     float64 // β
		weight float64 // (a/v)²
		rule   int
	}
	var bends []bend
	active := make([]bool, len(own))
	for i, rule := range r.list {
		if rule.Affine == 0 {
			continue
		}
		y, slope := float64(rule.Label), rule.Affine/rule.Value
		bends = append(bends, bend{(float64(y*margin) - float64(rule.Value*own[i])) / rule.Affine, float64(slope * slope), i})
		// Far below all bends the rules for important are broken, those for ordinary
		// are not.
		active[i] = rule.Label == Important
	}
	order := slices.Clone(bends)
	slices.SortFunc(order, func(x, y bend) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.rule, y.rule)) })
	// With the rules that are active the sum is least at (b₀ + Σ weight·β)/(1 + Σ weight).
	top, bottom := b0, 1.0
	for _, x := range bends {
		if active[x.rule] {
			top += float64(x.weight * x.at)
			bottom += x.weight
		}
	}
	for _, x := range order {
		if top <= float64(x.at*bottom) {
			break
		}
		if active[x.rule] {
			top, bottom = top-float64(x.weight*x.at), bottom-x.weight
		} else {
			top, bottom = top+float64(x.weight*x.at), bottom+x.weight
		}
		active[x.rule] = !active[x.rule]
	}
	// Once more, without what the way there has rounded.
	top, bottom = b0, 1
	for _, x := range bends {
		if active[x.rule] {
			top += float64(x.weight * x.at)
			bottom += x.weight
		}
	}
	return top / bottom
}

// slip bounds how far, in norm, rounding may take a projection off the nearest point, for weights of
// norm w: what b is off, and what all features follow it.
func (r *Rules) slip(w float64) float64 {
	n := float64(r.Len())
	reach, follow := w, 1.0
	for _, rule := range r.list {
		slope := rule.Affine / rule.Value
		reach += float64(slope * (1/rule.Value + w))
		reach += float64(1+w)/rule.Value + float64(slope*w)
		follow += float64(slope * slope)
	}
	return float64(float64(16*(n+8)*roundoff)*reach) * math.Sqrt(follow)
}

// Equal reports whether two sets of rules are the same.
func (r *Rules) Equal(other *Rules) bool {
	if r.Len() == 0 || other.Len() == 0 {
		return r.Len() == other.Len()
	}
	return slices.Equal(r.list, other.list)
}
