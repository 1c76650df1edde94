// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"os"
	"testing"

	"github.com/hinged/hinged/model"
)

// BenchmarkKernelOnVectors scores the last 200 vectors of a file in svmlight's form
// by the first 5,000 as supports, by the index and by the loop of sparse dot
// products. scripts/kernel-speed.sh runs it beside scikit-learn.
func BenchmarkKernelOnVectors(b *testing.B) {
	path := os.Getenv("HINGED_BENCH_VECTORS")
	if path == "" {
		b.Skip("HINGED_BENCH_VECTORS names a file of labelled vectors")
	}
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	lessons, err := ReadSVMLight(file, path)
	if err != nil {
		b.Fatal(err)
	}
	const supports, asked = 5000, 200
	if len(lessons) < supports+asked {
		b.Fatalf("%s has %d vectors; %d are needed", path, len(lessons), supports+asked)
	}
	// With so great a margin every one becomes a support.
	l, err := model.NewKernel(model.KernelSpec{
		Spec:   model.Spec{Kind: model.KindMargin, Margin: 1e12},
		Kernel: 2,
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range lessons {
		if l.Len() < supports {
			l.Learn(e)
		}
	}
	all, last := l.Supports(), lessons[len(lessons)-asked:]
	loop := func(x model.Vector) (sum float64) {
		for _, s := range all {
			k := 1 + model.Dot(s.Vector, x)
			sum += s.Alpha * k * k
		}
		return sum
	}
	for _, e := range last[:10] {
		x := e.Vector
		if len(x) > 0 && x[0].Index == model.Affine {
			x = x[1:]
		}
		if a, want := l.Score(x), loop(x); a-want > 1e-6*(1+want*want) || want-a > 1e-6*(1+want*want) {
			b.Fatalf("the index says %v, the loop %v", a, want)
		}
	}
	b.Run(fmt.Sprintf("index-%d", len(all)), func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			l.Score(last[n%asked].Vector)
		}
	})
	b.Run(fmt.Sprintf("loop-%d", len(all)), func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			loop(last[n%asked].Vector)
		}
	})
}
