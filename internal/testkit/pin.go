// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// Pin logs what must stay as it is while the code is rebuilt, for make pins, which compares
// it with scripts/pins.txt. group is the line's first word: make pins says of a whole group
// that it was left out, when nothing of it was logged. what says of which run it is, and
// ends in the word "state" if a format alone may change it. A long value is logged as its
// SHA-256.
func Pin(tb testing.TB, group, what, value string) {
	tb.Helper()
	kind := "decided"
	if strings.HasSuffix(what, "state") {
		kind = "format"
	}
	if len(value) > 300 {
		value = fmt.Sprintf("%x", sha256.Sum256([]byte(value)))
	}
	tb.Logf("pin %s %s %s %s", kind, group, what, value)
}
