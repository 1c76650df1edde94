// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/model"
)

func denseVector(rng *rand.Rand, n int) model.Vector {
	var v model.Vector
	for i := range n {
		v = append(v, model.Feature{Index: model.Index(10 + i), Value: rng.NormFloat64()})
	}
	return v
}

// TestQuadraticKernelIsItsMap: φ(a)·φ(b) = (1 + a·b)² (Blum, section 2.5, "try doing
// it with d = 2"), with N = (n + 2 choose 2) coordinates.
func TestQuadraticKernelIsItsMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(50, 50))
	for range 500 {
		a, b := randomVector(rng, 30, 12)[1:], randomVector(rng, 30, 12)[1:]
		want := math.Pow(1+model.Dot(a, b), 2)
		if got := model.Dot(QuadraticKernel(a), QuadraticKernel(b)); math.Abs(got-want) > 1e-9*math.Max(1, want) {
			t.Fatalf("φ(a)·φ(b) is %v, (1 + a·b)² %v", got, want)
		}
	}
	for n := range 30 {
		x := denseVector(rng, n)
		if got := len(QuadraticKernel(x)); float64(got) != kernelDimension(n, 2) || QuadraticKernel(x).Validate() != nil {
			t.Errorf("the map of %d coordinates has %d, want %v", n, got, kernelDimension(n, 2))
		}
		if got, want := len(Quadratic(x)), n*(n+3)/2; got != want {
			t.Errorf("Quadratic of %d coordinates has %d, want %d", n, got, want)
		}
	}
}

// kernelDimension returns N, the number of coordinates of the map whose dot products are
// (1 + a·b)^d for vectors of n coordinates: (n + d choose d), about n^d/d! (Blum, section 2.5).
func kernelDimension(n, d int) float64 {
	out := 1.0
	for k := 1; k <= d; k++ {
		out *= float64(n+k) / float64(k)
	}
	return math.Round(out)
}

// TestKernelDimensionIsAboutNToTheD: it counts the products of at most d of n
// coordinates, one by one for small n, and N·d!/n^d tends to 1 (Blum: N ≈ n^d).
func TestKernelDimensionIsAboutNToTheD(t *testing.T) {
	var count func(n, d int) int
	count = func(n, d int) int { // products of at most d of n, with repetition
		if n == 0 || d == 0 {
			return 1
		}
		return count(n-1, d) + count(n, d-1)
	}
	for n := range 8 {
		for d := range 6 {
			if got, want := kernelDimension(n, d), float64(count(n, d)); got != want {
				t.Errorf("n %d, d %d: %v, want %v", n, d, got, want)
			}
		}
	}
	factorial := 1.0
	for d := 1; d <= 5; d++ {
		factorial *= float64(d)
		if ratio := kernelDimension(1e6, d) * factorial / math.Pow(1e6, float64(d)); math.Abs(ratio-1) > 1e-4 {
			t.Errorf("d %d: N·d!/n^d is %v", d, ratio)
		}
	}
}

// inPlane gives the weights that Vempala writes for (x1², x2², x1·x2, x1, x2), and for
// the affine coordinate.
func inPlane(square1, square2, product, x1, x2, constant float64) *model.Weights {
	w := model.NewWeights(0)
	for i, v := range map[model.Index]float64{
		pairIndex(10, 10): square1, pairIndex(11, 11): square2, pairIndex(10, 11): product, 10: x1, 11: x2, model.Affine: constant,
	} {
		w.Set(i, v)
	}
	return w
}

// TestVempalasQuadraticExamples: sign(x1² + x2² − 3·x1·x2) is decided by w* = (1, 1, −3,
// 0, 0) over the map, and the outside of a ball by an affine w (section 3). Neither
// is linear in x, and the perceptron learns both from mapped examples.
func TestVempalasQuadraticExamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 51))
	for name, c := range map[string]struct {
		star  *model.Weights
		value func(x, y float64) float64
	}{
		"form": {inPlane(1, 1, -3, 0, 0, 0), func(x, y float64) float64 { return x*x + y*y - 3*x*y }},
		// ‖x − (0.5, −1)‖² − 1
		"ball": {inPlane(1, 1, 0, -1, 2, 0.25), func(x, y float64) float64 { return (x-0.5)*(x-0.5) + (y+1)*(y+1) - 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			var mapped, plain []model.Lesson
			for len(mapped) < 150 {
				x, y := 4*rng.Float64()-2, 4*rng.Float64()-2
				v := c.value(x, y)
				if math.Abs(v) < 0.3 {
					continue
				}
				e := point(x, y, model.Important)
				if v < 0 {
					e.Label = model.Ordinary
				}
				plain = append(plain, model.Lesson{Vector: Lift(e.Vector, 1), Label: e.Label, Weight: 1})
				e.Vector = Lift(Quadratic(e.Vector), 1)
				if got := c.star.Dot(e.Vector); math.Abs(got-v) > 1e-12 {
					t.Fatalf("w*·φ(x) is %v, want %v", got, v)
				}
				mapped = append(mapped, e)
			}
			bound := math.Pow(Radius(mapped)/Margin(c.star, mapped), 2)
			r, err := Cycle(perceptronSpec(model.ZeroUnsure), mapped, 20000)
			if err != nil || !r.Separated || float64(r.Mistakes) > bound {
				t.Errorf("over the map: %v, %v; (R/γ)² is %v", r, err, bound)
			}
			if r, err := Cycle(perceptronSpec(model.ZeroUnsure), plain, 300); err != nil || r.Separated || r.AtMost > 0.1 {
				t.Errorf("without the map: %v, %v", r, err)
			}
		})
	}
}

func BenchmarkQuadratic(b *testing.B) {
	x := denseVector(rand.New(rand.NewPCG(52, 52)), 100)
	for b.Loop() {
		QuadraticKernel(x)
	}
}
