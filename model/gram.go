// SPDX-License-Identifier: Apache-2.0

package model

import "math"

// NewKernelHindsight returns a Hindsight of no lessons for a kernel learner of s that stood as from
// does, which it copies; nil: from zero. u is sought among the combinations of the lessons' φ(x)
// and w_s; R² is max K(x, x). Call Reached before Ceiling.
//
// Space is about 30 bytes a feature of every lesson and up to 192 MiB for rows of the Gram matrix;
// what does not fit is computed whenever it is needed. No more than 5·10⁸ kernels are evaluated
// for one ceiling; the gap tells how far that led.
func NewKernelHindsight(s KernelSpec, from *KernelLearner) *Hindsight {
	if err := s.Validate(); err != nil {
		h := newHindsight(s.Spec, newPlain(nil))
		h.Refuse(err.Error())
		return h
	}
	g := &gram{kernel: s.Kernel, index: supportIndex{names: NewWeights(0)}, most: 192 << 20, work: 5e8}
	if from != nil && from.Len() > 0 {
		g.from = newKernel(s)
		for _, sup := range from.Supports() {
			g.from.add(sup.Vector, sup.Alpha)
		}
		g.from.refresh()
		g.startSize = g.from.tally.Reach
		for i := range g.from.supports {
			sup := &g.from.supports[i]
			g.startSquare += float64(sup.Alpha * g.from.Score(sup.Vector))
		}
		g.startSquare = max(0, g.startSquare)
	}
	h := newHindsight(s.Spec, g)
	h.needsReach = true
	return h
}

// gram is the space of a kernel. What it knows of g is its dot product with every
// φ(x_i), kept up to date by a row of the Gram matrix for every move.
type gram struct {
	kernel Kernel
	from   *KernelLearner // w_s; nil where that is 0
	index  supportIndex   // of the lessons' vectors
	x      []Vector
	self   []float64 // K(x_i, x_i)
	alpha  []float64 // α_t·y_t
	inner  []float64 // g·φ(x_i)
	start  []float64 // w_s·φ(x_i)
	rows   [][]float64
	dots   []float64

	startSquare float64 // ‖w_s‖²
	startSize   float64 // Σ |α|·√K(x, x) of w_s
	features    int     // of the longest vector
	total       int     // features of all
	moves       float64 // Σ |d|·√K(x, x) of all moves
	kappa       float64 // of the u that was fixed
	held, most  int     // bytes of rows
	moved       int     // how many moves there were
	keeps       bool    // rows that are moved along; not while lessons come in
	spent, work int     // kernels evaluated since begin, and how many may be
}

func (g *gram) add(x Vector) float64 {
	x = append(Vector(nil), unlifted(x)...)
	i := len(g.x)
	g.x, g.self = append(g.x, x), append(g.self, g.kernel.of(x.SquaredNorm()))
	g.alpha, g.rows = append(g.alpha, 0), append(g.rows, nil)
	g.index.add(x, i, i+1)
	g.features = max(g.features, len(x))
	g.total, g.keeps = g.total+len(x), false
	start := 0.0
	if g.from != nil {
		start = g.from.Score(x)
	}
	g.start = append(g.start, start)
	g.inner = append(g.inner, 0)
	sum := 0.0
	row := g.row(i)
	for j, v := range row {
		sum += float64(g.alpha[j] * v)
	}
	g.inner[i] = sum
	return g.self[i]
}

// row returns K(x_i, x_j) for every j. It is valid until the next call.
func (g *gram) row(i int) []float64 {
	n := len(g.x)
	if len(g.rows[i]) == n {
		return g.rows[i]
	}
	g.held -= 8 * cap(g.rows[i])
	g.rows[i] = nil
	if cap(g.dots) < n {
		g.dots = make([]float64, n+n/4)
	}
	out := g.dots[:n]
	clear(out)
	g.index.dot(g.x[i], out)
	for j, d := range out {
		out[j] = g.kernel.of(d)
	}
	g.spent += n
	return out
}

func (g *gram) score(i int) float64 { return g.start[i] + g.inner[i] }

func (g *gram) move(i int, d float64) {
	row := g.row(i)
	g.alpha[i] += d
	for j, v := range row {
		g.inner[j] += float64(d * v)
	}
	g.moved++
	g.moves += float64(math.Abs(d) * math.Sqrt(g.self[i]))
	// The first that come are kept: in passes of ever another order that serves as
	// well as anything, and no row drives out one that is needed sooner. While lessons
	// are being added a row would be too short for the next.
	if g.keeps && g.rows[i] == nil && g.held+8*len(row) <= g.most {
		g.rows[i] = append([]float64(nil), row...)
		g.held += 8 * len(row)
	}
}

func (g *gram) begin()               { g.keeps, g.spent = true, 0 }
func (g *gram) exhausted() bool      { return g.spent > g.work }
func (g *gram) climbRules()          {}
func (g *gram) bonus() float64       { return 0 }
func (g *gram) indifferent() float64 { return 1e-6 }

func (g *gram) squares() (square, toStart float64) {
	for i, a := range g.alpha {
		square += float64(a * g.inner[i])
		toStart += float64(a * g.start[i])
	}
	return max(0, square), toStart
}

// fix: u − w_s is g/κ + (1/κ − 1)·w_s. A dot product of g with φ(x) is wrong by no more
// than e·√K(x, x), with e = 4·ε·terms·(Σ |α| of w_s + Σ |d| of all moves), each times
// √K(x, x); that of w_s is, too.
func (g *gram) fix(kappa float64) (f fixed) {
	g.kappa = kappa
	e := float64(float64(4*roundoff*g.roundings()) * (g.startSize + g.moves))
	if kappa == 0 {
		return fixed{distance: g.startSquare, slack: float64(e * g.startSize)}
	}
	square, toStart := g.squares()
	size := 0.0
	for i, a := range g.alpha {
		size += float64(math.Abs(a) * math.Sqrt(g.self[i]))
	}
	off := 1 - kappa
	per := 1 / float64(kappa*kappa)
	f.size = float64((g.startSquare + float64(2*toStart) + square) * per)
	f.distance = float64((square + float64(2*float64(off*toStart)) + float64(float64(off*off)*g.startSquare)) * per)
	f.size, f.distance = max(0, f.size), max(0, f.distance)
	f.toStart = (g.startSquare + toStart) / kappa
	wide := 1 + math.Abs(off)
	all := float64(4 * float64(e*(g.startSize+float64(3*size))))
	f.slack = float64(float64(all*float64(wide*wide))*per) + all/kappa
	f.reach = (g.startSize + g.moves) / kappa
	return f
}

func (g *gram) dot(i int) float64 {
	if g.kappa == 0 {
		return 0
	}
	return g.score(i) / g.kappa
}

func (g *gram) terms(int) float64 { return g.roundings() }

// roundings is how many there are in a dot product of g or w_s with a φ(x), or in a
// score of the learner, whose supports are lessons.
func (g *gram) roundings() float64 {
	n := float64(len(g.x) + g.moved + 64)
	if g.from != nil {
		n += float64(g.from.Len())
	}
	return n + float64(float64(g.features)*float64(g.kernel))
}

func (g *gram) dimensions() int    { return int(min(1e15, g.roundings())) }
func (g *gram) startNorm() float64 { return math.Sqrt(g.startSquare) }
func (g *gram) bytes() int         { return 32*g.total + 80*len(g.x) + g.held }
