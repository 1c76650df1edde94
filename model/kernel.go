package model

import (
	"errors"
	"fmt"
	"math"
)

// KernelKind names a kernel.
type KernelKind string

// The kernels.
const (
	KernelPolynomial KernelKind = "polynomial" // (1 + a·b)^d (Blum, section 2.5)
	KernelGaussian   KernelKind = "gaussian"   // exp(−γ‖a − b‖²)
)

// Kernel says which kernel. All work on the un-lifted x: the affine coordinate of
// a vector is left out, since both kernels have a constant of their own.
type Kernel struct {
	Kind   KernelKind
	Degree int // d of the polynomial, from 1 to 16
	// Normalised divides the polynomial by √(K(a,a)·K(b,b)), so that K(x,x) = 1. The
	// Gaussian is so by itself.
	Normalised bool
	Gamma      float64 // γ of the Gaussian, > 0
}

// Validate reports why k is none.
func (k Kernel) Validate() error {
	switch k.Kind {
	case KernelPolynomial:
		if k.Degree < 1 || k.Degree > 16 {
			return fmt.Errorf("the kernel's degree is %d; it must be from 1 to 16", k.Degree)
		}
	case KernelGaussian:
		if !(k.Gamma > 0 && k.Gamma <= math.MaxFloat64) {
			return fmt.Errorf("the kernel's gamma is %v; it must be a finite number above 0", k.Gamma)
		}
	default:
		return fmt.Errorf("kernel %q is unknown; the kernels are %s and %s", k.Kind, KernelPolynomial, KernelGaussian)
	}
	return nil
}

// Of returns K(a, b). O(len(a) + len(b)) time.
func (k Kernel) Of(a, b Vector) float64 {
	a, b = unlifted(a), unlifted(b)
	return k.of(Dot(a, b), k.place(a.SquaredNorm()), k.place(b.SquaredNorm()))
}

// place is what K needs of one vector beside dot products: ‖x‖², and K(x, y) of an
// x and a y at right angles is far(x)·far(y).
type place struct{ square, far float64 }

func (k Kernel) place(square float64) place {
	p := place{square, 1}
	switch {
	case k.Kind == KernelGaussian:
		p.far = exponential(-float64(k.Gamma * square))
	case k.Normalised:
		p.far = 1 / math.Sqrt(power(1+square, k.Degree))
	}
	return p
}

// of returns K of two vectors by their dot product. Where that is 0 it is
// a.far·b.far, to the bit.
func (k Kernel) of(dot float64, a, b place) float64 {
	far := float64(a.far * b.far)
	switch {
	case dot == 0:
		return far
	case k.Kind == KernelGaussian:
		return exponential(-float64(k.Gamma * max(0, a.square+b.square-float64(2*dot))))
	default:
		return float64(power(1+dot, k.Degree) * far)
	}
}

func (k Kernel) self(p place) float64 { return k.of(p.square, p, p) }

// power is x^d by repeated multiplication, exact on small whole numbers.
func power(x float64, d int) float64 {
	out := x
	for range d - 1 {
		out = float64(out * x)
	}
	return out
}

// unlifted is x without the affine coordinate, which sorts first.
func unlifted(x Vector) Vector {
	if len(x) > 0 && x[0].Index == Affine {
		return x[1:]
	}
	return x
}

// exponential is e^x for x ≤ 0 in + − × ÷ alone, so that it has the same bits on
// every machine. Relative error about 1e-15; 0 below −745.
func exponential(x float64) float64 {
	if x < -745 {
		return 0
	}
	const high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // ln 2 in two parts
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(k*high) - float64(k*low)
	sum := 1.0
	for n := 14; n >= 1; n-- {
		sum = 1 + float64(r*sum)/float64(n)
	}
	return math.Ldexp(sum, int(k))
}

// Forgetting says which support goes when there are more than the budget.
type Forgetting string

