// SPDX-License-Identifier: Apache-2.0

package model

// Operations counts what a learner has done in its Learn calls (Virtue, "Counting
// operations"): in terms of the size of the input, not of time.
type Operations struct {
	// Products are multiplications of two features' values, or of a value and a
	// weight, each with the look-up and the addition that go with it.
	Products uint64
	// Kernels are evaluations of a kernel from a dot product, d products each for the
	// polynomial of degree d.
	Kernels uint64
}

// Counter is a learner that counts its operations. Score changes nothing, so it counts
// nothing.
type Counter interface{ Operations() Operations }

// Operations implements Counter. A lesson of n features takes n products for its
// score, n more for ‖x‖² (passive-aggressive), and n more where w moves.
func (l *linear) Operations() Operations { return Operations{Products: l.products} }

// Operations implements Counter. A lesson of n features takes n products for ‖x‖² and
// n for its score. Each step of replay, and each lesson taken back, takes n for the
// score. Each takes n more when w moves.
func (l *Dual) Operations() Operations { return Operations{Products: l.products} }

// Operations implements Counter. A lesson of n features takes n products for its score,
// and n more where w moves.
func (l *sgd) Operations() Operations { return Operations{Products: l.products} }

// Operations implements Counter. It counts those of the learner, and n more when w
// moves. It does not count scores of the mean, which take 2n, the learner's own n
// included.
func (a *Averaged) Operations() Operations {
	o := Operations{Products: a.products}
	if c, ok := a.learner.(Counter); ok {
		of := c.Operations()
		o.Products += of.Products
		o.Kernels += of.Kernels
	}
	return o
}

// Operations implements Counter. A lesson of n features takes n products for its score
// and n for ‖x‖², and n more where w moves; N come for ‖w‖² at the start and each time
// that it has halved, N the number of coordinates.
func (m *Modified) Operations() Operations { return Operations{Products: m.products} }

// Operations implements Counter. A lesson of n features takes, for its score, as many
// products as the lists of its features in the index are long, and a kernel for
// every support with which its dot product is not 0; n products for ‖x‖² and a kernel
// for K(x, x).
func (l *KernelLearner) Operations() Operations { return l.counted }
