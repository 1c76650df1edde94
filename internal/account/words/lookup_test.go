// SPDX-License-Identifier: Apache-2.0

package words

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
)

func TestLookupNamesWhatAWordCouldBeBehind(t *testing.T) {
	for text, want := range map[string][]string{
		"Invoice":                              {"subject:invoice", "opening:invoice", "body:invoice", "quoted:invoice", "patch:invoice", "signature:invoice", "name:invoice", "mailer:invoice", "header:invoice"},
		"invoice overdue":                      {"subject:invoice", "subject:overdue", "subject:invoice overdue", "body:invoice", "body:overdue"},
		"Ann@Example.org":                      {"from:ann@example.org", "from:ann@example.org | to alone", "from:ann@example.org | patch reply | cc", "from:ann@example.org | depth 64+", "to:ann@example.org | start", "cc:ann@example.org", "reply-to:ann@example.org", "sender:ann@example.org", "trailer:acked-by ann@example.org", "body:ann", "body:example.org"},
		"@example.org":                         {"from:@example.org", "from:@example.org | to"},
		"lists.example.org":                    {"from:@lists.example.org", "host:lists.example.org", "host:example.org", "received:example.org", "dkim:lists.example.org", "list:lists.example.org"},
		"you":                                  {"to:owner", "cc:owner", "trailer:cc owner"},
		"mm/slab.c":                            {"path:mm/slab.c", "path:mm/slab.c | patch"},
		"precedence=bulk":                      {"header:precedence=bulk"},
		"pdf":                                  {"attachment:.pdf"},
		"reply":                                {"place:reply", "place:reply | to alone", "body:reply"},
		"Grüße":                                {"body:grüße"},
		"日本語":                                  {"subject:日本", "subject:本語"},
		"history:answers the owner | to alone": {"history:answers the owner | to alone"},
	} {
		got := Lookup(text)
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%q: %q is missing in %q", text, name, got)
			}
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%q: not sorted, or one twice: %q", text, got)
		}
	}
	if got := Lookup("  "); len(got) != 0 {
		t.Errorf("nothing gives %q", got)
	}
}

// TestEveryNameIsFoundByItself: whatever a message has, given as it is, is looked
// up under its index.
func TestEveryNameIsFoundByItself(t *testing.T) {
	files, err := filepath.Glob("../../../featurize/testdata/*.eml")
	if err != nil || len(files) < 5 {
		t.Fatalf("messages in testdata: got %v (%v), want 5 or more", files, err)
	}
	prefixed := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		testkit.OK(t, err)
		f := newTest(t)
		for n := range f.Freeze(f.Read(raw), featurize.History{Received: 9, Answered: 3, ByOwner: 1}).All() {
			if n.Group == featurize.Constant {
				continue
			}
			if featurize.IndexOf(n.Name) != n.Index {
				t.Fatalf("%q has the index %d, IndexOf says %d", n.Name, n.Index, featurize.IndexOf(n.Name))
			}
			if !slices.Contains(Lookup(n.Name), n.Name) {
				t.Errorf("%q does not find itself", n.Name)
			}
			// And by what stands behind its prefix, for words and people.
			prefix, rest, _ := strings.Cut(n.Name, ":")
			head, _, _ := strings.Cut(rest, " | ")
			if _, word := wordPlaces[prefix]; word || prefix == "from" && head != "nobody" {
				prefixed++
				if !slices.Contains(Lookup(head), n.Name) {
					t.Errorf("%q is not found by %q", n.Name, head)
				}
			}
		}
	}
	if prefixed < 100 {
		t.Errorf("only %d words and senders were tried", prefixed)
	}
}

func TestCodesAndNumbersAreNotShown(t *testing.T) {
	for name, want := range map[string]bool{
		"body:invoice": true, "body:123456": false, "subject:code 123456": false, "subject:order 2024": false,
		"body:v6.1": true, "body:42": true, "header:x-id=a12345b": false, "host:t1234567.example.org": false,
		"from:a12345678@example.org": true, "shape:questions 4+": true, "history:sender answered under 30%": true, "constant": true,
	} {
		if got := Telling(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

// vocabulary is every word that the name of a feature that names nobody may have.
var vocabulary = strings.Fields(`
	constant addressed depth history place shape
	elsewhere cc to alone start reply patch cover series
	sender answered thread by owner since answers the what itself another something unknown
	new of few many under or more kind a person machine bulk list program with pdf calendar image office
	correspondent stranger in address book kept none all
	received attachments links long words own lines quoted signature diffstat patch lines trailers questions references recipients`)

func TestImpersonalNamesAreMadeOfFixedWordsAndBins(t *testing.T) {
	names := Impersonal()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the names are not sorted, or one is there twice")
	}
	number := regexp.MustCompile(`^([0-9]+\+?|[0-9]+%)$`)
	for _, name := range names {
		for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == ':' || r == '|' }) {
			if !slices.Contains(vocabulary, word) && !number.MatchString(word) {
				t.Errorf("%q has the word %q", name, word)
			}
		}
		if strings.Contains(name, "@") {
			t.Errorf("%q looks like an address", name)
		}
		index, ok := ImpersonalIndex(name)
		if back, known := ImpersonalName(index); !ok || !known || back != name {
			t.Errorf("%q has the index %d, which is that of %q", name, index, back)
		}
	}
	for _, name := range []string{"", "from:ann@example.org", "shape:", "place:ann", "addressed:to ", "history:sender answered 7"} {
		if _, ok := ImpersonalIndex(name); ok {
			t.Errorf("%q counts as a name that names nobody", name)
		}
	}
}

