// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// maxTwinMarks is how many marks of other hinged are remembered: they have few.
const maxTwinMarks = 8

// noteTwin hears of companion keywords that came to a known copy of a message and that
// this account did not set there: another hinged is at work, and what came with one is
// what it marks with.
func (f *Filter) noteTwin(k store.MessageKey, place Place, came []string) {
	if f.mirrored(k, place, came) {
		return
	}
	var marks []string
	for _, flag := range came {
		if !ingest.IsCompanion(flag) && flag != `\answered` && !slices.Contains(routine, flag) {
			marks = append(marks, flag)
		}
	}
	for _, flag := range came {
		if !ingest.IsCompanion(flag) || f.ledger.accompanies(k, place, flag, marks) {
			continue
		}
		if f.ledger.entered(k) {
			f.putOwn(place, flag)
		}
		a := &f.st.Account
		if all := ingest.CanonicalFlags(append(slices.Clone(a.TwinMarks), marks...)); len(all) <= maxTwinMarks {
			a.TwinMarks = all
		}
	}
}

// accompanies reports whether a companion that came to a copy of a message, with these
// marks, came with a mark of ours. Alone it is the rest of one that was taken off.
func (l *ledger) accompanies(k store.MessageKey, place Place, companion string, marks []string) bool {
	return l.has(k, func(e store.LedgerEntry) bool {
		return stands(e) && ingest.CanonicalFlag(e.Companion) == companion && placeOf(e) == place &&
			(len(marks) == 0 || ingest.HasFlag(marks, e.Keyword))
	})
}

// mirrored reports whether what came to a message is what this account set, or is taking
// back, seen again under another label: where mailboxes are labels, a message has one set
// of flags, which each mailbox tells of in its own time.
func (f *Filter) mirrored(k store.MessageKey, place Place, came []string) bool {
	return f.isLabel(place.Mailbox) && f.ledger.entered(k) && slices.ContainsFunc(came, ingest.IsCompanion)
}
