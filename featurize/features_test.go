// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/model"
)

// sample reads a message of testdata and freezes it.
func sample(t testing.TB, o Options, file string) *Features {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file + ".eml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f.Freeze(f.Read(raw), History{Received: 9, Answered: 2, ByOwner: 1, Since: 3, ParentKnown: true, ParentOwn: true})
}

func TestNormIsAtMostOneForAnySharesAndValues(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		o := testOptions()
		o.Values = Values(i % 3)
		for g := range o.Shares {
			if o.Shares[g] = random.ExpFloat64(); random.IntN(5) == 0 {
				o.Shares[g] = 0
			}
		}
		o.Affine = random.ExpFloat64()
		x := sample(t, o, []string{"plain", "patch", "html", "japanese", "broken"}[i%5])
		v := x.Vector()
		if err := v.Validate(); err != nil {
			t.Fatal(err)
		}
		if norm := math.Sqrt(v.SquaredNorm()); norm > 1+1e-12 || norm < 1-1e-12 && i%5 != 4 {
			t.Fatalf("shares %v, affine %v: norm is %v, want 1", o.Shares, o.Affine, norm)
		}
	}
}

func TestMissingGroupRescalesNothing(t *testing.T) {
	f := newTest(t)
	full := f.Freeze(f.Read([]byte("From: a@b\nSubject: s\n\ntext")), History{})
	none := f.Freeze(f.Read([]byte("From: a@b\n\ntext")), History{})
	if full.factors[Body] != none.factors[Body] || full.affine != none.affine {
		t.Errorf("without a subject, body factor and constant went from %v, %v to %v, %v", full.factors[Body], full.affine, none.factors[Body], none.affine)
	}
	if norm := none.Vector().SquaredNorm(); norm > 0.9 {
		t.Errorf("squared norm without a subject is %v, want less than 0.9", norm)
	}
}

func TestIndexIsTheHashOfTheName(t *testing.T) {
	seen := 0
	for n := range sample(t, testOptions(), "plain").All() {
		if n.Index == model.Affine {
			continue
		}
		c := collector{}
		c.reset(10, true)
		c.add(Misc, "", n.Name)
		if c.terms[0].index != n.Index {
			t.Errorf("index of %q is %#x, its hash %#x", n.Name, n.Index, c.terms[0].index)
		}
		seen++
	}
	if seen < 50 {
		t.Errorf("only %d features", seen)
	}
}

func TestValuesCountOccurrences(t *testing.T) {
	for values, want := range map[Values]uint16{Binary: 1, Counts: 5, LogCounts: 3} {
		o := testOptions()
		o.Values = values
		f, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		x := f.Freeze(f.Read([]byte("\nneedle needle needle needle needle once")), History{})
		for _, e := range x.entries {
			if x.name(e) == "body:needle" && e.value != want {
				t.Errorf("%v: needle, five times, has value %d, want %d", values, e.value, want)
			}
		}
	}
}

func TestHistoryChangesTheVectorInTheSocialGroupAlone(t *testing.T) {
	f := newTest(t)
	m := f.Read([]byte("From: a@b\nIn-Reply-To: <x@y>\n\ntext"))
	before := m.Content.Len()
	a, b := f.Freeze(m, History{}), f.Freeze(m, History{Received: 10, Answered: 9, ByOwner: 2, ParentKnown: true, ParentOwn: true})
	if reflect.DeepEqual(a.Vector(), b.Vector()) {
		t.Error("the history does not show")
	}
	if a.factors[Body] != b.factors[Body] || a.factors[Misc] != b.factors[Misc] || m.Content.Len() != before {
		t.Error("the history changed another group or the message")
	}
}

func TestNamesChangeNoVector(t *testing.T) {
	with, without := testOptions(), testOptions()
	without.Names = false
	a, b := sample(t, with, "html"), sample(t, without, "html")
	if !a.HasNames() || b.HasNames() {
		t.Fatalf("names: got %v and %v, want true and false", a.HasNames(), b.HasNames())
	}
	for _, x := range []*Features{b, a.WithoutNames()} {
		if !reflect.DeepEqual(a.Vector(), x.Vector()) {
			t.Error("the vector without names is another")
		}
		if x.HasNames() {
			t.Error("names are still there")
		}
	}
	if !a.HasNames() {
		t.Error("WithoutNames changed its receiver")
	}
	if with.Fingerprint() != without.Fingerprint() {
		t.Error("the fingerprint tells names from no names, but the vectors are the same")
	}
}

