// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
)

// mail returns vectors that have much in common, as those of an account have: of the
// given number of features in all, some are in most vectors and some in few. Each has
// features that no other has.
func mail(rng *rand.Rand, vectors, features int) (all []Vector) {
	words := make([]Feature, features)
	for i := range words {
		words[i] = Feature{Index: model.FoldIndex(rng.Uint64()), Group: uint8(rng.IntN(Groups)), Value: 1 + uint16(rng.IntN(2))}
	}
	for n := range vectors {
		x := Vector{Affine: 0.25}
		for g := range x.Factors {
			x.Factors[g] = 1 / math.Sqrt(float64(9+rng.IntN(5)))
		}
		for i, w := range words {
			if rng.IntN(2+i/100) == 0 {
				x.Features = append(x.Features, w)
			}
		}
		for range n % 7 {
			x.Features = append(x.Features, Feature{Index: model.FoldIndex(rng.Uint64()), Value: 1})
		}
		slices.SortFunc(x.Features, func(a, b Feature) int { return int(a.Index) - int(b.Index) })
		x.Features = slices.CompactFunc(x.Features, func(a, b Feature) bool { return a.Index == b.Index })
		all = append(all, x)
	}
	return all
}

// odd returns vectors that no mail gives.
func odd() []Vector {
	const last = 1<<model.IndexBits - 1
	ends := Vector{Affine: 1, Factors: [Groups]float64{0, 1, 0.5, math.Copysign(0, -1)}}
	for i, index := range []model.Index{2, 3, 4, 1000, 1 << 30, last - 1, last} {
		ends.Features = append(ends.Features, Feature{Index: index, Value: uint16(1 + i%2), Group: uint8(i % Groups)})
	}
	wide := Vector{}
	for i := range 3000 {
		wide.Features = append(wide.Features, Feature{Index: model.Index(2 + i), Value: 1})
	}
	wide.Features = append(wide.Features, Feature{Index: last, Value: 1})
	counts := Vector{Features: []Feature{{Index: 5, Value: 1}, {Index: 6, Value: 300, Group: 3}, {Index: 8, Value: math.MaxUint16}, {Index: 9, Value: 2}}}
	return []Vector{{}, {Affine: 0.5}, ends, wide, counts}
}

// vocabularyOf builds the vocabulary of vectors.
func vocabularyOf(t testing.TB, of []Vector) (Vocabulary, []byte) {
	t.Helper()
	var b Builder
	for i := range of {
		b.Add(&of[i])
	}
	written := b.Written()
	if written == nil {
		return Vocabulary{}, nil
	}
	v, err := OpenVocabulary(written)
	if err != nil {
		t.Fatal(err)
	}
	return v, written
}

func same(a, b *Vector) bool {
	return a.Affine == b.Affine && a.Factors == b.Factors && slices.Equal(a.Features, b.Features)
}

func TestVectorsComeBack(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	var got Vector // whatever was in it before
	for _, size := range []int{1, 2, 3, 40, 300, 3000} {
		all := append(mail(rng, 40, size), odd()...)
		v, written := vocabularyOf(t, all)
		plain, dense := 0, len(written)
		for i := range all {
			for _, with := range []Vocabulary{{}, v} {
				data := all[i].Append(nil, with)
				if err := got.Read(data, with); err != nil || !same(&got, &all[i]) {
					t.Fatalf("%d words, vector %d of %d came back as another: %v", size, i, len(all), err)
				}
				if IsDense(data) {
					dense += len(data)
				} else {
					plain += len(data)
				}
				if again := got.Append(nil, with); !bytes.Equal(again, data) {
					t.Errorf("%d words, vector %d: written again, the bytes are others", size, i)
				}
			}
		}
		if size >= 300 && dense > plain*2/3 {
			t.Errorf("%d words: vectors and vocabulary take %d bytes, plain ones %d", size, dense, plain)
		}
	}
}

// The model's vector has the products, without zeros.
func TestAVectorIsItsProducts(t *testing.T) {
	x := Vector{Affine: 0.25, Factors: [Groups]float64{0.5, 0, 1}, Features: []Feature{{5, 2, 0}, {6, 1, 1}, {7, 3, 2}}}
	want := model.Vector{{Index: model.Affine, Value: 0.25}, {Index: 5, Value: 1}, {Index: 7, Value: 3}}
	if got, err := AppendVector(nil, x.Append(nil, Vocabulary{}), Vocabulary{}); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

// A vocabulary gives each key by its number, against the list that it was made of.
func TestAVocabularyGivesEachKeyByItsNumber(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 3, 63, 64, 65, 1000, 30_000} {
		var b Builder
		want := []uint64{0, 1<<keyBits - 1}[:min(n, 2)]
		for len(want) < n {
			want = append(want, rng.Uint64()>>(64-keyBits))
		}
		slices.Sort(want)
		want = slices.Compact(want)
		for range leastShared {
			b.keys = append(b.keys, want...)
		}
		b.keys = append(b.keys, 7) // too seldom
		v, err := OpenVocabulary(b.Written())
		if err != nil || v.n != len(want) {
			t.Fatalf("%d keys came back as %d, %v", len(want), v.n, err)
		}
		for i, key := range want {
			if v.key(i) != key {
				t.Fatalf("key %d of %d came back as another", i, n)
			}
		}
	}
}

