// SPDX-License-Identifier: Apache-2.0

package prior

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

const small = `# hinged prior 1
# owners 3
# Made for a test.
-1.25	addressed:elsewhere
0.5	constant
-0.01	place:reply | to alone
`

func TestAPriorIsReadAndWrittenBack(t *testing.T) {
	p, err := Parse(strings.NewReader(small), "small.prior")
	testkit.OK(t, err)
	want := &Prior{Owners: 3, Notes: []string{"Made for a test."}, Weights: []Weight{
		{"addressed:elsewhere", -1.25}, {"constant", 0.5}, {"place:reply | to alone", -0.01},
	}}
	if !reflect.DeepEqual(p, want) {
		t.Fatalf("got %+v, want %+v", p, want)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil || out.String() != small {
		t.Errorf("written %q (%v), want %q", out.String(), err, small)
	}
	x, err := p.Pack().Unpack()
	if err != nil || len(x) != 3 || x[0] != (model.Feature{Index: model.Affine, Value: 0.5}) {
		t.Errorf("packed as %v (%v); the constant must be the affine coordinate", x, err)
	}
}

func TestWhatIsWrongInAPriorIsNamedWithItsLine(t *testing.T) {
	const head = "# hinged prior 1\n# owners 1\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", `x:1: not a prior: it ends before the line "# owners N"`},
		{"an archive", "From ann@example.org\n", `x:1: not a prior: the first line is "From ann@example.org", want "# hinged prior 1"`},
		{"a later version", "# hinged prior 2\n", `x:1: not a prior: the first line`},
		{"one line", "# hinged prior 1\n", `x:2: not a prior: it ends before`},
		{"no owners", "# hinged prior 1\n0.5\tconstant\n", `x:2: not a prior: the second line is "0.5\tconstant", want "# owners N"`},
		{"nobody", "# hinged prior 1\n# owners 0\n", `x:2: not a prior: the second line`},
		{"a padded number", "# hinged prior 1\n# owners 01\n", `x:2: not a prior: the second line`},
		{"no tab", head + "0.5 constant\n", `x:3: not a prior: the line is "0.5 constant", want a number, a tab`},
		{"an empty line", head + "\n", `x:3: not a prior: the line is ""`},
		{"no number", head + "half\tconstant\n", `x:3: not a prior: the weight is "half"`},
		{"not a number", head + "NaN\tconstant\n", `x:3: not a prior: the weight is "NaN"`},
		{"infinite", head + "Inf\tconstant\n", `x:3: not a prior: the weight is "Inf"`},
		{"too great", head + "1000001\tconstant\n", `x:3: not a prior: the weight is "1000001"`},
		{"zero", head + "0\tconstant\n", `x:3: not a prior: the weight is "0"`},
		{"more digits than needed", head + "0.50\tconstant\n", `x:3: not a prior: the weight is "0.50", want it in the fewest digits: "0.5"`},
		{"an exponent", head + "5e-1\tconstant\n", `x:3: not a prior: the weight is "5e-1", want it in the fewest digits: "0.5"`},
		{"an address", head + "0.5\tfrom:ann@example.org\n", `x:3: not a prior: "from:ann@example.org" is not among the features that name nobody`},
		{"a word", head + "0.5\tsubject:invoice\n", `x:3: not a prior: "subject:invoice" is not among the features`},
		{"out of order", head + "1\tplace:start\n1\tconstant\n", `x:4: not a prior: "constant" comes after "place:start"`},
		{"twice", head + "1\tconstant\n1\tconstant\n", `x:4: not a prior: "constant" comes after "constant"`},
		{"words below weights", head + "1\tconstant\n# more\n", `x:4: not a prior: there is a comment between weights`},
		{"no space", head + "#more\n", `x:3: not a prior: words begin with "#" alone, want "# "`},
		{"bytes", head + "# \x00\n", `x:3: not a prior: the line has bytes that are not text`},
		{"no UTF-8", head + "# \xff\n", `x:3: not a prior: the line has bytes that are not text`},
		{"a long line", head + "# " + strings.Repeat("a", maxLine) + "\n", `x:3: not a prior: the line is longer than 500 bytes`},
		{"too long", head + strings.Repeat("#\n", maxLines), `x:20001: not a prior: it has more than 20000 lines`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(c.text), "x")
			if !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s…", err, c.want)
			}
		})
	}
}

