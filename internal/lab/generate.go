// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/model/theory"
)

// Generator makes labelled vectors.
type Generator struct {
	// What is one of
	//
	//	vempala:N       the N examples of Vempala, section 1.3
	//	blum:K          the four examples of Blum, section 3.1
	//	separable:γ     unit vectors that some hyperplane separates by a margin of γ
	//	noisy:SHARE     the same with γ = 0.1, each label wrong with that probability
	//	drifting:ANGLE  the same with γ = 0.1 by a hyperplane that turns, by so many
	//	                degrees from the first example to the last
	What string
	// Examples and Dimensions are those of the last three, which a seed decides.
	Examples, Dimensions int
	Seed                 uint64
}

// generators lists what there is, for errors.
const generators = "vempala:N, blum:K, separable:γ, noisy:SHARE and drifting:ANGLE"

// usualMargin is that of the generators that are about something else.
const usualMargin = 0.1

// Generate makes the examples. The same generator makes the same everywhere.
func (g Generator) Generate() ([]model.Lesson, error) {
	name, number, _ := strings.Cut(g.What, ":")
	v, err := parseNumber(number)
	within := func(least, most float64) bool { return err == nil && v >= least && v <= most }
	switch name {
	case "vempala":
		if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= 1000 {
			return theory.VempalaHard(n), nil
		}
		return nil, fmt.Errorf("%w: vempala:%s, want a number of dimensions from 1 to 1000", ErrExperiment, number)
	case "blum":
		if within(1, math.MaxFloat64) {
			return theory.BlumHard(v), nil
		}
		return nil, fmt.Errorf("%w: blum:%s, want a number K of 1 or more", ErrExperiment, number)
	}
	if g.Examples < 1 || g.Examples > maxRows || g.Dimensions < 2 || g.Dimensions > 100_000 {
		return nil, fmt.Errorf("%w: %d examples in %d dimensions, want 1 to %d in 2 to 100000", ErrExperiment, g.Examples, g.Dimensions, maxRows)
	}
	switch name {
	case "separable":
		if within(1e-6, 0.9) {
			return g.stream(v, 0, 0), nil
		}
		return nil, fmt.Errorf("%w: separable:%s, want a margin from 0.000001 to 0.9; the vectors have length 1", ErrExperiment, number)
	case "noisy":
		if within(0, 1) {
			return g.stream(usualMargin, v, 0), nil
		}
		return nil, fmt.Errorf("%w: noisy:%s, want a share of wrong labels from 0 to 1", ErrExperiment, number)
	case "drifting":
		if within(0, 36000) {
			return g.stream(usualMargin, 0, v*math.Pi/180), nil
		}
		return nil, fmt.Errorf("%w: drifting:%s, want an angle from 0 to 36000 degrees", ErrExperiment, number)
	default:
		return nil, fmt.Errorf("%w: there is no generator %q; the generators are %s", ErrExperiment, shorten(name), generators)
	}
}

// stream draws unit vectors x = t·u + √(1 − t²)·v with v at right angles to u, a unit
// vector that turns by angle in all, and γ ≤ |t| ≤ 1. Every tenth has |t| = γ.
func (g Generator) stream(margin, noise, angle float64) []model.Lesson {
	rng := rand.New(rand.NewPCG(g.Seed, 0x6C6162)) //nolint:gosec // examples, not secrets
	draw := func() []float64 {
		v := make([]float64, g.Dimensions)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	from := unit(draw())
	to := unit(apart(draw(), from))
	out := make([]model.Lesson, g.Examples)
	u := make([]float64, g.Dimensions)
	for n := range out {
		at := angle * float64(n) / float64(max(1, g.Examples-1))
		for i := range u {
			u[i] = math.Cos(at)*from[i] + math.Sin(at)*to[i]
		}
		v := unit(apart(draw(), u))
		t, label := margin+(1-margin)*rng.Float64()*rng.Float64(), model.Important
		if n%10 == 0 {
			t = margin
		}
		if rng.IntN(2) == 0 {
			t, label = -t, model.Ordinary
		}
		if rng.Float64() < noise {
			label = -label
		}
		x := make(model.Vector, g.Dimensions)
		for i := range x {
			x[i] = model.Feature{Index: IndexOf(uint64(i + 1)), Value: t*u[i] + math.Sqrt(1-t*t)*v[i]}
		}
		out[n] = model.Lesson{Vector: x, Label: label, Weight: 1}
	}
	return out
}

// unit scales v to length 1.
func unit(v []float64) []float64 {
	square := 0.0
	for _, c := range v {
		square += c * c
	}
	for i := range v {
		v[i] /= math.Sqrt(square)
	}
	return v
}

// apart takes from v what lies along the unit vector u.
func apart(v, u []float64) []float64 {
	along := 0.0
	for i := range v {
		along += v[i] * u[i]
	}
	for i := range v {
		v[i] -= along * u[i]
	}
	return v
}