// The ways to forget. Each removal displaces w by |α|·√K(x, x).
const (
	ForgetOldest  Forgetting = "oldest"  // the one that came first, as Forgetron does (Dekel, Shalev-Shwartz and Singer 2008)
	ForgetWeakest Forgetting = "weakest" // the one with the least |α|·√K(x, x), so that w is displaced least
)

// KernelSpec says which kernel learner.
type KernelSpec struct {
	Spec   Spec // update rule; Margin, C and zero convention as for linear learners
	Kernel Kernel
	Budget int // most supports; 0: no limit
	Forget Forgetting
}

// Validate reports why no learner can be built from s.
func (s KernelSpec) Validate() error {
	if err := errors.Join(s.Spec.Validate(), s.Kernel.Validate()); err != nil {
		return err
	}
	if s.Budget < 0 {
		return fmt.Errorf("the budget is %d supports; it must be 0 (no limit) or more", s.Budget)
	}
	if s.Budget > 0 && s.Forget != ForgetOldest && s.Forget != ForgetWeakest {
		return fmt.Errorf("forgetting %q is unknown; it is %s or %s", s.Forget, ForgetOldest, ForgetWeakest)
	}
	return nil
}

// KernelLearner is a learner whose w is a combination Σ α_s·φ(x_s) of examples, the
// supports, φ being the map behind the kernel (Blum, section 2.5). It makes the
// updates of its Spec, with K(x, x) as the squared norm; an example that is learnt
// again adds to its α. All theorems about the linear learner hold with R² =
// max K(x, x), and with the displacement of removed supports as D.
//
// Deterministic; not safe for concurrent use.
type KernelLearner struct {
	spec     KernelSpec
	supports []support // by slot; α 0 and no vector where it is free
	free     []int
	known    map[uint64][]int // slots by hash of the vector
	index    supportIndex
	far      float64 // Σ α·far over all supports
	count    int
	born     uint64
	radius2  float64 // max K(x, x) of lessons
	moved    float64 // D
	dots     []float64
	counted  Operations
}

type support struct {
	x     Vector
	at    place
	alpha float64
	born  uint64
}

// Support is one example with its coefficient, which is signed by the label.
type Support struct {
	Vector Vector
	Alpha  float64
}

// NewKernel builds a kernel learner that starts from w = 0.
func NewKernel(s KernelSpec) (*KernelLearner, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &KernelLearner{spec: s, known: map[uint64][]int{}, index: supportIndex{names: NewWeights(0)}}, nil
}

// Score returns w·φ(x) = Σ α_s·K(x_s, x). Supports that share no feature with x are not
// looked at one by one: Σ α_s·K(x_s, x) over them is far(x)·Σ α_s·far(x_s), which is kept.
//
// O(n + f + common) time, n the supports, f the supports that each feature of x has,
// added up over its rare features, and common n for each of its common ones.
func (l *KernelLearner) Score(x Vector) float64 {
	x = unlifted(x)
	score, _ := l.score(x, l.spec.Kernel.place(x.SquaredNorm()))
	return score
}

func (l *KernelLearner) score(x Vector, at place) (float64, Operations) {
	l.dots = append(l.dots[:0], make([]float64, len(l.supports))...)
	done := Operations{Products: l.index.dot(x, l.dots)}
	sum := float64(at.far * l.far)
	k := l.spec.Kernel
	for i, d := range l.dots {
		if d == 0 {
			continue
		}
		s := &l.supports[i]
		sum += float64(s.alpha * (k.of(d, s.at, at) - float64(s.at.far*at.far)))
		done.Kernels++
	}
	return sum, done
}

