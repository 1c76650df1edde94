// SPDX-License-Identifier: Apache-2.0

// Long: the theorems, their proofs and the code that computes with them are read side
// by side.

package model

import (
	"cmp"
	"math"
	"slices"
)

// Ceiling is a certified upper bound on the mistakes that a learner made, in
// hindsight: a theorem about every u, applied to the u that Hindsight found. A
// mistake is y·score ≤ 0 before the step, as Zero judges it.
//
// Notation: lesson t is (x_t, y_t) with weight v_t; ℓ_t(u) = max(0, 1 − y_t·u·x_t)
// (Blum, section 2.4); the learner started from w_s; D is the summed norm of
// every change of w that was no lesson's step; R = max‖x_t‖ over all lessons.
//
// # Perceptron and margin perceptron
//
// Let S = Σ v_t over the lessons that moved w, L(u) = Σ v_t·ℓ_t(u) over all
// lessons and Q = max(v_t·‖x_t‖² + 2τ), τ = 0 for the perceptron; with all weights
// 1, Q = R² + 2τ and S counts the updates. Then for every u
//
//	S ≤ b + Q‖u‖²/2 + √(Q²‖u‖⁴/4 + b·Q‖u‖² + ‖u‖²‖w_s‖²),  b = L(u) + 2‖u‖D − w_s·u
//
// which from w_s = 0 is (√Q‖u‖/2 + √(Q‖u‖²/4 + L(u) + 2‖u‖D))², and at most
// Q‖u − w_s/Q‖² + 2L(u) + 4‖u‖D.
//
// Proof (Blum, Theorems 1 and 2, with weights, margin, start and displacement).
// A step adds v·y·u·x ≥ v(1 − ℓ(u)) to w·u, a displacement d takes away ‖u‖·‖d‖ at
// most: w·u ≥ w_s·u + S − L(u) − ‖u‖D at the end. A step adds v²‖x‖² + 2v·y·w·x ≤ v·Q
// to ‖w‖², as y·w·x ≤ τ; a displacement adds its norm to ‖w‖; since √((√A + d)² + B) ≤
// √(A + B) + d, ‖w‖ ≤ √(‖w_s‖² + Q·S) + D at the end. By Cauchy and Schwarz
// S − b ≤ ‖u‖√(‖w_s‖² + Q·S), a quadratic inequality in S. The simpler form: the
// right side is at most Q‖u‖²/2 + (‖w_s‖² + Q·S)/(2Q).
//
// Mistakes move w (or have x = 0, which adds v(1 − ℓ) = 0), so with weights of 1
// they are at most S. With others, and with vectors of different lengths, less is
// given away by the inequality before the sum over Q: let q_t = v_t·‖x_t‖² + 2τ;
// then for every κ > 0, too,
//
//	Σ v_t(1 − q_t/(2κ)) over the lessons that moved w ≤ κ/2·‖u − w_s/κ‖² + L(u) + 2‖u‖D
//
// as ‖u‖√(‖w_s‖² + Σ v_t·q_t) ≤ κ/2·‖u‖² + (‖w_s‖² + Σ v_t·q_t)/(2κ). So the mistakes are
// at most the greatest number of lessons whose terms on the left sum to no more
// than the right side: the smallest first.
//
// # Passive-aggressive
//
// With C_t = C·v_t, p = 1 for PA-I and 2 for PA-II, for every u
//
//	Σ g_t over the mistakes ≤ (√(‖u − w_s‖² + 2·Σ C_t·ℓ_t(u)^p) + D)²
//
//	PA-II: g_t = 1/(‖x_t‖² + 1/(2C_t))
//	PA-I:  g_t = 1/‖x_t‖² where C_t‖x_t‖² ≥ 1, else C_t(2 − C_t‖x_t‖²)
//
// and so the mistakes are at most the greatest number of lessons whose g_t sum to
// no more than the right side. With weights of 1 and D = 0 this is, for PA-II,
// at most (R² + 1/(2C))(‖u‖² + 2C·Σ ℓ²), and for PA-I max(R², 1/C)(‖u‖² + 2C·Σ ℓ)
// (Crammer et al. 2006, theorems 5 and 4).
//
// Proof. With loss ℓ = 1 − y·w·x and step a the distance ‖w − u‖² falls by
// 2a(y·u·x − y·w·x) − a²‖x‖² ≥ 2a·ℓ − a²‖x‖² − 2a·ℓ(u). PA-II: 2a·ℓ(u) ≤ a²/(2C) + 2C·ℓ(u)²,
// and 2aℓ − a²(‖x‖² + 1/(2C)) is ℓ²/(‖x‖² + 1/(2C)) for its a. PA-I: a ≤ C, and its a
// maximises 2aℓ − a²‖x‖² over [0, C]; the maximum grows with ℓ and is g at ℓ = 1.
// So the distance falls by g_t − 2C_t·ℓ_t(u)^p or more on a mistake, by −2C_t·ℓ_t(u)^p
// or more elsewhere. A displacement adds its norm to the distance, which never
// exceeds X + D with X = √(‖u − w_s‖² + 2ΣC_t·ℓ_t(u)^p); so all of them together
// add 2X·D + D² to its square at most. A step on x = 0 is none; there ℓ(u) = 1 and
// g_t = 2C_t, so that nothing is claimed of it.
//
// # Dual
//
// Every lesson i that was ever learnt has a coefficient α_i ≥ 0, d_i = 1/(2C_i) and
//
//	q_i(u) = α_i(y_i·u·x_i − 1) + C_i·ℓ_i(u)² + d_i·α_i²/2 ≥ 0
//
// as y·u·x ≥ 1 − ℓ makes it at least (√C·ℓ − α/(2√C))². Let Φ(u) = ‖u − w‖²/2 + Σ q_i(u),
// w as it is at the moment and i over the lessons that count: all but those that were
// taken back. Where w = w₀ + Σ α_i·y_i·x_i, Φ(u) is what weak duality leaves between
//
//	P(u) = ‖u − w₀‖²/2 + Σ C_i·ℓ_i(u)²  and
//	D(α) = Σ α_i(1 − y_i·w₀·x_i) − ‖Σ α_i·y_i·x_i‖²/2 − Σ d_i·α_i²/2,
//
// P(u) − D(α); but nothing below needs w to be of that form.
//
// A step that takes α_i to α_i + δ and w to w + δ·y_i·x_i, whatever δ and w, lowers Φ(u) by
//
//	δ(1 − y_i·w·x_i − d_i·α_i) − δ²(‖x_i‖² + d_i)/2,
//
// by which D rises, for every u alike: in ‖u − w‖²/2 and in q_i the terms with y_i·u·x_i
// cancel. The learner knows that number, and DualTally sums it up:
//
//   - The first step on a lesson starts at α = 0 and δ is where the number is greatest: it
//     is ℓ²/(2(‖x‖² + d)), on a mistake at least g_t/2, g_t that of PA-II. The lesson
//     begins to count, which raises Φ(u) by C·ℓ(u)².
//   - A step of replay lowers Φ(u) by what D gains, which is never less than 0.
//   - A lesson that is taken back goes to α = 0, δ = −α. Φ(u) rises by what D loses. The
//     lesson counts no longer, which lowers Φ(u) by C·ℓ(u)².
//   - A lesson that leaves the window keeps its α, and counts. When its message is
//     labelled again later, there are two lessons that count.
//
// Φ(u) is ≥ 0 in the end. So for every u
//
//	Σ g_t/2 over the mistakes ≤ P(u) − D_s + T − S
//
// where P is over the lessons that count in the end, S is the sum of all gains that are
// known and needed for no mistake (Spare), T that of the losses (TakenBack), and
// w₀ and D_s are those at the start: from a checkpoint with weights w_s and a window,
// w₀ = w_s − Σ α_i·y_i·x_i and D_s = D(α) over the window, as Φ(u) = P(u) − D_s there. What
// left the window before stays in w₀. The mistakes are at most the greatest number of
// lessons, those that were taken back included, whose g_t/2 sum to no more than the
// right side. That holds from any w_s, such as a prior.
//
// The gains by mistakes on ordinary lessons are known, too. They may be taken off the
// right side where only the mistakes on important lessons are counted, and the other way
// round. Mistakes is the lower of the sum of these two counts and the count of all.
//
// For PA-I and PA-II ‖u − w‖²/2 falls by aℓ − a²‖x‖²/2 − C·ℓ(u), or by what is printed above
// less C·ℓ(u)², on every lesson. So their S, the sum over the lessons that were no
// mistakes, may be taken off the right side, too, twice S where that is not halved; and
// mistakes are counted by label as well. Without tallies S = 0.
//
// Changing C between would change D and Φ(u) by what nobody has summed up: no ceiling
// covers lessons on both sides of a change (Tally refuses).
//
// # Dual: weights given up, and other displacements
//
// Weights that are given up are set to 0. Let p be the part of w that goes. ‖u − w‖²/2
// rises by u·p − ‖p‖²/2 ≤ ‖u‖‖p‖, as the rest of w is 0 where p is not. So D of those
// costs ‖u‖D on the right side. A displacement p of another kind costs
// ‖p‖‖u − w‖ + ‖p‖²/2, ‖u − w‖ ≤ W + ‖u‖ (W: see Rounding). This holds for PA-I and PA-II,
// too; the lower of both forms is taken where both hold, which the older one does not
// once a lesson was taken back.
//
// # Rules
//
// A learner that is kept to rules is projected, after a step, onto the convex set
// of the weights that obey them. For passive-aggressive and dual the theorems hold as
// they stand for every u in that set: the projection takes w no further from such a u.
// In Φ(u) it changes ‖u − w‖²/2 alone, which falls by ‖p‖²/2 or more, p the projection: that
// is so for one rule or many, whatever was replayed or taken back in between, as each
// step and each loss is measured at the w that it meets.
// For the others a projection is a displacement like any other, and u may be any.
//
// # Rounding
//
// The theorems are about real numbers, the learner's are rounded. Let ε = 2⁻⁵³, n
// the features of a lesson, N the steps and W a bound on ‖w‖. A score is wrong by at most
// ρ = 4nεW‖x‖ (and n times the least positive number, where products underflow);
// so y·w·x ≤ τ + ρ where the learner steps, and ℓ ≥ 1 − ρ on its mistakes, which
// costs the factor (1 − ρ)² of g. A step is rounded by at most 8εW in norm, which
// joins D. The step of PA is off its optimum by a relative (3n + 8)ε(1 + W‖x‖) of
// the loss, which costs 8((3n + 8)ε)²(C + W²) of the fall in ‖w − u‖², as the fall
// is quadratic about its maximum. W is 2(‖w_s‖ + D + Σ v‖x‖) by the triangle
// inequality, for PA 2(√(‖w_s‖² + 2ΣC) + D) by the theorem with u = 0; the factor
// 2 is room for rounding. For dual it is 2(√(‖w_s‖² + 4ΣC + 2T + 2Σ dα²) + D), T whole
// and α those of the window at the start: Φ(0) never exceeds half of that square, as
// q_i(0) ≤ 2C + dα², whatever the order of steps and losses. With rules the shortest u
// that obeys takes the place of 0.
//
// A gain or loss is computed for the δ and α that are stored, so no optimum matters; but
// the score in it is rounded, and so is its arithmetic. With |α|d, |δ|d ≤ 1 + W‖x‖ and
// |δ|‖x‖ ≤ 2W it is wrong by at most (8n + 64)ε|δ|(1 + W‖x‖). A step gains at least
// δ²(‖x‖² + d)/2, and all gains together are at most W²/2: by Cauchy and Schwarz
// Σ|δ|‖x‖ ≤ √N·W over the steps, and Σ|δ| ≤ √N·W·√(2·max C). What is taken back was such
// steps before, or stood in the window at the start. Summing N terms ≥ 0 is wrong by a
// relative 2Nε. The start of the search, w₀, and D_s are wrong by a relative (n + N)ε of
// what they are summed from. Where all this comes to more than W²/16 there is no
// ceiling, as the bound W would not hold any more.
//
// All of this and the rounding of the ceiling's own sums is added to the ceiling before
// it is rounded down. On mail it changes the seventh digit.
type Ceiling struct {
	// Reason says why there is no ceiling; "" when there is one. Then everything
	// else but Lessons is 0.
	Reason  string
	Lessons int // lessons it is about
	// Mistakes is the ceiling: the least over the u that were tried, rounded down.
	Mistakes uint64
	// Bound is the value of the convex problem that was solved, in mistakes:
	// Q‖u − w_s/Q‖² + 2L(u) + 4‖u‖D over the least weight for perceptron and margin
	// (R²‖u‖² + 2L(u) in the plain case), the right side above over the least g_t
	// for passive-aggressive, and twice that over the least g_t for dual. Never below
	// Mistakes.
	Bound float64
	// Gap is how far Bound may be above its least value over all u: the gap
	// between primal and dual. ≥ 0.
	Gap float64

	Radius    float64 // R
	Distance  float64 // ‖u − w_s‖ for the u of Bound; ‖u − w₀‖ for dual
	Loss      float64 // Σ v_t·ℓ_t(u)^p for the u of Bound
	Displaced float64 // D
	Spare     float64 // S
	TakenBack float64 // T
	Passes    int     // over the lessons, to find u
	Rules     int     // that every u tried obeys, as the learner did; 0: any u was allowed
}

