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

// vector is a vector in the clear.
type vector struct {
	head Head
	all  []Feature
}

func (v vector) pack() []byte {
	return Pack(v.head, len(v.all), func(i int) Feature { return v.all[i] })
}

// mail returns vectors that have much in common, as those of an account have: of the
// given number of features in all, some are in most vectors and some in few. Each has
// features that no other has.
func mail(rng *rand.Rand, vectors, features int) (all []vector) {
	words := make([]Feature, features)
	for i := range words {
		words[i] = Feature{Index: model.FoldIndex(rng.Uint64()), Group: uint8(rng.IntN(Groups)), Value: 1 + uint16(rng.IntN(2))}
	}
	for n := range vectors {
		v := vector{head: Head{Affine: 0.25}}
		for g := range v.head.Factors {
			v.head.Factors[g] = 1 / math.Sqrt(float64(9+rng.IntN(5)))
		}
		for i, w := range words {
			if rng.IntN(2+i/100) == 0 {
				v.all = append(v.all, w)
			}
		}
		for range n % 7 {
			v.all = append(v.all, Feature{Index: model.FoldIndex(rng.Uint64()), Value: 1})
		}
		slices.SortFunc(v.all, func(a, b Feature) int { return int(a.Index) - int(b.Index) })
		v.all = slices.CompactFunc(v.all, func(a, b Feature) bool { return a.Index == b.Index })
		all = append(all, v)
	}
	return all
}

// odd returns vectors that no mail gives.
func odd() []vector {
	const last = 1<<model.IndexBits - 1
	ends := vector{head: Head{Affine: 1, Factors: [Groups]float64{0, 1, 0.5, math.Copysign(0, -1)}}}
	for i, index := range []model.Index{2, 3, 4, 1000, 1 << 30, last - 1, last} {
		ends.all = append(ends.all, Feature{Index: index, Value: uint16(1 + i%2), Group: uint8(i % Groups)})
	}
	wide := vector{}
	for i := range 3000 {
		wide.all = append(wide.all, Feature{Index: model.Index(2 + i), Value: 1})
	}
	wide.all = append(wide.all, Feature{Index: last, Value: 1})
	counts := vector{all: []Feature{{Index: 5, Value: 1}, {Index: 6, Value: 300, Group: 3}}}
	return []vector{{}, {head: Head{Affine: 0.5}}, ends, wide, counts}
}

// vocabularyOf builds the vocabulary of vectors.
func vocabularyOf(t testing.TB, of [][]byte) (Vocabulary, []byte) {
	t.Helper()
	var b Builder
	for _, data := range of {
		if err := b.Add(data, Vocabulary{}); err != nil {
			t.Fatal(err)
		}
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

// read is the slow and obvious way from a packed vector back to its features.
func read(t testing.TB, data []byte, v Vocabulary) vector {
	t.Helper()
	r, err := Open(data, v)
	if err != nil {
		t.Fatal(err)
	}
	is := vector{head: r.Head}
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		is.all = append(is.all, f)
	}
	if err := r.End(func(i int, value uint16) { is.all[i].Value = value }); err != nil {
		t.Fatal(err)
	}
	if len(is.all) != r.Features {
		t.Fatalf("%d features were announced, %d came", r.Features, len(is.all))
	}
	return is
}

func TestBothFormsGiveTheSameVectors(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{1, 2, 3, 40, 300, 3000} {
		all := append(mail(rng, 40, size), odd()...)
		var packed [][]byte
		plain := 0
		for _, v := range all {
			packed = append(packed, v.pack())
			plain += len(packed[len(packed)-1])
		}
		v, written := vocabularyOf(t, packed)
		c, err := NewCondenser(v)
		if err != nil {
			t.Fatal(err)
		}
		total := len(written)
		for i, data := range packed {
			want := all[i]
			if got := read(t, data, Vocabulary{}); got.head != want.head || !slices.Equal(got.all, want.all) {
				t.Fatalf("%d words, vector %d: packed, it came back as another", size, i)
			}
			dense, ok := c.Condense(data)
			if !ok {
				total += len(data)
				continue
			}
			total += len(dense)
			if got := read(t, dense, v); got.head != want.head || !slices.Equal(got.all, want.all) {
				t.Errorf("%d words, vector %d: condensed, it came back as another", size, i)
			}
			if again, err := Expand(nil, v, dense); err != nil || !bytes.Equal(again, data) {
				t.Errorf("%d words, vector %d: expanded, the bytes are others: %v", size, i, err)
			}
		}
		if size >= 300 && total > plain*2/3 {
			t.Errorf("%d words: dense vectors and vocabulary take %d bytes, plain ones %d", size, total, plain)
		}
	}
}

// TestAVocabularyGivesEachKeyByItsNumber: against the list that it was made of.
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
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(v.keys(), want) {
			t.Errorf("%d keys came back as others", n)
		}
	}
}

func TestNumbersAreSorted(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 2, 1000} {
		for _, width := range []int{1, 11, 12, 41, 64} {
			numbers := make([]uint64, n)
			for i := range numbers {
				numbers[i] = rng.Uint64() >> (64 - width)
			}
			want := slices.Sorted(slices.Values(numbers))
			if got := sorted(numbers); !slices.Equal(got, want) {
				t.Errorf("%d numbers of %d bits are not sorted", n, width)
			}
		}
	}
}