// Learn scores the lesson, then takes the step. Beside Score it takes
// O(len(x)) expected time, and O(n) where a support is forgotten.
func (l *KernelLearner) Learn(e Lesson) Update {
	x := unlifted(e.Vector)
	at := l.spec.Kernel.place(x.SquaredNorm())
	self := l.spec.Kernel.self(at)
	l.radius2 = max(l.radius2, self)
	score, done := l.score(x, at)
	l.counted.Products += done.Products + uint64(len(x))
	l.counted.Kernels += done.Kernels + 1
	u := l.spec.Spec.Update(e.Label, e.Weight, score, self)
	if u.Step != 0 {
		l.add(x, at, u.Step)
		for l.spec.Budget > 0 && l.count > l.spec.Budget {
			l.forget()
		}
	}
	return u
}

// add puts x into the combination.
func (l *KernelLearner) add(x Vector, at place, alpha float64) {
	hash := hashVector(x)
	for _, slot := range l.known[hash] {
		s := &l.supports[slot]
		if equalVectors(s.x, x) {
			s.alpha += alpha
			l.far += float64(alpha * at.far)
			return
		}
	}
	slot := len(l.supports)
	if n := len(l.free); n > 0 {
		slot, l.free = l.free[n-1], l.free[:n-1]
	} else {
		l.supports = append(l.supports, support{})
	}
	own := append(Vector(nil), x...)
	l.supports[slot] = support{own, at, alpha, l.born}
	l.born++
	l.known[hash] = append(l.known[hash], slot)
	l.index.add(own, slot, len(l.supports))
	l.far += float64(alpha * at.far)
	l.count++
}

// forget removes one support.
func (l *KernelLearner) forget() {
	worst, least := -1, 0.0
	for i, s := range l.supports {
		if s.x == nil && s.at == (place{}) {
			continue
		}
		size := float64(s.born)
		if l.spec.Forget == ForgetWeakest {
			size = l.weight(&s)
		}
		if worst < 0 || size < least {
			worst, least = i, size
		}
	}
	s := l.supports[worst]
	l.moved += l.weight(&s)
	l.index.remove(s.x, worst)
	hash := hashVector(s.x)
	slots := l.known[hash]
	for i, slot := range slots {
		if slot == worst {
			slots = append(slots[:i], slots[i+1:]...)
			break
		}
	}
	if l.known[hash] = slots; len(slots) == 0 {
		delete(l.known, hash)
	}
	l.supports[worst] = support{}
	l.free = append(l.free, worst)
	l.count--
	l.far = 0
	for i := range l.supports {
		l.far += float64(l.supports[i].alpha * l.supports[i].at.far)
	}
}

// weight is ‖α·φ(x)‖.
func (l *KernelLearner) weight(s *support) float64 {
	return float64(math.Abs(s.alpha) * math.Sqrt(l.spec.Kernel.self(s.at)))
}

// Len returns how many supports there are.
func (l *KernelLearner) Len() int { return l.count }

// Displaced returns D: by how much removed supports have moved w, added up. Until
// the first removal it is 0 and the learner exact.
func (l *KernelLearner) Displaced() float64 { return l.moved }

// Radius returns R: the root of the greatest K(x, x) learnt from.
func (l *KernelLearner) Radius() float64 { return math.Sqrt(l.radius2) }

// Supports returns the combination, in the order in which examples first joined
// it. The caller must not change the vectors.
func (l *KernelLearner) Supports() []Support {
	order := make([]int, 0, l.count)
	for i, s := range l.supports {
		if s.at != (place{}) {
			order = append(order, i)
		}
	}
	sortBy(order, func(i int) float64 { return float64(l.supports[i].born) })
	out := make([]Support, len(order))
	for i, slot := range order {
		out[i] = Support{l.supports[slot].x, l.supports[slot].alpha}
	}
	return out
}

// hashVector mixes the indices and values of x.
func hashVector(x Vector) uint64 {
	h := uint64(len(x))
	for _, f := range x {
		h = mix(h ^ uint64(f.Index))
		h = mix(h ^ math.Float64bits(f.Value))
	}
	return h
}

func equalVectors(a, b Vector) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