const (
	roundoff = 0x1p-53
	// closeEnough is the gap, relative to the bound, at which the search ends.
	closeEnough = 1e-3
	// mostPasses are for the bound, morePasses for each refinement of the ceiling.
	mostPasses, morePasses = 300, 30
	refinements            = 8
)

// allowance is what rounding may have cost, and the constants of the theorems
// that depend on it.
type allowance struct {
	norm      float64 // W
	displaced float64 // D and the rounding of all steps
	tallied   float64 // how far the tallies and the value of D at the start may be off
	drift     float64 // how far rounding has led the start of the search, in norm
	q         float64 // Q, for perceptron and margin
	least     float64 // the least v_t, or g_t
	extra     float64 // what the steps of PA may fall short of their optimum, in all
	radius    float64 // R
	grow      float64 // factor for sums over lessons and coordinates
}

// reached is W for passive-aggressive and dual, by the theorem with u = 0 or, where
// there are rules, with the shortest u that obeys them.
func (h *Hindsight) reached() float64 {
	size, loss := 0.0, 1.0
	if h.rules.Len() > 0 {
		size = math.Sqrt(h.space.fix(0).size)
		for i := range h.rows {
			loss = max(loss, 1+float64(size*math.Sqrt(h.rows[i].norm)))
		}
	}
	start := h.startNorm + size
	paid := h.caps
	if h.window {
		paid *= 2
	}
	square := float64(start*start) + float64(float64(2*paid)*float64(loss*loss)) + float64(2*(h.takenBack+h.squares))
	return float64(2 * (size + math.Sqrt(square) + h.displaced + h.given))
}

