// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"fmt"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// ReadNewest reads the text of the newest message of a mailbox as a Source would, and
// returns where it is and how many bytes came. The mailbox is opened by EXAMINE and
// nothing becomes \Seen. The error is ErrEmptyMailbox where there is no message.
func (p *Probe) ReadNewest(ctx context.Context, mailbox string) (at ingest.Place, size int, err error) {
	if _, err := p.Open(mailbox, true); err != nil {
		return at, 0, err
	}
	existing, err := p.search(&goimap.SearchCriteria{})
	if err != nil {
		return at, 0, err
	}
	if len(existing) == 0 {
		return at, 0, ErrEmptyMailbox
	}
	uid := existing[len(existing)-1].last
	at = ingest.Place{Mailbox: mailbox, UIDValidity: p.open.UIDValidity, UID: uid}
	v := &visit{s: &Source{o: p.o}, session: p.s, mailbox: newMailbox(mailbox, ingest.RoleOther), data: p.open, condstore: p.cond, readOnly: true}
	_, large, _, err := v.sizes(rangesOf([]uint32{uid}), 1)
	if err != nil {
		return at, 0, err
	}
	got, _, err := p.s.fetchOne(uid, v.bodyItems(len(large) > 0), v.readText)
	switch {
	case err != nil:
		return at, 0, fmt.Errorf("read the text of UID %d in %s: %w", uid, mailbox, err)
	case !got.hasRaw:
		return at, 0, fmt.Errorf("read the text of UID %d in %s: %w: the answer has none", uid, mailbox, errProtocol)
	}
	return at, len(got.raw), ctx.Err()
}
