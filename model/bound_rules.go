// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"slices"
)

// pins are the rules that u must obey, with the dual variable of each.
type pins struct {
	rules  *Rules // nil: u may be any
	dual   []float64
	places []uint32 // positions of the affine coordinate and of the rules' features
}

// ruleRoom is how much more than RuleMargin is asked of u, so that rounding leaves
// no rule broken.
const ruleRoom = 0x1p-30

// pin takes up the rules, and says why it cannot.
func (p *plain) pin(rules *Rules) (problem string) {
	p.pins = pins{rules: rules, dual: make([]float64, len(rules.list)), places: []uint32{p.name(Affine)}}
	for _, rule := range rules.list {
		p.places = append(p.places, p.name(rule.Index))
		if norm := rule.Prototype().SquaredNorm(); !(norm > short && norm <= math.MaxFloat64) {
			problem = "the prototype of a rule is too long or too short to square"
		}
	}
	return problem
}

// obey moves u, one number a position, to the nearest that obeys the rules, and
// reports whether one was found.
func (p *plain) obey(u []float64) bool {
	if p.rules.Len() == 0 {
		return true
	}
	own := make([]float64, len(p.places)-1)
	for i := range own {
		own[i] = u[p.places[i+1]]
	}
	b, _, ok := p.rules.project(u[p.places[0]], own, RuleMargin+ruleRoom)
	for i, rule := range p.rules.list {
		ok = ok && rule.holds(b, own[i], RuleMargin+ruleRoom/2)
	}
	if !ok {
		return false
	}
	u[p.places[0]] = b
	for i, v := range own {
		u[p.places[i+1]] = v
	}
	return true
}

// climbRules maximises the dual over the variables of all rules at once: with them
// the sum becomes the projection of what it is without them.
func (p *plain) climbRules() {
	if p.rules.Len() == 0 {
		return
	}
	list := p.rules.list
	b, own := p.sum[p.places[0]], make([]float64, len(list))
	for i, rule := range list {
		pull := float64(p.dual[i] * float64(rule.Label))
		b -= float64(pull * rule.Affine)
		own[i] = p.sum[p.places[i+1]] - float64(pull*rule.Value)
	}
	fixed := slices.Clone(own)
	if _, _, ok := p.rules.project(b, fixed, RuleMargin+ruleRoom); !ok {
		return
	}
	for i, rule := range list {
		p.dual[i] = max(0, float64(float64(rule.Label)*(fixed[i]-own[i]))/rule.Value)
		pull := float64(p.dual[i] * float64(rule.Label))
		b += float64(pull * rule.Affine)
		p.sum[p.places[i+1]] = own[i] + float64(pull*rule.Value)
	}
	p.sum[p.places[0]] = b
}

// bonus is the rules' part of the dual.
func (p *plain) bonus() (total float64) {
	for _, alpha := range p.dual {
		total += float64((RuleMargin + ruleRoom) * alpha)
	}
	return total
}
