// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"slices"
	"testing"
)

func TestEveryFlagHasOneSpelling(t *testing.T) {
	for _, c := range []struct{ flag, want string }{
		{`\Seen`, `\seen`},
		{`\FLAGGED`, `\flagged`},
		{"$Important", "$important"},
		{`\Important`, "$important"},
		{"$IMPORTANT", "$important"},
		{"Junk", "$junk"},
		{"$Junk", "$junk"},
		{"NonJunk", "$notjunk"},
		{"NotJunk", "$notjunk"},
		{"$NotJunk", "$notjunk"},
		{"$Label1", "$label1"},
		{"", ""},
	} {
		if got := CanonicalFlag(c.flag); got != c.want {
			t.Errorf("CanonicalFlag(%q) is %q, want %q", c.flag, got, c.want)
		}
		if got := CanonicalFlag(CanonicalFlag(c.flag)); got != c.want {
			t.Errorf("CanonicalFlag twice on %q is %q, want %q", c.flag, got, c.want)
		}
	}
}

func TestCanonicalFlagsAreSortedUniqueAndWithoutRecent(t *testing.T) {
	in := []string{`\Seen`, `\Important`, `\Recent`, "$Important", "Work", `\Answered`}
	before := slices.Clone(in)
	want := []string{"$important", `\answered`, `\seen`, "work"}
	if got := CanonicalFlags(in); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Equal(in, before) {
		t.Errorf("the argument became %q", in)
	}
	if got := CanonicalFlags([]string{`\Recent`}); got != nil {
		t.Errorf("got %q of \\Recent alone, want nil", got)
	}
}

func TestHasFlagFindsAnySpelling(t *testing.T) {
	flags := CanonicalFlags([]string{"$Important", `\Seen`, "zebra"})
	for _, f := range []string{`\Important`, "$IMPORTANT", `\seen`, "Zebra"} {
		if !HasFlag(flags, f) {
			t.Errorf("%q is not found in %q", f, flags)
		}
	}
	for _, f := range []string{`\Flagged`, "", "zebr"} {
		if HasFlag(flags, f) {
			t.Errorf("%q is found in %q", f, flags)
		}
	}
}

func TestTheKeywordOfCheckIsNeverReported(t *testing.T) {
	if got := CanonicalFlags([]string{"$hingedcheck", CheckKeyword, `\Recent`, "$x"}); !slices.Equal(got, []string{"$x"}) {
		t.Errorf("got %q", got)
	}
}