// slack bounds how far the tallies may be from the sums that they stand for; see
// Rounding.
func (h *Hindsight) slack(norm float64) float64 {
	if h.steps == 0 {
		return 0
	}
	most := 0.0
	for i := range h.rows {
		most = max(most, h.rows[i].cap)
	}
	far := float64(3 * math.Sqrt(h.steps) * norm)
	sizes := float64(far * math.Sqrt(float64(2*most)))
	if !h.squared() {
		sizes = h.caps
	}
	far += h.lengths
	sizes += h.alphas
	n := float64(8*h.longest) + 64
	return float64(float64(n*roundoff)*(sizes+float64(norm*far))) + float64(sizes*h.longest*math.SmallestNonzeroFloat64) + h.summing
}

// rounding bounds the error of a score of a lesson by weights of norm w.
func (h *Hindsight) rounding(i int, w float64) float64 {
	n := h.space.terms(i)
	x := math.Sqrt(max(h.rows[i].norm, short))
	return float64(float64(4*n*roundoff)*float64(w*x)) + float64(n*math.SmallestNonzeroFloat64)
}

// worth is g_t of a lesson, rounding of the score included.
func (h *Hindsight) worth(i int, w float64) float64 {
	r := &h.rows[i]
	var g float64
	switch s := float64(r.cap * r.norm); {
	case h.squared():
		g = 1 / (r.norm + 0.5/r.cap)
	case s >= 1:
		g = 1 / r.norm
	default:
		g = float64(r.cap * (2 - s))
	}
	keep := max(0, 1-h.rounding(i, w))
	return float64(float64(g*keep) * keep)
}

