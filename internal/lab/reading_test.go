// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/hinged/hinged/model"
)

// plainRows reads rows of both formats in the obvious way: of one namespace, without
// weights and comments.
func plainRows(t *testing.T, text string) (out []model.Lesson) {
	t.Helper()
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		e := model.Lesson{Label: model.Important, Weight: 1}
		if fields[0] == "-1" {
			e.Label = model.Ordinary
		}
		space := ""
		sum := map[model.Index]float64{}
		for _, f := range fields[1:] {
			if space == "" && f[0] == '|' {
				space = f[1:]
				continue
			}
			name, value, valued := strings.Cut(f, ":")
			v := 1.0
			if valued {
				var err error
				if v, err = strconv.ParseFloat(value, 64); err != nil {
					t.Fatal(err)
				}
			}
			if space == "" {
				n, err := strconv.ParseUint(name, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				sum[IndexOf(n)] += v
				continue
			}
			h := fnv.New64a()
			h.Write([]byte(space + "\x00" + name))
			sum[model.FoldIndex(h.Sum64())] += v
		}
		for i, v := range sum {
			if v != 0 {
				e.Vector = append(e.Vector, model.Feature{Index: i, Value: v})
			}
		}
		e.Vector.Sort()
		out = append(out, e)
	}
	return out
}

// Numbers that were read are remembered, features of Vowpal Wabbit are hashed in place, and
// rows share their memory. None of this may show in what is read.
func TestRowsReadAsThePlainReaderReadsThem(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := []string{"1", "0.030082161295623657", "0.052805936", "-2", "1e-3", "0", "+7.5", "0.1", "0.2", "0.3"}
	for len(values) < 300 { // more than are remembered
		values = append(values, strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64))
	}
	label := func() string { return []string{"+1", "-1"}[rng.IntN(2)] }
	var svmlight, vw strings.Builder
	for range 200 {
		svmlight.WriteString(label())
		for _, n := range rng.Perm(40)[:rng.IntN(40)] {
			fmt.Fprintf(&svmlight, "%s%d:%s", []string{" ", "\t", "  "}[rng.IntN(3)], n*n, values[rng.IntN(len(values))])
		}
		svmlight.WriteString("\n")
		vw.WriteString(label() + " |f")
		for range rng.IntN(40) { // some of them twice, and more often
			fmt.Fprintf(&vw, " %c%d", 'a'+rng.IntN(3), rng.IntN(9))
			if rng.IntN(4) > 0 {
				vw.WriteString(":" + values[rng.IntN(len(values))])
			}
		}
		vw.WriteString("\n")
	}
	for name, text := range map[string]string{"svmlight": svmlight.String(), "Vowpal Wabbit": vw.String()} {
		got, err := ReadVectors(strings.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		want := plainRows(t, text)
		if len(got) != len(want) || len(got) != 200 {
			t.Fatalf("%s: %d rows, want %d", name, len(got), len(want))
		}
		for i := range want {
			if got[i].Label != want[i].Label || got[i].Weight != 1 ||
				len(got[i].Vector)+len(want[i].Vector) > 0 && !reflect.DeepEqual(got[i].Vector, want[i].Vector) {
				t.Fatalf("%s, row %d: got %+v, want %+v", name, i+1, got[i], want[i])
			}
		}
	}
}

func TestNamespacesOfVowpalWabbitHaveNamesAndScales(t *testing.T) {
	got, err := ReadVW(strings.NewReader("1 2 'tag|a:0.5 x:4 y |b x | x\n"), "f")
	if err != nil || len(got) != 1 || got[0].Weight != 2 {
		t.Fatalf("got %+v: %v", got, err)
	}
	want := map[model.Index]float64{vwIndex("a", "x"): 2, vwIndex("a", "y"): 0.5, vwIndex("b", "x"): 1, vwIndex("", "x"): 1}
	for _, f := range got[0].Vector {
		if want[f.Index] != f.Value {
			t.Errorf("feature %#x has %v, want %v", f.Index, f.Value, want[f.Index])
		}
	}
	if len(got[0].Vector) != len(want) {
		t.Errorf("%d features, want %d", len(got[0].Vector), len(want))
	}
	for line, problem := range map[string]string{
		"1 |a:x y":   `the scale of namespace "a": "x" is not a finite number`,
		"1 |a b:x":   `the value of feature "b": "x" is not a finite number`,
		"1 | a:1 b:": `the value of feature "b": "" is not a finite number`,
	} {
		if _, err := ReadVW(strings.NewReader(line), "f"); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: got %v, want %s", line, err, problem)
		}
	}
}

func BenchmarkReadVectors(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	var rows strings.Builder
	for range 1000 {
		rows.WriteString("-1")
		for n := range 400 { // as vectors of mail are, about 10 KB a row
			fmt.Fprintf(&rows, " %d:%s", 200*n+rng.IntN(200), []string{"0.030082161295623657", "0.05280593622783225"}[rng.IntN(2)])
		}
		rows.WriteString("\n")
	}
	for name, text := range map[string]string{"svmlight": rows.String(), "vw": strings.ReplaceAll(rows.String(), "-1 ", "-1 |f ")} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := ReadVectors(strings.NewReader(text), name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