func TestVectorsWithNothingInCommonHaveNoVocabulary(t *testing.T) {
	t.Parallel()
	var b Builder
	if b.Written() != nil {
		t.Error("there is a vocabulary of nothing")
	}
	for i := range 10 {
		b.Add(&Vector{Features: []Feature{{Index: model.Index(10 + i), Value: 1}}})
	}
	if b.Written() != nil {
		t.Error("there is a vocabulary of what no two have")
	}
}

func TestADamagedVectorIsRefused(t *testing.T) {
	t.Parallel()
	data, v, _ := denseSample(t)
	var x Vector
	if err := x.Read(data, Vocabulary{}); err == nil {
		t.Error("it can be read without its vocabulary")
	}
	if err := x.Read(append(bytes.Clone(data), 0), v); err == nil {
		t.Error("it can be read with a byte more")
	}
	for n := range data {
		if err := x.Read(data[:n], v); err == nil {
			t.Errorf("its first %d bytes can be read", n)
		}
	}
}

// denseSample returns a vector that needs a vocabulary, that, and that in written form.
func denseSample(t testing.TB) ([]byte, Vocabulary, []byte) {
	t.Helper()
	all := mail(rand.New(rand.NewPCG(1, 2)), 20, 100)
	v, written := vocabularyOf(t, all)
	return all[13].Append(nil, v), v, written
}

// FuzzVector: any data is read as a vector that is written and read again as the same, or refused.
func FuzzVector(f *testing.F) {
	dense, _, written := denseSample(f)
	f.Add(dense, written)
	f.Add(binary.AppendUvarint([]byte{form | flagDense, 1, 1, 1, 1, 1, 0}, 1), written)
	for _, x := range odd() {
		f.Add(x.Append(nil, Vocabulary{}), []byte{})
	}
	f.Fuzz(func(t *testing.T, data, written []byte) {
		v, err := OpenVocabulary(written)
		if err != nil {
			v = Vocabulary{}
		}
		var x, y Vector
		if err := x.Read(data, v); err != nil {
			return
		}
		if err := x.AppendTo(nil).Validate(); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < v.n; i++ {
			if v.key(i) <= v.key(i-1) { // nobody writes such a one, so nobody writes with it
				v = Vocabulary{}
			}
		}
		for _, with := range []Vocabulary{{}, v} {
			if err := y.Read(x.Append(nil, with), with); err != nil || !same(&x, &y) {
				t.Errorf("written again it is another one: %v", err)
			}
		}
	})
}

// BenchmarkVector reads and writes vectors of some 300 features, with a vocabulary of
// 20,000, as those of linux-mtd have, and without.
func BenchmarkVector(b *testing.B) {
	all := mail(rand.New(rand.NewPCG(1, 1)), 200, 20_000)
	v, _ := vocabularyOf(b, all)
	for name, with := range map[string]Vocabulary{"plain": {}, "dense": v} {
		size, features := 0, 0
		var packed [][]byte
		for i := range all {
			packed = append(packed, all[i].Append(nil, with))
			size += len(packed[i])
			features += len(all[i].Features)
		}
		b.Run("read/"+name, func(b *testing.B) {
			b.ReportAllocs()
			var x model.Vector
			for n := 0; b.Loop(); n++ {
				var err error
				if x, err = AppendVector(x[:0], packed[n%len(packed)], with); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/float64(len(all)), "bytes")
			b.ReportMetric(float64(features)/float64(len(all)), "features")
		})
		b.Run("write/"+name, func(b *testing.B) {
			var room []byte
			for n := 0; b.Loop(); n++ {
				room = all[n%len(all)].Append(room[:0], with)
			}
		})
	}
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			vocabularyOf(b, all)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(all)), "µs/vector")
	})
}

// TestBitsAreWrittenOneByOne: what put and flush write is what writing bit by bit gives.
func TestBitsAreWrittenOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for range 500 {
		var w bitWriter
		var want []byte
		bit := 0 // of the last byte of want
		for range rng.IntN(30) {
			n := rng.IntN(57)
			v := rng.Uint64() & (1<<n - 1)
			w.put(v, n)
			for i := n - 1; i >= 0; i-- {
				if bit == 0 {
					want = append(want, 0)
				}
				want[len(want)-1] |= byte(v>>i&1) << (7 - bit)
				bit = (bit + 1) % 8
			}
			if rng.IntN(8) == 0 {
				w.flush()
				bit = 0
			}
		}
		if got := w.flush(); !bytes.Equal(got, want) {
			t.Fatalf("got %x, want %x", got, want)
		}
	}
}
