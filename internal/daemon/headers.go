// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/desk"
)

// Why there are no headings.
const (
	streamNoHeadings  = "this account's mail comes through Kafka, and hinged keeps no subjects"
	stoppedNoHeadings = "the daemon is not running, so nothing is connected to the mail server"
)

// errNoHeadings is for people.
var errNoHeadings = errors.New("hinged can't read subjects where this account's mail comes from")

// Headers implements ingest.HeaderReader.
func (r *renewable) Headers(ctx context.Context, places []ingest.Place) (map[ingest.Place][]byte, error) {
	if h, ok := r.get().(ingest.HeaderReader); ok {
		return h.Headers(ctx, places)
	}
	return nil, errNoHeadings
}

// Post implements ingest.Poster.
func (r *renewable) Post(ctx context.Context, mailbox, messageID string, raw []byte) error {
	if p, ok := r.get().(ingest.Poster); ok {
		return p.Post(ctx, mailbox, messageID, raw)
	}
	return errors.ErrUnsupported
}

// Post implements desk.Account.
func (a *account) Post(ctx context.Context, mailbox, messageID string, raw []byte) error {
	return a.source.Post(ctx, mailbox, messageID, raw)
}

// Post implements desk.Account.
func (*storeAccount) Post(context.Context, string, string, []byte) error {
	return errors.New(stoppedNoHeadings)
}

// Post implements desk.Account.
func (s *streamed) Post(context.Context, string, string, []byte) error {
	return fmt.Errorf("account %s: %w", s.name, desk.ErrStreamAccount)
}

// Headers implements desk.Account.
func (a *account) Headers(ctx context.Context, places []ingest.Place) (map[ingest.Place][]byte, string) {
	found, err := a.source.Headers(ctx, places)
	if err != nil {
		return found, err.Error()
	}
	return found, ""
}

// Headers implements desk.Account.
func (*storeAccount) Headers(context.Context, []ingest.Place) (map[ingest.Place][]byte, string) {
	return nil, stoppedNoHeadings
}

// Headers implements desk.Account.
func (*streamed) Headers(context.Context, []ingest.Place) (map[ingest.Place][]byte, string) {
	return nil, streamNoHeadings
}
