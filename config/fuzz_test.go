// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// FuzzParse asserts that any input gives either a configuration that reads back
// from its own encoding, or mistakes that lie within the file.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(bytes.NewReader(data), "fuzz.toml", here())
		if err == nil {
			sameAfterEncode(t, c)
			return
		}
		var configErr *Error
		if !errors.As(err, &configErr) || len(configErr.Mistakes) == 0 {
			t.Fatalf("got %v, want mistakes", err)
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, m := range configErr.Mistakes {
			if m.Line < 1 || m.Line > lines {
				t.Errorf("line %d of a file of %d lines: %v", m.Line, lines, m)
			}
		}
	})
}

func seeds(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	example := Example()
	all = append(all, example)
	for _, pattern := range []string{"testdata/good/*.toml", "testdata/bad/*.toml"} {
		paths, err := os.ReadDir(pattern[:len(pattern)-len("/*.toml")])
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if len(p.Name()) > 5 && p.Name()[len(p.Name())-5:] == ".toml" {
				data := testkit.Read(t, pattern[:len(pattern)-len("*.toml")]+p.Name())
				all = append(all, data)
			}
		}
	}
	return all
}

func TestFuzzSeedsReachTheCode(t *testing.T) {
	accepted, accounts, refused, read := 0, 0, 0, 0
	for _, seed := range seeds(t) {
		c, err := parse(bytes.NewReader(seed), "seed.toml", here())
		var configErr *Error
		switch {
		case err == nil:
			accepted++
			accounts += len(c.Accounts)
		case errors.As(err, &configErr):
			refused++
			for _, m := range configErr.Mistakes {
				if m.Key != "" {
					read++
				}
			}
		}
	}
	if accepted < 3 || accounts < 4 || refused < 90 || read < 90 {
		t.Errorf("got %d accepted with %d accounts, %d refused, %d of them behind the syntax; want at least 3, 4, 90, 90", accepted, accounts, refused, read)
	}
}