// allow gathers the constants. It refuses when numbers are so great that sums of
// them might overflow.
func (h *Hindsight) allow() allowance {
	t, n := float64(len(h.rows)), h.longest
	start := h.startNorm
	a := allowance{grow: 1 + float64(8*roundoff*(t+n+float64(h.space.dimensions())+16)), least: math.Inf(1)}
	pa := h.spec.Passive()
	if pa {
		a.norm = h.reached()
	} else {
		a.norm = float64(2 * (start + h.displaced + h.given + h.travelled))
	}
	a.norm = max(a.norm, 2*h.reach)
	moves := t + h.steps
	a.displaced = h.displaced + float64(float64(8*roundoff*moves)*a.norm)
	if h.rules.Len() > 0 {
		a.displaced += float64(float64(2*(moves+1)) * h.rules.slip(a.norm))
	}
	if pa {
		from := h.space.startNorm()
		a.tallied = h.slack(a.norm)
		if h.window {
			a.tallied += float64((a.grow - 1) * (h.alphas + h.squares + float64(start*start) + float64(from*from)))
			a.drift = float64((a.grow - 1) * (start + h.lengths))
		}
		// The bound on W takes a.tallied and the rounding of steps to be no more than this.
		if !(a.tallied+float64((a.displaced-h.displaced)*a.norm) <= float64(a.norm*a.norm)/16) && h.lessons > 0 {
			h.Refuse("the lessons' numbers are so great that rounding may have led the weights anywhere")
		}
	}
	for i := range h.rows {
		r := &h.rows[i]
		a.radius = max(a.radius, math.Sqrt(r.norm))
		if pa {
			slip := float64((float64(3*n) + 8) * roundoff)
			a.extra += float64(float64(8*float64(slip*slip)) * (r.cap + float64(a.norm*a.norm)))
			if !r.early {
				a.least = min(a.least, h.worth(i, a.norm))
			}
			continue
		}
		a.q = max(a.q, float64(r.cap*r.norm)+float64(2*(h.tau()+h.rounding(i, a.norm))))
		a.least = min(a.least, r.cap)
	}
	reach := float64(a.norm * (1 + a.radius))
	if pa {
		reach = max(reach, float64(a.norm*a.norm))
	}
	if !(float64(reach*(n+1)) < math.MaxFloat64/16) {
		h.Refuse("the lessons' numbers are so great that scores may have overflowed")
	}
	return a
}

