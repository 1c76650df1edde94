// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"errors"
	"math"

	"github.com/hinged/hinged/model"
)

// Modified is the modified perceptron, which ignores examples close to its hyperplane.
// It starts at random. If it is wrong on x and |cos(w, x)| ≥ σ, it makes w orthogonal
// to x: w ← w − ⟨w, x̄⟩x̄ with x̄ = x/‖x‖ (Vempala, section 2, Algorithm 2; Dunagan
// and Vempala 2004).
//
// With probability at least 1/8 over the start it makes at most ln n/σ² such mistakes
// on any sequence that some w* labels, n the number of coordinates (Vempala, Theorem
// 2.1). That is so when ⟨w, w*⟩ ≥ ‖w‖/√n at the start: no step lessens ⟨w, w*⟩, and
// every step takes at least σ²‖w‖² from ‖w‖².
//
// Learn takes O(len(x)) time, and O(N log N) more each time that ‖w‖² has halved, N
// the number of coordinates. The start takes O(N log N). Space is that of N weights.
// Not safe for concurrent use.
type Modified struct {
	w      *model.Weights
	sigma  float64
	norm2  float64 // ‖w‖², kept step by step
	summed float64 // ‖w‖² when it was last summed
	steps  int
}

// NewModified draws the start: the weight of coordinate j is a Gaussian made of
// hash(seed, j), so that the same seed gives the same start wherever and in whatever
// order the coordinates come up. coordinates are all that the vectors may have;
// others always weigh 0. 0 < σ < 1.
func NewModified(coordinates []model.Index, sigma float64, seed uint64) *Modified {
	m := &Modified{w: model.NewWeights(len(coordinates)), sigma: sigma}
	for _, j := range coordinates {
		m.w.Set(j, gaussian(seed, j))
	}
	m.sum()
	return m
}

// sum computes ‖w‖² from w.
func (m *Modified) sum() {
	m.norm2 = m.w.Sorted().SquaredNorm()
	m.summed = m.norm2
}

// Cos returns cos(w, x), 0 where one of them is 0.
func (m *Modified) Cos(x model.Vector) float64 { return m.cos(m.w.Dot(x), x.SquaredNorm()) }

func (m *Modified) cos(along, square float64) float64 {
	if square == 0 || m.norm2 == 0 {
		return 0
	}
	return along / float64(math.Sqrt(square)*math.Sqrt(m.norm2))
}

// Learn updates w if it is wrong on x and |cos(w, x)| ≥ σ, and reports whether it did.
func (m *Modified) Learn(x model.Vector, label model.Label) bool {
	along, square := m.w.Dot(x), x.SquaredNorm()
	c := m.cos(along, square)
	if math.Abs(c) < m.sigma || float64(c*float64(label)) > 0 {
		return false
	}
	m.w.Add(-along/square, x)
	m.steps++
	// ‖w‖² falls by ⟨w, x̄⟩². Summed anew before what is left is so little that the
	// rounding of what was taken away shows in it.
	if m.norm2 -= float64(along*along) / square; !(m.norm2 > m.summed/2) {
		m.sum()
	}
	return true
}

// Weights returns w itself.
func (m *Modified) Weights() *model.Weights { return m.w }

// ModifiedOptions are the settings of SolveModified.
type ModifiedOptions struct {
	Sigma float64 // in (0, 1): what is nearer to the hyperplane, by the cosine, is let be
	Delta float64 // in (0, 1): the probability of failing that is allowed
	Seed  uint64
	// NotesRounds takes log_{4/3}(1/δ) rounds, as Algorithm 3 is printed. Since a round
	// succeeds with probability 1/8 and not 1/4, that is too few for δ; log_{8/7}(1/δ)
	// are taken otherwise.
	NotesRounds bool
}

// ModifiedResult is what SolveModified found.
type ModifiedResult struct {
	// Weights, never 0, get every lesson with |cos(w, x)| ≥ σ right; nil if every
	// round failed.
	Weights  *model.Weights
	Rounds   int // begun
	Mistakes int // steps in all rounds
	Limit    int // steps after which a round is given up: ⌊ln n/σ²⌋
}

