// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
)

func packSamples(t testing.TB) []*Features {
	t.Helper()
	all := []*Features{{}, {affine: 0.5}}
	for _, file := range []string{"plain", "patch", "html", "japanese", "broken"} {
		all = append(all, sample(t, testOptions(), file))
	}
	// Indices that no hash would give: side by side, far apart, first and last.
	const last = 1<<model.IndexBits - 1
	odd := &Features{affine: 0.1, factors: [groups]float64{0.1, 0, 0.1, 0.1}}
	for _, index := range []model.Index{2, 3, 4, 1000, 1 << 30, last - 1, last} {
		odd.terms = append(odd.terms, term{index: index, value: uint16(index), group: Group(index % model.Index(groups))})
		odd.terms[len(odd.terms)-1].value = max(1, odd.terms[len(odd.terms)-1].value%3)
	}
	wide := &Features{factors: [groups]float64{0.001}}
	for i := range 5000 {
		wide.terms = append(wide.terms, term{index: model.Index(2 + i), value: 1})
	}
	wide.terms = append(wide.terms, term{index: last, value: 1})
	far := &Features{factors: wide.factors, terms: slices.Clone(wide.terms)}
	far.terms[len(far.terms)-1].value = 2
	return append(all, odd, wide, far)
}

func TestAVectorSurvivesPacking(t *testing.T) {
	for i, x := range packSamples(t) {
		data := x.Pack()
		before := model.Vector{{Index: 7, Value: 7}}
		v, err := UnpackVector(slices.Clone(before), data)
		if err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
		if want := append(before, x.Vector()...); !slices.Equal(v, want) {
			t.Errorf("sample %d: the vector came back as another", i)
		}
		y, err := UnpackFeatures(data)
		if err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
		x.names = ""
		if !slices.Equal(slices.Collect(y.All()), slices.Collect(x.All())) {
			t.Errorf("sample %d: the features came back as others", i)
		}
		if !bytes.Equal(y.Pack(), data) {
			t.Errorf("sample %d: packed again, the bytes are others", i)
		}
	}
}

func TestUnpackingAllocatesNothing(t *testing.T) {
	data := sample(t, testOptions(), "patch").Pack()
	room := make(model.Vector, 0, 1000)
	most := 0.0
	if slowdown > 1 {
		most = 1 // the race detector takes things out of a pool
	}
	if n := testing.AllocsPerRun(100, func() { room, _ = UnpackVector(room[:0], data) }); n > most {
		t.Errorf("it allocates %v times", n)
	}
}

func TestDamagedPackedVectorsAreRefused(t *testing.T) {
	data := sample(t, testOptions(), "plain").Pack()
	refused := func(name string, bad []byte) {
		t.Helper()
		room := make(model.Vector, 0, 1000)
		if v, err := UnpackVector(room, bad); err == nil || len(v) != 0 {
			t.Errorf("%s: %d features, error %v", name, len(v), err)
		}
		if _, err := UnpackFeatures(bad); err == nil {
			t.Errorf("%s: UnpackFeatures has no error", name)
		}
	}
	for n := range data {
		refused("cut short", data[:n])
	}
	refused("more behind", append(bytes.Clone(data), 0))
	version := bytes.Clone(data)
	version[0]--
	refused("another version", version)
	flags := bytes.Clone(data)
	flags[1] |= 0x80
	refused("unknown flag", flags)
	for _, factor := range []float64{math.NaN(), math.Inf(1), -0.1, 2} {
		bad := bytes.Clone(data)
		binary.BigEndian.PutUint64(bad[2:], math.Float64bits(factor))
		refused("factor", bad)
	}
}

func FuzzUnpack(f *testing.F) {
	for _, x := range packSamples(f) {
		f.Add(x.Pack())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := UnpackVector(nil, data)
		if err == nil && v.Validate() != nil {
			t.Fatal(v.Validate())
		}
		x, err := UnpackFeatures(data)
		if err != nil {
			return
		}
		if !reflect.DeepEqual(append(model.Vector{}, v...), append(model.Vector{}, x.Vector()...)) {
			t.Error("the two ways to unpack disagree")
		}
		// Numbers may be written in more ways than one, so the bytes may differ.
		if again, err := UnpackVector(nil, x.Pack()); err != nil || !slices.Equal(again, v) {
			t.Errorf("packed again, the vector is another: %v", err)
		}
	})
}