func TestWhatOnlyListsHaveIsNotAlikeInAnyMailbox(t *testing.T) {
	for name, want := range map[string]bool{
		"kind:a person | to alone": true, "kind:a machine | with pdf": true, "place:reply | cc": true, "shape:questions 1 | start": true,
		"history:correspondent": true, "shape:own words 8+ | to | reply": true,
		"shape:trailers 0": false, "shape:patch lines 0": false, "shape:diffstat lines 1": false, "shape:trailers 0 | to alone": false,
		"place:patch": false, "place:patch reply | to": false, "kind:a list | patch | to": false, "shape:questions 1 | patch reply": false,
		"shape:own words 8+ | to | cover": false, "history:sender answered new | series": false,
		"history:thread by owner 0 | patch reply | cc": false,
	} {
		_, alike := ImpersonalIndex(name)
		if back, known := ImpersonalName(featurize.IndexOf(name)); alike != want || !known || back != name {
			t.Errorf("%q: alike %v, want %v; known as %q", name, alike, want, back)
		}
	}
}

// TestEveryFeatureOfTheImpersonalKindsIsKnown reads odd and hostile mail: whatever it
// says, no feature of those kinds has a name outside the fixed set.
func TestEveryFeatureOfTheImpersonalKindsIsKnown(t *testing.T) {
	f, err := featurize.New(featurize.Options{
		Owner: []string{"owner@example.org"}, Shares: featurize.DefaultOptions().Shares, Affine: 0.3,
		MaxBytes: 16 << 20, Names: true,
	})
	testkit.OK(t, err)
	var mails [][]byte
	paths, err := filepath.Glob("../../../featurize/testdata/*.eml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no mail to read: %v", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		testkit.OK(t, err)
		mails = append(mails, raw)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		mails = append(mails, oddMail(rng, i))
	}
	met := map[string]bool{}
	for _, raw := range mails {
		m := f.Read(raw)
		h := featurize.History{
			Received: rng.Uint32N(50), Answered: rng.Uint32N(50), Written: rng.Uint32N(2), Kept: rng.Uint32N(9), Left: rng.Uint32N(9), ByOwner: rng.Uint32N(5), Since: rng.Uint32N(300),
			ParentKnown: rng.IntN(2) == 0, ParentOwn: rng.IntN(4) == 0, ParentAnswered: rng.IntN(4) == 0, ParentSender: rng.IntN(4) == 0,
		}
		for x := range f.Freeze(m, h).All() {
			if !slices.ContainsFunc([]string{"addressed:", "depth:", "history:", "kind:", "place:", "shape:"}, func(p string) bool { return strings.HasPrefix(x.Name, p) }) && x.Group != featurize.Constant {
				if _, ok := ImpersonalName(x.Index); ok {
					t.Errorf("%q has the index of a feature that names nobody", x.Name)
				}
				continue
			}
			met[x.Name] = true
			if name, ok := ImpersonalName(x.Index); !ok || name != x.Name {
				t.Errorf("%q is not in the set", x.Name)
			}
		}
	}
	if len(met) < 400 {
		t.Errorf("only %d features of these kinds were met: the mail is too plain for this test", len(met))
	}
}

func oddMail(rng *rand.Rand, i int) []byte {
	var b bytes.Buffer
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	list := func(n int) string {
		var all []string
		for j := range n {
			all = append(all, fmt.Sprintf("shape%d@place.example", j))
		}
		if rng.IntN(2) == 0 {
			all = append(all, "owner@example.org")
		}
		return strings.Join(all, ", ")
	}
	fmt.Fprintf(&b, "From: \"history: x\" <history:%d@addressed.example>\r\nTo: %s\r\nCc: %s\r\n", i, list(rng.IntN(4)), list(rng.IntN(90)))
	fmt.Fprintf(&b, "Subject: %s%s place:secret shape:links | to %d\r\n", pick("", "Re: ", "AW: "), pick("", "[PATCH] ", "[PATCH v3 2/7] ", "[PATCH 0/9] "), i)
	if n := rng.IntN(120); n > 20 {
		b.WriteString("References:")
		for j := range n {
			fmt.Fprintf(&b, " <r%d@x>\r\n", j)
		}
		b.WriteString("In-Reply-To: <r0@x>\r\n")
	}
	b.WriteString("Shape: depth:9\r\nX-History: place:9\r\n\r\n")
	for range rng.IntN(40) {
		b.WriteString(pick("history:secret words?\r\n", "> shape:quoted\r\n", "addressed:me https://place.example/x\r\n", "+++ place:patch\r\n", "Acked-by: A <shape:a@example.org>\r\n", "why? why? why?\r\n"))
	}
	if rng.IntN(3) == 0 {
		b.WriteString("-- \r\nhistory:signature\r\nplace:x\r\n")
	}
	return b.Bytes()
}
