// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

// lessonsOf plays an archive with immediate feedback and returns what was learnt, in
// order.
func lessonsOf(tb testing.TB, path, owner string) []model.Lesson {
	tb.Helper()
	var out []model.Lesson
	p := Play{Paths: []string{path}, Options: filter.DefaultOptions(), Learnt: func(e model.Lesson) { out = append(out, e) }}
	p.Options.Featurize.Owner = []string{owner}
	if _, err := p.Run(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return out
}

// BenchmarkKernelsOnMail measures kernel learners on an archive of one's own: average
// precision, mistakes, supports, and the time of a score against that of the loop of
// sparse dot products over the same supports.
func BenchmarkKernelsOnMail(b *testing.B) {
	path, owner := os.Getenv("HINGED_BENCH_MBOX"), os.Getenv("HINGED_BENCH_OWNER")
	if path == "" || owner == "" {
		b.Skip("HINGED_BENCH_MBOX and HINGED_BENCH_OWNER name an archive and its owner")
	}
	lessons := lessonsOf(b, path, owner)
	pa := model.DefaultSpec()
	perceptron := pa
	perceptron.Kind = model.KindPerceptron
	type test struct {
		name string
		spec model.KernelSpec
	}
	var tests []test
	for d := model.Kernel(1); d <= 3; d++ {
		tests = append(tests,
			test{fmt.Sprintf("perceptron degree %d", d), model.KernelSpec{Spec: perceptron, Kernel: d}},
			test{fmt.Sprintf("PA-II degree %d", d), model.KernelSpec{Spec: pa, Kernel: d}})
	}
	for _, budget := range []int{500, 2000, 5000} {
		tests = append(tests,
			test{fmt.Sprintf("budget %d perceptron degree 2", budget), model.KernelSpec{Spec: perceptron, Kernel: 2, Budget: budget}},
			test{fmt.Sprintf("budget %d PA-II degree 2", budget), model.KernelSpec{Spec: pa, Kernel: 2, Budget: budget}})
	}
	for _, c := range tests {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				l, err := model.NewKernel(c.spec)
				testkit.OK(b, err)
				var judged []Judged
				mistakes := 0
				start := time.Now()
				for _, e := range lessons {
					u := l.Learn(e)
					judged = append(judged, Judged{u.Score, e.Label})
					if u.Mistake {
						mistakes++
					}
				}
				b.ReportMetric(float64(time.Since(start).Microseconds())/float64(len(lessons)), "µs/lesson")
				b.ReportMetric(AveragePrecision(judged), "AP")
				b.ReportMetric(float64(mistakes), "mistakes")
				b.ReportMetric(float64(l.Len()), "supports")
				b.ReportMetric(l.TakeDisplaced(), "displaced")
			}
		})
	}
	const supports = 5000
	l, err := model.NewKernel(model.KernelSpec{Spec: model.Spec{Kind: model.KindMargin, Margin: 1e9}, Kernel: 2})
	testkit.OK(b, err)
	for _, e := range lessons { // with so great a margin every one becomes a support
		if l.Len() < supports {
			l.Learn(e)
		}
	}
	all := l.Supports()
	asked := lessons[len(lessons)-200:]
	b.Run(fmt.Sprintf("score %d supports by the index", len(all)), func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			l.Score(asked[n%len(asked)].Vector)
		}
	})
	b.Run(fmt.Sprintf("score %d supports in a loop", len(all)), func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			sum, x := 0.0, asked[n%len(asked)].Vector[1:]
			for _, s := range all {
				k := 1 + model.Dot(s.Vector, x)
				sum += s.Alpha * k * k
			}
		}
	})
}
