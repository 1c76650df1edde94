// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
)

// sample reads a message of testdata and freezes it.
func sample(t testing.TB, o Options, file string) *Features {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f.Freeze(f.Read(sampleMails(t)[file]), History{Received: 9, Answered: 2, ByOwner: 1, Since: 3, ParentKnown: true, ParentOwn: true})
}

func TestNormIsAtMostOneForAnyShares(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		o := testOptions()
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
	if !reflect.DeepEqual(a.Vector(), b.Vector()) {
		t.Error("the vector without names is another")
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
		"negative share":  func(o *Options) { o.Shares[Body] = -1 },
		"NaN share":       func(o *Options) { o.Shares[Body] = math.NaN() },
		"infinite affine": func(o *Options) { o.Affine = math.Inf(1) },
		"NaN affine":      func(o *Options) { o.Affine = math.NaN() },
		"nothing weighs":  func(o *Options) { o.Shares, o.Affine = [groups]float64{}, 0 },
		"no bytes":        func(o *Options) { o.MaxBytes = 0 },
	} {
		o := testOptions()
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: New gave no error", name)
		}
	}
}

// unpacked returns features that were packed with their names.
func unpacked(t testing.TB, x *Features, names []byte) *Features {
	t.Helper()
	y, err := UnpackFeatures(x.Pack())
	if err == nil {
		err = y.UnpackNames(names)
	}
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func TestFeaturesSurviveEncoding(t *testing.T) {
	for _, file := range []string{"plain", "patch", "html", "japanese", "broken"} {
		x := sample(t, testOptions(), file)
		names := x.PackNames()
		y := unpacked(t, x, names)
		if !slices.Equal(slices.Collect(x.All()), slices.Collect(y.All())) {
			t.Errorf("%s: the features came back as others", file)
		}
		if again := y.PackNames(); !bytes.Equal(names, again) {
			t.Errorf("%s: encoded again, the names are others", file)
		}
	}
	if names := new(Features).PackNames(); names != nil {
		t.Errorf("no names are %q", names)
	}
}

func TestFrozenValuesDoNotFollowTheShares(t *testing.T) {
	x := sample(t, testOptions(), "plain")
	want := x.Vector()
	o := testOptions()
	o.Shares = [groups]float64{1, 1, 1, 1}
	sample(t, o, "plain")
	if !reflect.DeepEqual(unpacked(t, x, x.PackNames()).Vector(), want) {
		t.Error("the stored vector changed")
	}
}

func TestDamagedNamesAreRefused(t *testing.T) {
	x := sample(t, testOptions(), "plain")
	data := x.PackNames()
	damage := func(name string, bad []byte) {
		y, err := UnpackFeatures(x.Pack())
		if err != nil {
			t.Fatal(err)
		}
		if err := y.UnpackNames(bad); err == nil || y.HasNames() || !reflect.DeepEqual(y.Vector(), x.Vector()) {
			t.Errorf("%s: error %v, names %v", name, err, y.HasNames())
		}
	}
	for n := range data {
		damage("cut short", data[:n])
	}
	damage("more behind", append(bytes.Clone(data), 0))
	damage("names of another message", sample(t, testOptions(), "patch").PackNames())
}

func FuzzFeatures(f *testing.F) {
	x := sample(f, testOptions(), "plain")
	f.Add(x.PackNames())
	f.Fuzz(func(t *testing.T, data []byte) {
		y, err := UnpackFeatures(x.Pack())
		if err != nil {
			t.Fatal(err)
		}
		if err := y.UnpackNames(data); (err == nil) != y.HasNames() || err == nil && !slices.Equal(slices.Collect(x.All()), slices.Collect(y.All())) {
			t.Errorf("error %v, and the names are others", err)
		}
	})
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
		got := x.terms
		for _, e := range got {
			if want[e.index] != x.name(e) {
				t.Errorf("history %d: feature %#x is %q, want %q", i, e.index, x.name(e), want[e.index])
			}
		}
		ascending := slices.IsSortedFunc(got, func(a, b term) int { return cmp.Compare(a.index, b.index) })
		if facts < 5 || len(got) != len(want) || !ascending {
			t.Errorf("history %d: %d features, ascending %v, %d of them facts; want %d", i, len(got), ascending, facts, len(want))
		}
	}
}

// What ReadHeader reads is what Read reads, of messages of every kind.
func TestReadHeaderReadsWhatReadReads(t *testing.T) {
	for file, raw := range sampleMails(t) {
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
		got.Content, got.Defects, got.Asks = want.Content, want.Defects, want.Asks
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", file, got, want)
		}
	}
}

// ReadOthers reads the header of the owner's mail and all of the others'.
func TestReadOthersReadsTheContentOfOthersMail(t *testing.T) {
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
		for file, raw := range sampleMails(t) {
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

// However many addresses an owner has, they are sorted once, not for each message.
func TestUsingPreparedOptionsAllocatesNothing(t *testing.T) {
	o := DefaultOptions()
	for i := range 1000 {
		o.Owner = append(o.Owner, fmt.Sprintf("Alias%d@Example.org", i))
	}
	p, err := o.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	var f Featurizer
	f.Use(p)
	if n := testing.AllocsPerRun(100, func() { f.Use(p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if m := f.Read([]byte("From: alias999@example.org\n\nx\n")); !m.FromOwner {
		t.Error("the owner's mail is not seen as such")
	}
	f.Use(p.Owned([]string{"b@example.org"}))
	if m := f.Read([]byte("From: alias999@example.org\n\nx\n")); m.FromOwner {
		t.Error("another owner's mail is taken for one's own")
	}
	if got, want := p.Options().Fingerprint(), o.Fingerprint(); got != want {
		t.Errorf("the fingerprint is %s, want %s", got, want)
	}
	if _, err := (Options{}).Prepare(); err == nil {
		t.Error("options without limits were taken")
	}
}