// look is what one u is worth.
type look struct {
	value    float64 // the right side of the theorem
	simple   float64 // that of Bound, before it is put into mistakes
	size     float64 // ‖u‖
	square   float64 // ‖u‖²
	distance float64 // ‖u − w_s‖
	apart    float64 // ‖u − w_s‖²
	toStart  float64 // w_s·u, rounded down
	loss     float64 // Σ c_t·ℓ_t(u)^p
}

// weigh evaluates the theorem for u = (w_s + g)/κ, or for 0 where κ is 0, upwards in
// every rounding. O(features of all lessons) time.
func (h *Hindsight) weigh(kappa float64, a *allowance) look {
	l, reach := h.gaze(kappa, a)
	for i := range h.rows {
		if !h.rows[i].gone {
			l.loss += h.lossOf(i, reach)
		}
	}
	return h.evaluate(l, a, &h.gains)
}

// gaze fixes that u. reach takes the place of ‖u‖ in the rounding of dot products.
func (h *Hindsight) gaze(kappa float64, a *allowance) (l look, reach float64) {
	f, start := h.space.fix(kappa), h.space.startNorm()
	if f.problem != "" {
		h.Refuse(f.problem)
	}
	size := float64(f.size*a.grow) + f.slack
	distance := float64(f.distance*a.grow) + f.slack
	l = look{size: math.Sqrt(size), square: size, distance: math.Sqrt(distance), apart: distance}
	lever := float64(l.size * start)
	l.toStart = f.toStart - float64((a.grow-1)*lever) - f.slack
	return l, max(l.size, f.reach)
}

