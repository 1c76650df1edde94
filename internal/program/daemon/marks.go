// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/store"
)

// noteMark notes what became of a mark, once the ledger has it.
func (a *account) noteMark(m ingest.MarkResult) {
	a.showMark(m)
	switch m.Outcome {
	case ingest.MarkDone:
		if !m.Clear && m.CopyTo == "" {
			a.markless.Delete(m.Place.Mailbox)
		} else if !m.Clear {
			a.markless.Delete(m.CopyTo)
		}
	case ingest.MarkConflict:
		a.noteConflict(m)
	case ingest.MarkImpossible:
		if m.Clear {
			a.unwilling[m.ID] = m.Detail
		} else if m.CopyTo != "" {
			a.markless.Store(m.CopyTo, "a copy could not be put there: "+m.Detail)
		} else {
			a.markless.Store(m.Place.Mailbox, "the server refused a mark: "+m.Detail)
		}
		a.notes = append(a.notes, func() {
			a.log.Warn("mark refused by the server", "take_back", m.Clear, "mailbox", m.Place.Mailbox, "uid", m.Place.UID, "detail", m.Detail)
		})
	}
}

// noteKeywords warns of a mailbox that will not keep the configured marks, and
// says what would help.
func (a *account) noteKeywords(o ingest.MailboxOpened) {
	a.markless.Delete(o.Mailbox) // until it refuses one
	if o.Keywords || ledger.Excluded(o.Role) {
		return
	}
	for _, mark := range a.opts.Filter.Marks {
		if !ingest.HasFlag(o.Flags, mark) {
			a.markless.Store(o.Mailbox, "the server keeps no "+mark+" there")
			a.notes = append(a.notes, func() {
				a.log.Warn("the server keeps no such keyword here, so hinged can't mark with it; `mark = ['\\Flagged']`, the star, works on most servers, and `mark_copy` on read-only mailboxes, too",
					"mailbox", o.Mailbox, "mark", mark)
			})
		}
	}
}

// noteConflict tells of a mark that was given up because its message kept changing.
func (a *account) noteConflict(m ingest.MarkResult) {
	const why = "the message changed at each attempt"
	e, known := a.filter.State().Ledger.Get(store.LedgerKey(m.ID))
	switch {
	case !known:
		return
	case m.Clear && e.State != store.MarkUndone && e.Undo == 0:
		a.unwilling[m.ID] = why
	case m.Clear || e.State != store.MarkAbandoned || e.Tries == 0:
		return
	}
	a.notes = append(a.notes, func() {
		a.log.Warn("mark given up", "take_back", m.Clear, "mailbox", m.Place.Mailbox, "uid", m.Place.UID, "detail", why)
	})
}

// unmarkable returns a warning for each mailbox that takes no marks, in order of name.
// Safe for concurrent use.
func (a *account) unmarkable() []string {
	var out []string
	a.markless.Range(func(mailbox, why any) bool {
		out = append(out, fmt.Sprintf("hinged can't mark anything in %s: %s; `mark = ['\\Flagged']`, the star, works if only keywords are refused; `mark_copy = \"Important\"` puts a copy into that folder instead, even from a read-only mailbox", mailbox, why))
		return true
	})
	slices.Sort(out)
	return out
}
