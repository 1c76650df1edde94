// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
)

// past is a mailbox whose messages come in order.
type past struct {
	ingest.Source
	mail []ingest.Event
}

func (p *past) Run(ctx context.Context, emit ingest.Emit) error {
	for _, e := range p.mail {
		if err := emit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (p *past) Progress() (done, total int) { return len(p.mail), len(p.mail) }
func (p *past) Status() ingest.Status       { return ingest.Status{} }
func (p *past) Complete() bool              { return true }

// TestThePastTeachesWhatTheOwnersMailSays: of 40 messages every fourth is answered, in one way
// or the other; of all others something in the owner's name is in Sent that is no answer.
func TestThePastTeachesWhatTheOwnersMailSays(t *testing.T) {
	const asks, own = "ines@harbour.example", "me@example.org"
	for name, c := range map[string]struct {
		answer, other string // header lines of the owner's mail, with the number of the message
		important     int
	}{
		"references alone":   {answer: "To: ines@harbour.example\nSubject: Re: Boat %[1]d\nReferences: <x@y> <q%[1]d@harbour.example>", important: 10},
		"the subject alone":  {answer: "To: ines@harbour.example\nSubject: AW: Boat %[1]d", important: 10},
		"answering machines": {"To: ines@harbour.example\nIn-Reply-To: <q%[1]d@harbour.example>", "To: ines@harbour.example\nIn-Reply-To: <q%[1]d@harbour.example>\nAuto-Submitted: auto-replied", 10},
		"forwards":           {"To: ines@harbour.example\nIn-Reply-To: <q%[1]d@harbour.example>", "To: eve@x\nSubject: WG: Boat %[1]d\nIn-Reply-To: <q%[1]d@harbour.example>", 40},
	} {
		start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		p := &past{mail: []ingest.Event{
			ingest.MailboxOpened{Mailbox: "INBOX", UIDValidity: 1, Role: ingest.RoleInbox}, ingest.MailboxOpened{Mailbox: "Sent", UIDValidity: 1, Role: ingest.RoleSent},
		}}
		uids := map[string]uint32{}
		put := func(box, from, id, header string, at time.Time) {
			uids[box]++
			raw := fmt.Sprintf("From: %s\nMessage-ID: <%s>\nDate: %s\n%s\n\nWords %s\n", from, id, at.Format(time.RFC1123Z), header, id)
			p.mail = append(p.mail, ingest.Arrival{
				Place: ingest.Place{Mailbox: box, UIDValidity: 1, UID: uids[box]}, Internal: at, Flags: []string{`\seen`}, Backlog: true, Raw: []byte(raw),
			})
		}
		for n := range 40 {
			at := start.Add(time.Duration(n) * time.Hour)
			put("INBOX", asks, fmt.Sprintf("q%d@harbour.example", n), fmt.Sprintf("To: %s\nSubject: Boat %d", own, n), at)
			header := c.other
			if n%4 == 0 {
				header = c.answer
			}
			if header != "" {
				put("Sent", own, fmt.Sprintf("a%d@example.org", n), fmt.Sprintf(header, n), at.Add(time.Minute))
			}
		}
		put("INBOX", asks, "last@harbour.example", "To: "+own+"\nSubject: Last", start.Add(60*24*time.Hour))
		o := filter.DefaultOptions()
		o.Featurize.Owner = []string{own}
		r, err := DryRun(t.Context(), Options{Account: "me", Filter: o, NewSource: func([]ingest.Known) (PastSource, error) { return p, nil }}, 10, 3)
		if err != nil {
			t.Fatal(err)
		}
		if r.Important != c.important {
			t.Errorf("%s: %d of %d are important, want %d", name, r.Important, r.Labelled, c.important)
		}
	}
}