// lossOf is what the u that was fixed pays for a lesson: c·ℓ(u)^p.
func (h *Hindsight) lossOf(i int, reach float64) float64 {
	r := &h.rows[i]
	loss := max(0, 1-float64(r.label*h.space.dot(i))+h.rounding(i, reach))
	if r.norm == 0 {
		loss = max(loss, 1)
	}
	if h.squared() {
		loss = float64(loss * loss)
	}
	return float64(r.cap * loss)
}

// evaluate fills in what u is worth, from its losses summed up.
func (h *Hindsight) evaluate(l look, a *allowance, g *gains) look {
	l.loss = float64(l.loss * a.grow)
	if h.spec.Passive() {
		l.value = h.right(l.apart+float64(2*l.loss)+a.extra, l.size, a, g)
		l.simple = l.value
		return l
	}
	start := h.space.startNorm()
	lever := float64(l.size * start)
	push := float64(l.size * a.displaced)
	b := l.loss + float64(2*push) - l.toStart
	square := float64(a.q * l.square)
	inner := float64(float64(square*square)/4) + float64(b*square) + float64(lever*lever)
	inner += float64((a.grow - 1) * (float64(square*square) + float64(math.Abs(b)*square) + float64(lever*lever)))
	root := math.Sqrt(max(0, inner))
	l.value = b + float64(square/2) + root
	l.value = max(0, l.value+float64((a.grow-1)*(math.Abs(b)+square+root)))
	if a.q > 0 {
		l.simple = square + float64(2*b) + float64(start*start)/a.q
		l.simple += float64((a.grow - 1) * (square + float64(2*math.Abs(b)) + float64(start*start)/a.q))
	} else {
		l.simple = l.value
	}
	l.simple = max(l.simple, l.value)
	return l
}

// right is the right side of the theorem for passive-aggressive and dual: that of a u
// of that norm, for which the problem's value, doubled, is square.
func (h *Hindsight) right(square, norm float64, a *allowance, g *gains) float64 {
	square += float64(2 * (g.takenBack + a.tallied + float64(a.drift*norm)))
	value := h.displacing(square, norm, a)
	less := h.known(g)
	return max(0, float64(value*a.grow)-less+float64((a.grow-1)*math.Abs(less)))
}