func TestFingerprintChangesWithEveryOptionButNames(t *testing.T) {
	base := testOptions()
	v := reflect.ValueOf(&base).Elem()
	for i := range v.NumField() {
		o := testOptions()
		field := reflect.ValueOf(&o).Elem().Field(i)
		switch field.Kind() {
		case reflect.Slice:
			o.Owner = []string{"other@example.org"}
		case reflect.String:
			field.SetString("other")
		case reflect.Array:
			field.Index(1).SetFloat(0.123)
		case reflect.Float64:
			field.SetFloat(0.123)
		case reflect.Int:
			field.SetInt(7)
		case reflect.Uint8:
			field.SetUint(1)
		case reflect.Bool:
			continue
		default:
			t.Fatalf("option %s is of a kind that this test does not know", v.Type().Field(i).Name)
		}
		if o.Fingerprint() == base.Fingerprint() {
			t.Errorf("a change of %s does not change the fingerprint", v.Type().Field(i).Name)
		}
	}
	o := testOptions()
	o.Owner = []string{" OWNER@example.org", "owner@EXAMPLE.org"}
	if o.Fingerprint() != base.Fingerprint() {
		t.Error("the same owner written otherwise changes the fingerprint")
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"negative share":   func(o *Options) { o.Shares[Body] = -1 },
		"NaN share":        func(o *Options) { o.Shares[Body] = math.NaN() },
		"infinite affine":  func(o *Options) { o.Affine = math.Inf(1) },
		"NaN affine":       func(o *Options) { o.Affine = math.NaN() },
		"nothing weighs":   func(o *Options) { o.Shares, o.Affine = [groups]float64{}, 0 },
		"unknown values":   func(o *Options) { o.Values = 9 },
		"no bytes":         func(o *Options) { o.MaxBytes = 0 },
		"negative depth":   func(o *Options) { o.MaxDepth = -1 },
		"words of nothing": func(o *Options) { o.MaxToken = 0 },
	} {
		o := testOptions()
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: New gave no error", name)
		}
	}
}

func TestFeaturesSurviveEncoding(t *testing.T) {
	for _, file := range []string{"plain", "patch", "html", "japanese", "broken"} {
		for _, values := range []Values{Binary, Counts} {
			o := testOptions()
			o.Values = values
			x := sample(t, o, file)
			for _, x := range []*Features{x, x.WithoutNames()} {
				data, err := x.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				var y Features
				if err := y.UnmarshalBinary(data); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				if !reflect.DeepEqual(x.Vector(), y.Vector()) {
					t.Errorf("%s: the vector came back as another", file)
				}
				if !slices.Equal(slices.Collect(x.All()), slices.Collect(y.All())) {
					t.Errorf("%s: the names came back as others", file)
				}
				again, err := y.MarshalBinary()
				if err != nil || !bytes.Equal(data, again) {
					t.Errorf("%s: encoded again, the bytes are others (%v)", file, err)
				}
			}
		}
	}
}

func TestFrozenValuesDoNotFollowTheShares(t *testing.T) {
	x := sample(t, testOptions(), "plain")
	data, err := x.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	want := x.Vector()
	o := testOptions()
	o.Shares = [groups]float64{1, 1, 1, 1}
	sample(t, o, "plain")
	var y Features
	if err := y.UnmarshalBinary(data); err != nil || !reflect.DeepEqual(y.Vector(), want) {
		t.Errorf("the stored vector changed (%v)", err)
	}
}

func TestDamagedFeaturesAreRefused(t *testing.T) {
	data, err := sample(t, testOptions(), "plain").MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}

	held := sample(t, testOptions(), "patch")
	want := held.Vector()
	damage := func(name string, bad []byte) {
		if err := held.UnmarshalBinary(bad); err == nil {
			t.Errorf("%s: no error", name)
		} else if !reflect.DeepEqual(held.Vector(), want) {
			t.Errorf("%s: the receiver changed", name)
		}
	}
	for n := range data {
		damage("cut short", data[:n])
	}
	damage("more behind", append(bytes.Clone(data), 0))
	version := bytes.Clone(data)
	version[0]++
	damage("another version", version)
	flags := bytes.Clone(data)
	flags[1] |= 0x80
	damage("unknown flag", flags)
	for _, factor := range []float64{math.NaN(), math.Inf(1), -0.1, 2} {
		bad := bytes.Clone(data)
		binary.LittleEndian.PutUint64(bad[2:], math.Float64bits(factor))
		damage("factor", bad)
	}
	// The factor of a group of many features: each may pass, all together not.
	norm := bytes.Clone(data)
	binary.LittleEndian.PutUint64(norm[10+8*int(Body):], math.Float64bits(1))
	damage("norm above 1", norm)
	if err := held.UnmarshalBinary(version); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("another version: got %v", err)
	}
}

