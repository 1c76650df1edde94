// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

func TestEveryCustomaryNameHasOneUse(t *testing.T) {
	n := 0
	for line := range strings.Lines(customs) {
		n += 1 + strings.Count(line, "|")
	}
	if n != len(Customary) {
		t.Errorf("%d names have %d uses", len(Customary), n)
	}
	for name := range Customary {
		if name != strings.ToLower(norm.NFC.String(name)) || name == "" {
			t.Errorf("%q is not in lower case, or not in normal form", name)
		}
	}
}