func TestALineAtTheLimitIsRead(t *testing.T) {
	text := "# hinged prior 1\n# owners 1\n# " + strings.Repeat("a", maxLine-2) + "\n"
	if p, err := Parse(strings.NewReader(text), "x"); err != nil || len(p.Notes) != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(embedded[:2000]))
	f.Add([]byte("# hinged prior 1\n# owners 1\n0.1\tconstant"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(bytes.NewReader(data), "x")
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%v is no ErrFormat", err)
			}
			return
		}
		var out bytes.Buffer
		testkit.OK(t, p.Write(&out))
		again, err := Parse(&out, "x")
		if err != nil || !slices.Equal(again.Weights, p.Weights) || again.Owners != p.Owners {
			t.Fatalf("%+v came back as %+v, %v", p, again, err)
		}
		if _, err := p.Pack().Unpack(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTheMeanCountsEveryOwnerAlike(t *testing.T) {
	w := model.NewWeights(0)
	w.Set(model.Affine, 1)
	w.Set(featurize.IndexOf("place:start"), 0.5)
	w.Set(featurize.IndexOf("from:ann@example.org"), 7) // names somebody
	w.Set(featurize.IndexOf("depth:0"), 0.0001)         // nothing is left of it
	var m Mean
	m.Add(w)
	m.AddPrior(&Prior{Owners: 3, Weights: []Weight{{"constant", -1}, {"place:reply", 0.4}}})
	got := m.Prior()
	want := []Weight{{"constant", -0.5}, {"place:reply", 0.3}, {"place:start", 0.13}}
	if got.Owners != 4 || !slices.Equal(got.Weights, want) {
		t.Errorf("got %d owners, %v; want 4, %v", got.Owners, got.Weights, want)
	}
}

func TestOfNoneAMessageScoresHalfBelowZero(t *testing.T) {
	p, err := Named("none")
	if err != nil || len(p.Weights) != 1 || p.Weights[0].Name != "constant" {
		t.Fatalf("none: %+v, %v", p, err)
	}
	o := featurize.DefaultOptions()
	sum := o.Affine * o.Affine
	for _, share := range o.Shares {
		sum += share * share
	}
	if score := p.Weights[0].Value * o.Affine / math.Sqrt(sum); math.Abs(score+0.5) > 0.005 {
		t.Errorf("the constant adds %.4f to a score", score)
	}
}

func TestNamed(t *testing.T) {
	if p, err := Named("zero"); p != nil || err != nil || p.Pack() != nil {
		t.Errorf("zero: %v, %v", p, err)
	}
	if p, err := Named("default"); p != Default() || err != nil {
		t.Errorf("default: %v, %v", p, err)
	}
	path := filepath.Join(t.TempDir(), "a.prior")
	testkit.OK(t, os.WriteFile(path, []byte(small), 0o600))
	if p, err := Named(path); err != nil || p.Owners != 3 {
		t.Errorf("a file: %v, %v", p, err)
	}
	for _, name := range []string{"", path + ".missing"} {
		if _, err := Named(name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

// TestTheDefaultNamesNobody is the promise that the program gives nobody's mail away.
func TestTheDefaultNamesNobody(t *testing.T) {
	p := Default()
	if n := len(p.Weights); n < 300 || n > 700 {
		t.Errorf("it has %d weights, want about 400", n)
	}
	if strings.Contains(embedded, "@") {
		t.Error("there is an address in it")
	}
	for _, w := range p.Weights {
		if _, ok := words.ImpersonalIndex(w.Name); !ok {
			t.Errorf("%q is in it", w.Name)
		}
	}
	var again bytes.Buffer
	if err := p.Write(&again); err != nil || again.String() != embedded {
		t.Errorf("it is not as it would be written (%v)", err)
	}
}