// displacing adds to square what displacements cost a u of that norm.
func (h *Hindsight) displacing(square, norm float64, a *allowance) float64 {
	value := square + float64(float64(2*a.displaced)*(a.norm+norm)) + float64(a.displaced*a.displaced) + float64(float64(2*h.given)*norm)
	if !h.window {
		root := math.Sqrt(square) + a.displaced + h.given
		value = min(value, float64(root*root))
	}
	return value
}

// known is what is known to be taken off the right side, whatever u, doubled as
// there: the spare gains, and the value of D at the start.
func (h *Hindsight) known(g *gains) float64 {
	if !h.window {
		return float64(2 * g.spare)
	}
	from := h.space.startNorm()
	atStart := h.alphas - float64(h.squares/2) - float64((float64(h.startNorm*h.startNorm)-float64(from*from))/2)
	return float64(2 * (g.spare + atStart))
}

// Ceiling continues the search from where the last one ended and returns the lowest
// ceiling it finds. It may be called between Adds any number of times. It usually
// takes a few dozen passes over the lessons, and a few hundred at most.
func (h *Hindsight) Ceiling() Ceiling {
	c := Ceiling{Lessons: h.lessons}
	h.passes = 0
	h.space.begin()
	if h.needsReach && h.reach == 0 && h.lessons > 0 {
		h.Refuse("it is not known how great the coefficients of the supports were")
	}
	if h.reason == "" && h.lessons > 0 {
		a := h.allow()
		if h.reason == "" {
			h.search(&c, &a)
			h.retrace(&c, &a)
		}
		c.Radius, c.Displaced, c.Rules = a.radius, h.displaced+h.given, h.rules.Len()
		c.Spare, c.TakenBack = h.spare, h.takenBack
		if math.IsNaN(c.Bound) || math.IsInf(c.Bound, 0) || math.IsNaN(c.Gap) || math.IsInf(c.Gap, 0) {
			h.Refuse("the bound is too great for a number")
		}
	}
	if h.reason != "" {
		return Ceiling{Reason: h.reason, Lessons: h.lessons}
	}
	c.Passes = h.passes
	return c
}

func (h *Hindsight) search(c *Ceiling, a *allowance) {
	// u = 0, or the shortest that obeys the rules, is the first that is tried. The
	// former makes the ceiling the number of lessons at most.
	best := h.weigh(0, a).value
	if !h.spec.Passive() {
		h.kappa = a.q
	}
	var l look
	for h.passes < mostPasses {
		for range 1 + h.passes/4 {
			h.pass()
		}
		l = h.weigh(h.kappa, a)
		best = lower(best, l.value)
		c.Gap = h.gap(l, a)
		if c.Gap <= float64(closeEnough*l.simple) || h.space.exhausted() {
			break
		}
	}
	c.Bound, c.Gap, c.Distance, c.Loss = l.simple/a.least, c.Gap/a.least, l.distance, l.loss
	all := stage{rows: len(h.rows), known: true, gains: h.gains}
	c.Mistakes = h.countAt(h.sizes(a), &all, best, a)
	if h.spec.Passive() {
		c.Loss /= h.spec.Aggressiveness
	} else {
		h.refine(c, a, l)
	}
	c.Bound = max(c.Bound, float64(c.Mistakes))
}

// refine searches on from l for a lower c.Mistakes with the tighter form of the
// theorem for perceptron and margin. That is least where
// κ = (2D + √(‖w_s‖² + Σ v_t·q_t))/‖u‖: there its derivative is that of the problem.
// Solving for one and then the other makes it less and less.
func (h *Hindsight) refine(c *Ceiling, a *allowance, l look) {
	for range refinements {
		if l.size == 0 {
			return
		}
		before := c.Mistakes
		kappa, ok := h.tightest(c, a, l)
		if !ok || math.Abs(kappa-h.kappa) <= float64(closeEnough*kappa) || h.space.exhausted() {
			return
		}
		h.kappa = kappa
		for end := h.passes + morePasses; h.passes < end; {
			for range 3 {
				h.pass()
			}
			l = h.weigh(h.kappa, a)
			if problem := h.primal(l, h.kappa); problem-h.dual() <= float64(closeEnough*problem) || h.space.exhausted() {
				break
			}
		}
		n, _ := h.countFor(l, a, kappa)
		if c.Mistakes = min(c.Mistakes, n); before-c.Mistakes <= uint64(float64(closeEnough*float64(before))) {
			return
		}
	}
}

