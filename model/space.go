// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"slices"
)

// space is where the vectors of a Hindsight live: that of the features themselves, or
// that of a kernel. g is Σ α_t·y_t·φ(x_t) over the lessons, w_s what the learner
// started from.
type space interface {
	// add takes up the vector of the next lesson, which it does not keep, and returns
	// ‖φ(x)‖².
	add(x Vector) float64
	// score returns (w_s + g)·φ(x_i).
	score(i int) float64
	// move adds d·φ(x_i) to g.
	move(i int, d float64)
	// squares returns ‖g‖² and w_s·g.
	squares() (square, toStart float64)
	// fix sets u = (w_s + g)/κ, or 0 where κ is 0; where there are rules, the nearest that
	// obeys them.
	fix(kappa float64) fixed
	// dot returns u·φ(x_i) for the u that was fixed.
	dot(i int) float64
	// terms is how many roundings there are in a dot product with φ(x_i).
	terms(i int) float64
	// dimensions is how many terms the sums of fix have.
	dimensions() int
	begin()          // of a search
	exhausted() bool // the search has taken as much work as it may
	// climbRules maximises the dual over the rules that u must obey; bonus is their part
	// of it.
	climbRules()
	bonus() float64
	indifferent() float64 // share of the dual, over the lessons, that is no gain worth a move
	startNorm() float64   // ‖w_s‖
	bytes() int
}

// fixed is what fix says of u; but for rounding that the caller makes room for, as
// with slack.
type fixed struct {
	size, distance float64 // ‖u‖² and ‖u − w_s‖²
	toStart        float64 // w_s·u
	slack          float64 // by how much each of the three may be wrong beyond that
	problem        string  // why there is no such u; "" where there is
	// reach takes the place of ‖u‖ in the rounding of dot products.
	reach float64
}

// plain is the space of the features.
type plain struct {
	names *Weights // Index → position in the slices below
	start []float64
	sum   []float64 // w_s + g
	best  []float64 // u
	norm  float64   // ‖start‖²
	stale bool      // norm is that of an earlier start
	rows  []compact
	pins
}

// compact is one vector. Features of one value stand together, so that a dot product
// takes one multiplication a value and not one a feature; the vectors made of mail
// have a handful of values.
type compact struct {
	at   []uint32 // positions, those of the first run first
	runs []run
}

type run struct {
	value float64
	n     int
}

func newPlain(from *Weights) *plain {
	p := &plain{names: NewWeights(0)}
	if from == nil {
		return p
	}
	for _, f := range from.Sorted() {
		if f.Value == 0 {
			continue
		}
		p.start[p.name(f.Index)] = f.Value
		p.norm += float64(f.Value * f.Value)
	}
	copy(p.sum, p.start)
	return p
}

func (p *plain) add(x Vector) float64 {
	p.rows = append(p.rows, p.compact(x))
	return x.SquaredNorm()
}

func (p *plain) score(i int) float64  { return p.rows[i].dot(p.sum) }
func (p *plain) dot(i int) float64    { return p.rows[i].dot(p.best) }
func (p *plain) terms(i int) float64  { return float64(len(p.rows[i].at)) }
func (p *plain) dimensions() int      { return len(p.sum) }
func (p *plain) begin()               {}
func (p *plain) exhausted() bool      { return false }
func (p *plain) indifferent() float64 { return 0 }

func (p *plain) startNorm() float64 {
	if p.stale {
		p.norm, p.stale = 0, false
		for _, v := range p.start {
			p.norm += float64(v * v)
		}
	}
	return math.Sqrt(p.norm)
}

func (p *plain) bytes() int {
	n := 24*len(p.sum) + 16*len(p.names.table)
	for i := range p.rows {
		n += 4*len(p.rows[i].at) + 16*len(p.rows[i].runs) + 48
	}
	return n
}

func (p *plain) move(i int, d float64) { p.rows[i].addTo(p.sum, d) }

// settle adds d·x_i to what the search starts from.
func (p *plain) settle(i int, d float64) {
	p.rows[i].addTo(p.start, d)
	p.rows[i].addTo(p.sum, d)
	p.stale = true
}

func (p *plain) squares() (square, toStart float64) {
	for i, v := range p.sum {
		d := v - p.start[i]
		square += float64(d * d)
		toStart += float64(d * p.start[i])
	}
	return square, toStart
}

func (p *plain) fix(kappa float64) (f fixed) {
	p.best = append(p.best[:0], make([]float64, len(p.sum))...)
	for i, v := range p.sum {
		u := 0.0
		if kappa != 0 {
			u = v / kappa
		}
		p.best[i] = u
	}
	if !p.obey(p.best) {
		f.problem = "the numbers are so great that no weights were found that obey the rules"
	}
	for i, u := range p.best {
		f.size += float64(u * u)
		d := u - p.start[i]
		f.distance += float64(d * d)
		f.toStart += float64(u * p.start[i])
	}
	return f
}

// name returns the position of a feature, a new one if need be.
func (p *plain) name(i Index) uint32 {
	if at, ok := p.names.Lookup(i); ok {
		return uint32(at)
	}
	at := len(p.sum)
	p.names.Set(i, float64(at))
	p.sum = append(p.sum, 0)
	p.start = append(p.start, 0)
	return uint32(at)
}

// compact puts features of one value together.
func (p *plain) compact(x Vector) compact {
	var runs []run
	known := map[float64]int{} // value → run
	which := make([]int, len(x))
	for i, f := range x {
		k, ok := known[f.Value]
		if !ok {
			k = len(runs)
			known[f.Value] = k
			runs = append(runs, run{value: f.Value})
		}
		runs[k].n++
		which[i] = k
	}
	next := make([]int, len(runs)) // where the next position of each run goes
	for k := 1; k < len(runs); k++ {
		next[k] = next[k-1] + runs[k-1].n
	}
	at := make([]uint32, len(x))
	for i, f := range x {
		at[next[which[i]]] = p.name(f.Index)
		next[which[i]]++
	}
	return compact{at, runs}
}

// addTo adds d·x to v. O(len(x)) time.
func (r *compact) addTo(v []float64, d float64) {
	at := r.at
	for _, same := range r.runs {
		step := float64(d * same.value)
		for _, i := range at[:same.n] {
			v[i] += step
		}
		at = at[same.n:]
	}
}

// dot returns v·x. O(len(x)) time.
func (r *compact) dot(v []float64) float64 {
	sum, at := 0.0, r.at
	for _, same := range r.runs {
		part := 0.0
		for _, i := range at[:same.n] {
			part += v[i]
		}
		sum += float64(same.value * part)
		at = at[same.n:]
	}
	return sum
}

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