// TestOtherWaysToWriteAVectorStayPlain: what Pack would not write comes back in the bytes
// that it was, since it is not condensed.
func TestOtherWaysToWriteAVectorStayPlain(t *testing.T) {
	t.Parallel()
	var all [][]byte
	for range leastShared {
		all = append(all, vector{all: []Feature{{Index: 5, Value: 1}, {Index: 600, Value: 1}}}.pack())
	}
	v, _ := vocabularyOf(t, all)
	c, err := NewCondenser(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Condense(all[0]); !ok {
		t.Fatal("it is not condensed as Pack writes it")
	}
	long := slices.Insert(bytes.Clone(all[0]), headBytes+1, 0)
	long[headBytes] |= 0x80
	read(t, long, Vocabulary{})
	if _, ok := c.Condense(long); ok {
		t.Error("a number in a longer form was condensed")
	}
	w := bitWriter{out: append(bytes.Clone(all[0][:headBytes]), 1)}
	w.out[1] = flagTwice
	w.put(0, 1)
	w.put(3, gapBits(1))
	w.put(0, groupBits+1)
	read(t, w.flush(), Vocabulary{})
	if _, ok := c.Condense(w.out); ok {
		t.Error("values of which none is 2 were condensed")
	}
}

func TestVectorsWithNothingInCommonHaveNoVocabulary(t *testing.T) {
	t.Parallel()
	var b Builder
	if b.Written() != nil {
		t.Error("there is a vocabulary of nothing")
	}
	for i := range 10 {
		v := vector{all: []Feature{{Index: model.Index(10 + i), Value: 1}}}
		if err := b.Add(v.pack(), Vocabulary{}); err != nil {
			t.Fatal(err)
		}
	}
	if b.Written() != nil {
		t.Error("there is a vocabulary of what no two have")
	}
}

func TestADenseVectorNeedsItsVocabulary(t *testing.T) {
	t.Parallel()
	data, v, _ := denseSample(t)
	if _, err := Open(data, Vocabulary{}); err == nil {
		t.Error("it can be read without")
	}
	if _, err := Expand(nil, v, data); err != nil {
		t.Error(err)
	}
	if _, err := Expand(nil, v, append(bytes.Clone(data), 0)); err == nil {
		t.Error("it can be read with a byte more")
	}
	for n := range data {
		if _, err := Expand(nil, v, data[:n]); err == nil {
			t.Errorf("its first %d bytes can be read", n)
		}
	}
}

// denseSample returns a dense vector, its vocabulary and that in written form.
func denseSample(t testing.TB) ([]byte, Vocabulary, []byte) {
	t.Helper()
	var packed [][]byte
	for _, v := range mail(rand.New(rand.NewPCG(1, 2)), 20, 100) {
		packed = append(packed, v.pack())
	}
	v, written := vocabularyOf(t, packed)
	c, err := NewCondenser(v)
	if err != nil {
		t.Fatal(err)
	}
	dense, ok := c.Condense(packed[13])
	if !ok {
		t.Fatal("no dense form")
	}
	return dense, v, written
}

func FuzzDense(f *testing.F) {
	dense, _, written := denseSample(f)
	f.Add(dense, written)
	f.Add(binary.AppendUvarint([]byte{denseVersion, 1, 1, 1, 1, 1, 0}, 1), written)
	f.Fuzz(func(t *testing.T, data, written []byte) {
		v, err := OpenVocabulary(written)
		if err != nil {
			return
		}
		plain, err := Expand(nil, v, data)
		if err != nil {
			return
		}
		want := read(t, data, v)
		got := read(t, plain, Vocabulary{})
		if got.head != want.head && !math.IsNaN(got.head.Affine) || !slices.Equal(got.all, want.all) {
			t.Error("expanded, the vector is another")
		}
		c, err := NewCondenser(v)
		if err != nil {
			return
		}
		again, ok := c.Condense(plain)
		if !ok {
			return
		}
		if is, err := Expand(nil, v, again); err != nil || !bytes.Equal(is, plain) {
			t.Errorf("condensed again, the bytes are others: %v", err)
		}
	})
}

// BenchmarkDense reads vectors of both forms: of some 300 features, from a vocabulary of
// 20,000, as those of linux-mtd have.
func BenchmarkDense(b *testing.B) {
	all := mail(rand.New(rand.NewPCG(1, 1)), 200, 20_000)
	var plain, dense [][]byte
	features, plainSize, denseSize := 0, 0, 0
	for _, v := range all {
		plain = append(plain, v.pack())
		features += len(v.all)
		plainSize += len(plain[len(plain)-1])
	}
	v, _ := vocabularyOf(b, plain)
	c, err := NewCondenser(v)
	if err != nil {
		b.Fatal(err)
	}
	for _, data := range plain {
		d, ok := c.Condense(data)
		if !ok {
			b.Fatal("no dense form")
		}
		dense = append(dense, bytes.Clone(d))
		denseSize += len(d)
	}
	for _, form := range []struct {
		name string
		data [][]byte
		size int
	}{{"plain", plain, plainSize}, {"dense", dense, denseSize}} {
		b.Run(form.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				r, err := Open(form.data[n%len(form.data)], v)
				if err != nil {
					b.Fatal(err)
				}
				for _, ok := r.Next(); ok; _, ok = r.Next() {
				}
				if err := r.End(nil); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64(form.size)/float64(len(all)), "bytes")
			b.ReportMetric(float64(features)/float64(len(all)), "features")
		})
	}
	b.Run("condense", func(b *testing.B) {
		n := 0
		for b.Loop() {
			c.Condense(plain[n%len(plain)])
			n++
		}
	})
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			vocabularyOf(b, plain)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(plain)), "µs/vector")
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