// tightest returns the κ for which the tighter form is least at l, and lowers
// c.Mistakes on the way. It is not ok where that κ is no usable number.
func (h *Hindsight) tightest(c *Ceiling, a *allowance, l look) (kappa float64, ok bool) {
	start := h.space.startNorm()
	kappa = h.kappa
	for range 4 {
		n, moved := h.countFor(l, a, kappa)
		c.Mistakes = min(c.Mistakes, n)
		kappa = (float64(2*a.displaced) + math.Sqrt(float64(start*start)+moved)) / l.size
		if !(kappa > 0 && kappa < math.MaxFloat64) {
			return kappa, false
		}
	}
	return kappa, true
}

// term is what a lesson adds to the left side of the finer form, and what it moves.
type term struct {
	size, moves float64
	row         int
}

// termsFor returns those of all lessons for the finer form with κ, the smallest first.
func (h *Hindsight) termsFor(a *allowance, kappa float64) []term {
	terms := make([]term, len(h.rows))
	for i := range h.rows {
		r := &h.rows[i]
		q := float64(r.cap*max(r.norm, short)) + float64(2*(h.tau()+h.rounding(i, a.norm)))
		moves := float64(float64(r.cap*q) * a.grow)
		terms[i] = term{r.cap - moves/float64(2*kappa), moves, i}
	}
	slices.SortFunc(terms, func(a, b term) int { return cmp.Compare(a.size, b.size) })
	return terms
}

// countFor is the finer form for perceptron and margin. It returns the Σ v_t·q_t of
// the lessons counted, too.
func (h *Hindsight) countFor(l look, a *allowance, kappa float64) (n uint64, moved float64) {
	return h.countTerms(h.termsFor(a, kappa), len(h.rows), l, a, kappa)
}

// countTerms counts those of the first so many rows.
func (h *Hindsight) countTerms(terms []term, rows int, l look, a *allowance, kappa float64) (n uint64, moved float64) {
	budget := h.primal(l, kappa) + float64(float64(2*l.size)*a.displaced)
	// Terms may be negative, so rounding is relative to their magnitudes.
	sum, slack := 0.0, float64((a.grow-1)*(budget+float64(2*float64(l.size*h.space.startNorm()))))
	for _, t := range terms {
		if t.row >= rows {
			continue
		}
		sum += t.size
		slack += float64((a.grow - 1) * (math.Abs(t.size) + t.moves/kappa))
		if sum > budget+slack {
			return n, moved
		}
		n++
		moved += t.moves
	}
	return n, moved
}

// primal returns the value at l of the problem for that κ.
func (h *Hindsight) primal(l look, kappa float64) float64 {
	norm := h.space.startNorm()
	start := float64(norm * norm)
	return float64(float64(float64(kappa*l.size)*l.size)/2) - l.toStart + start/float64(2*kappa) + l.loss
}

// gap bounds how far the simple bound is above its least value.
func (h *Hindsight) gap(l look, a *allowance) float64 {
	if !h.spec.Passive() {
		if h.kappa == 0 {
			return 0
		}
		return max(0, l.simple-float64(2*h.dual()))
	}
	least := max(0, float64(2*(h.dual()+h.takenBack)))
	return max(0, l.simple-max(0, h.displacing(least, 0, a)-h.known(&h.gains)))
}

// lower is min for values that may be too great to be numbers.
func lower(a, b float64) float64 {
	if b < a {
		return b
	}
	return a
}
