// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// readers are the rows of docs/README.md, with how many words each has to read: pages of
// 400. More than that, and nobody reads it.
var readers = []struct {
	row  string
	most int
}{
	{"| have one mailbox |", 4000},
	{"| run a mail server |", 8000},
	{"| have mail in Kafka |", 8000},
	{"| change hinged |", 4800},
}

const (
	mostWords     = 60000 // of docs/ and below
	mostResults   = 4000  // of docs/results.md
	mostDecisions = 80
)

func words(t *testing.T, path string) int {
	t.Helper()
	text := testkit.Read(t, path)
	return len(strings.Fields(string(text)))
}

func TestNobodyHasToReadMuch(t *testing.T) {
	docs := filepath.Join(root, "docs")
	index := testkit.Read(t, filepath.Join(docs, "README.md"))
	for _, r := range readers {
		_, row, found := strings.Cut(string(index), r.row)
		if !found {
			t.Errorf("docs/README.md has no row %q", r.row)
			continue
		}
		list, _, _ := strings.Cut(row, "|")
		sum := 0
		for _, m := range linked.FindAllStringSubmatch(list, -1) {
			sum += words(t, filepath.Join(docs, m[1]))
		}
		if sum == 0 || sum > r.most {
			t.Errorf("%s %d words to read, want %d at most", r.row, sum, r.most)
		}
	}
	if n := words(t, filepath.Join(docs, "results.md")); n > mostResults {
		t.Errorf("docs/results.md has %d words, want %d at most", n, mostResults)
	}
	sum := 0
	for _, pattern := range []string{"*.md", "decisions/*.md"} {
		pages, err := filepath.Glob(filepath.Join(docs, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			sum += words(t, page)
		}
	}
	if sum > mostWords {
		t.Errorf("docs/ has %d words, want %d at most", sum, mostWords)
	}
	entries := testkit.Read(t, filepath.Join(docs, "decisions", "README.md"))
	if n := len(regexp.MustCompile(`(?m)^- \d{4}-`).FindAll(entries, -1)); n > mostDecisions {
		t.Errorf("there are %d decisions, want %d at most: delete what no longer binds", n, mostDecisions)
	}
}