func FuzzFeatures(f *testing.F) {
	for _, seed := range featureSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var x Features
		if err := x.UnmarshalBinary(data); err != nil {
			return
		}
		if err := x.Vector().Validate(); err != nil {
			t.Fatal(err)
		}
		if norm := x.Vector().SquaredNorm(); !(norm <= 1+1e-9) {
			t.Errorf("squared norm %v", norm)
		}
		again, err := x.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var y Features
		if err := y.UnmarshalBinary(again); err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		if !slices.Equal(slices.Collect(x.All()), slices.Collect(y.All())) {
			t.Error("encoded again, the features are others")
		}
	})
}

func featureSeeds(t testing.TB) [][]byte {
	var seeds [][]byte
	for _, values := range []Values{Binary, LogCounts} {
		o := testOptions()
		o.Values = values
		x := sample(t, o, "plain")
		for _, x := range []*Features{x, x.WithoutNames()} {
			data, err := x.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, data)
		}
	}
	return seeds
}

func TestSeedsOfFuzzFeaturesReachTheCode(t *testing.T) {
	for i, seed := range featureSeeds(t) {
		var x Features
		if err := x.UnmarshalBinary(seed); err != nil || x.Len() == 0 {
			t.Errorf("seed %d gives %d features (%v)", i, x.Len(), err)
		}
	}
}

// Freeze merges what stands sorted already; its twin puts everything together
// and sorts that.
func TestFreezeIsTheSortedUnion(t *testing.T) {
	f := newTest(t)
	for i, h := range []History{{}, {Received: 9, Answered: 4, ByOwner: 2, Since: 1, ParentOwn: true}, {ParentKnown: true}} {
		m := f.Read([]byte("From: a@b\nTo: owner@example.org\nSubject: one two\n\nthree four five\n"))
		want := map[model.Index]string{}
		for _, e := range f.facts(m, h) {
			at := e.start - uint32(len(m.Content.names))
			want[e.index] = string(f.history.names[at : at+uint32(e.size)])
		}
		facts := len(want)
		for _, c := range m.Content.terms {
			want[c.index] = m.Content.names[c.start : c.start+uint32(c.size)]
		}
		x := f.Freeze(m, h)
		got := x.entries
		for _, e := range got {
			if want[e.index] != x.name(e) {
				t.Errorf("history %d: feature %#x is %q, want %q", i, e.index, x.name(e), want[e.index])
			}
		}
		ascending := slices.IsSortedFunc(got, func(a, b entry) int { return cmp.Compare(a.index, b.index) })
		if facts < 5 || len(got) != len(want) || !ascending {
			t.Errorf("history %d: %d features, ascending %v, %d of them facts; want %d", i, len(got), ascending, facts, len(want))
		}
	}
}

// What ReadHeader reads is what Read reads, of messages of every kind.
func TestReadHeaderReadsWhatReadReads(t *testing.T) {
	files, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d messages: %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f := newTest(t)
		got, want := f.ReadHeader(raw), f.Read(raw)
		if got.Content.Len() != 0 {
			t.Errorf("%s: ReadHeader gathered %d features", file, got.Content.Len())
		}
		for _, d := range got.Defects {
			if !slices.Contains(want.Defects, d) {
				t.Errorf("%s: defect %q is none to Read", file, d)
			}
		}
		got.Content, got.Defects = want.Content, want.Defects
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", file, got, want)
		}
	}
}

// ReadOthers reads the header of the owner's mail and all of the others'.
func TestReadOthersReadsTheContentOfOthersMail(t *testing.T) {
	files, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d messages: %v", len(files), err)
	}
	own := 0
	for _, owner := range []string{"ada@example.net", "carol@kernel.example"} {
		o := DefaultOptions()
		o.Owner = []string{owner}
		p, err := o.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		var f, twin Featurizer
		f.Use(p)
		twin.Use(p)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := twin.Read(raw)
			if want.FromOwner {
				own++
				want = twin.ReadHeader(raw)
			}
			if got := f.ReadOthers(raw); !reflect.DeepEqual(got, want) {
				t.Errorf("%s for %s: got %+v, want %+v", file, owner, got, want)
			}
		}
	}
	if own != 2 {
		t.Errorf("%d of the messages are from an owner, want 2", own)
	}
}
