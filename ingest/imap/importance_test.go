// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"strings"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// TestR5TheTwoNamesOfTheMarkAreOne has servers that store $Important and answer with
// another of its names (RFC 8457): the mark is set, and nothing changed.
func TestR5TheTwoNamesOfTheMarkAreOne(t *testing.T) {
	t.Parallel()
	for _, name := range []string{`\Important`, `\IMPORTANT`, "$important", "$IMPORTANT"} {
		t.Run(name, func(t *testing.T) {
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Spell = func(line string) string { return strings.ReplaceAll(line, "$Important", name) }
			})
			f.Add(plainMail, `\Seen`)
			r := startSource(t, only(f))
			r.await("scan", 0, cursorOf("INBOX", 2))
			r.source.Mark(mark(1, 1, `\Seen`))
			if e, _ := r.await("mark", 0, resultOf(1)); e.(ingest.MarkResult).Outcome != ingest.MarkDone {
				t.Fatalf("the mark: %+v", e)
			}
			// All is compared once more.
			f.Bye("again")
			f.Add(plainMail, "")
			r.await("a message after that", 0, arrivalOf("INBOX", 2))
			for _, e := range r.all() {
				if c, ok := e.(ingest.FlagsChanged); ok {
					t.Errorf("%+v was reported", c)
				}
			}
		})
	}
}
