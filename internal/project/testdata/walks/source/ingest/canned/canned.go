// SPDX-License-Identifier: Apache-2.0

// Package canned is the smallest source of mail: three messages in one mailbox.
package canned

import (
	"context"
	"fmt"
	"time"

	"github.com/hinged/hinged/ingest"
)

const mailbox, validity = "INBOX", 1

// Source implements ingest.Source.
type Source struct{ known []ingest.Known }

// New returns a source that goes on behind what the store knows of it.
func New(known []ingest.Known) *Source { return &Source{known} }

// Run reports what was not reported in an earlier run, then waits for the end.
func (s *Source) Run(ctx context.Context, emit ingest.Emit) error {
	next := uint32(1)
	for _, k := range s.known { // of this mailbox: there is no other
		next = max(next, k.UIDNext)
	}
	events := []ingest.Event{ingest.MailboxOpened{Mailbox: mailbox, Role: ingest.RoleInbox, UIDValidity: validity}}
	for uid := next; uid <= 3; uid++ {
		raw := fmt.Appendf(nil, "From: ann@example.org\r\nSubject: letter %d\r\nMessage-ID: <%d@canned>\r\n\r\nHello!\r\n", uid, uid)
		events = append(events, ingest.Arrival{
			Place:    ingest.Place{Mailbox: mailbox, UIDValidity: validity, UID: uid},
			Internal: time.Date(2026, 11, 27, 9, int(uid), 0, 0, time.UTC), Raw: raw, Size: int64(len(raw)),
		})
	}
	// The cursor comes behind what it covers: committed together, nothing is lost or read twice.
	events = append(events, ingest.Cursor{Mailbox: mailbox, UIDValidity: validity, UIDNext: 4, BacklogBefore: 1})
	for _, e := range events {
		if err := emit(ctx, e); err != nil {
			return nil //nolint:nilerr // emit fails only when ctx is done
		}
	}
	<-ctx.Done()
	return nil
}

// Mark takes no marks: there is no server. The ledger has them as asked for.
func (*Source) Mark(...ingest.MarkRequest) {}

// Status says that all is well.
func (*Source) Status() ingest.Status { return ingest.Status{Connected: true} }
