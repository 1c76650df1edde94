// SPDX-License-Identifier: Apache-2.0

package words

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
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
		if err != nil {
			t.Fatal(err)
		}
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
