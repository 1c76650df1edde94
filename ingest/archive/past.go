// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/hinged/hinged/ingest"
)

// Past is a source that reports the messages of archives, by date, as the past of a mailbox
// whose folders are labels, and ends. What was reported before, of the same archives, comes
// at the same place again.
type Past struct {
	r        *Reader
	since    time.Time
	validity uint32
	next     map[ingest.Role]uint32
	done     atomic.Int64
	complete atomic.Bool
}

// NewPast opens archives, see Open; what is older than since is left out. Run closes them.
func NewPast(paths []string, since time.Time) (*Past, error) {
	r, err := Open(paths, Options{MaxBytes: 1 << 20, Order: ByDate})
	if err != nil {
		return nil, err
	}
	// Other archives have other numbers for their messages.
	return &Past{r: r, since: since, validity: uint32(r.total%(1<<31)) + 1, next: map[ingest.Role]uint32{}}, nil
}

// Mark implements ingest.Source: nothing is marked.
func (p *Past) Mark(...ingest.MarkRequest) {}

// Status implements ingest.Source.
func (p *Past) Status() ingest.Status { return ingest.Status{Connected: true} }

// Progress returns how many messages were read, and about how many there are. Safe for
// concurrent use, as is Complete.
func (p *Past) Progress() (done, total int) {
	n := p.done.Load()
	if read, all := p.r.Progress(); read > 0 && !p.Complete() {
		return int(n), int(float64(n) * float64(all) / float64(read))
	}
	return int(n), int(n)
}

// Complete reports whether all was reported.
func (p *Past) Complete() bool { return p.complete.Load() }

// Run implements ingest.Source. Its error is about one of the archives, or emit's.
func (p *Past) Run(ctx context.Context, emit ingest.Emit) error {
	defer p.r.Close()
	date := time.Unix(1, 0)
	for ctx.Err() == nil {
		m, err := p.r.Next()
		if errors.Is(err, io.EOF) && err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is no end
			p.complete.Store(true)
			return emit(ctx, ingest.Tick{})
		}
		if err != nil {
			return err
		}
		if d := m.Date(); !d.IsZero() {
			date = d
		}
		if !date.Before(p.since) {
			if err := p.report(ctx, m, date, emit); err != nil {
				return err
			}
		}
		p.done.Add(1)
	}
	return nil
}

// report reports a message in each folder that it lies in.
func (p *Past) report(ctx context.Context, m *Message, date time.Time, emit ingest.Emit) error {
	roles, flags := m.Labels()
	flags = ingest.CanonicalFlags(append(flags, m.Flags...))
	_, raw := cutLabels(m.Raw)
	for _, role := range roles {
		p.next[role]++
		place := ingest.Place{Mailbox: "archive/" + role.String(), UIDValidity: p.validity, UID: p.next[role]}
		if place.UID == 1 {
			if err := emit(ctx, ingest.MailboxOpened{Mailbox: place.Mailbox, Role: role, UIDValidity: p.validity, Labels: true}); err != nil {
				return err
			}
		}
		a := ingest.Arrival{Place: place, Internal: date, Flags: flags, Raw: bytes.Clone(raw), Size: m.Size, Backlog: true, Away: true}
		if err := emit(ctx, a); err != nil {
			return err
		}
	}
	return nil
}