// Rounds returns how many rounds o allows.
func (o ModifiedOptions) Rounds() int {
	fails := 7.0 / 8
	if o.NotesRounds {
		fails = 3.0 / 4
	}
	return int(math.Ceil(naturalLog(o.Delta)/naturalLog(fails) - 1e-12))
}

// Validate reports the first reason why o cannot be used, or nil.
func (o ModifiedOptions) Validate() error {
	if !(o.Sigma > 0 && o.Sigma < 1) || !(o.Delta > 0 && o.Delta < 1) {
		return errors.New("σ and δ must lie between 0 and 1")
	}
	return nil
}

// Coordinates lists the features of the lessons, each once, ascending.
func Coordinates(lessons []model.Lesson) []model.Index {
	all := model.NewWeights(0)
	for _, e := range lessons {
		for _, f := range e.Vector {
			all.Set(f.Index, 1)
		}
	}
	var out []model.Index
	for _, f := range all.Sorted() {
		out = append(out, f.Index)
	}
	return out
}

// SolveModified is Algorithm 3 of Vempala: in each round Algorithm 2 goes through the
// lessons again and again from another start, until a pass makes no step, or there
// were more than ln n/σ² or w has come to 0, n the number of different features of
// the lessons. On lessons that some w* labels, the probability that every round fails
// is at most δ. A round takes at most ln n/σ² + 2 passes.
func SolveModified(lessons []model.Lesson, o ModifiedOptions) (ModifiedResult, error) {
	if err := o.Validate(); err != nil {
		return ModifiedResult{}, err
	}
	coordinates := Coordinates(lessons)
	r := ModifiedResult{Limit: modifiedLimit(len(coordinates), o.Sigma)}
	for r.Rounds < o.Rounds() {
		m := NewModified(coordinates, o.Sigma, model.Mix(o.Seed)+uint64(r.Rounds))
		r.Rounds++
		settled := false
		for !settled && m.steps <= r.Limit {
			settled = true
			for _, e := range lessons {
				step := m.Learn(e.Vector, e.Label)
				settled = settled && !step
				if m.steps > r.Limit {
					break
				}
			}
		}
		r.Mistakes += m.steps
		if settled && m.norm2 > 0 { // 0 is wrong about everything, if not by much
			r.Weights = m.w
			break
		}
	}
	return r, nil
}

// modifiedLimit is ⌊ln n/σ²⌋.
func modifiedLimit(n int, sigma float64) int {
	return int(naturalLog(float64(max(1, n))) / float64(sigma*sigma))
}

// gaussian returns a standard normal number that seed and j decide, by Marsaglia's
// polar method.
func gaussian(seed uint64, j model.Index) float64 {
	state := model.Mix(model.Mix(seed) ^ uint64(j)*0x9E3779B97F4A7C15)
	next := func() float64 { // in (−1, 1)
		state += 0x9E3779B97F4A7C15
		return float64(float64(model.Mix(state)>>11)*0x1p-52) - 1 + 0x1p-53
	}
	for {
		u, v := next(), next()
		if s := float64(u*u) + float64(v*v); s > 0 && s < 1 {
			return float64(u * math.Sqrt(float64(-2*naturalLog(s))/s))
		}
	}
}

// naturalLog is ln x for finite x > 0 in + − × ÷ alone, so that it has the same bits
// on every machine, which math.Log need not have. Relative error about 1e-15.
func naturalLog(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	// ln m = 2·artanh((m − 1)/(m + 1)), |…| < 0.172.
	s := (m - 1) / (m + 1)
	square, sum := float64(s*s), 0.0
	for k := 25; k >= 1; k -= 2 {
		sum = 1/float64(k) + float64(square*sum)
	}
	return float64(float64(e)*math.Ln2) + float64(float64(2*s)*sum)
}
