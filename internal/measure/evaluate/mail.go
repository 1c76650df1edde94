// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"io"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/model"
)

// mail is one message of the stream to play.
type mail struct {
	*archive.Message // its Raw holds until the next call of next
	date             time.Time
	label            model.Label // of the archive that it comes from; 0: none
}

// stream is archives in order of date. A message without a date counts as of the one
// before it.
type stream struct {
	reader  *archive.Reader
	sources []source
}

// source is one archive to play.
type source struct {
	path  string
	label model.Label
}

// openStream opens all sources.
func openStream(sources []source, maxBytes int) (*stream, error) {
	paths := make([]string, len(sources))
	for i, src := range sources {
		paths[i] = src.path
	}
	r, err := archive.Open(paths, archive.Options{MaxBytes: maxBytes, Order: archive.ByDate})
	return &stream{r, sources}, err
}

// each calls fn with every message in order.
func (s *stream) each(fn func(mail) error) error {
	var date time.Time
	for {
		m, err := s.reader.Next()
		if errors.Is(err, io.EOF) && err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is no end
			return nil
		}
		if err != nil {
			return err
		}
		if d := m.Date(); !d.IsZero() {
			date = d
		}
		if err := fn(mail{m, date, s.sources[m.Source].label}); err != nil {
			return err
		}
	}
}

// rewind goes back to the first message.
func (s *stream) rewind() { s.reader.Rewind() }

// progress says how much of the archives was read.
func (s *stream) progress() (done, total int64) { return s.reader.Progress() }

func (s *stream) close() error { return s.reader.Close() }

// progress tells how far the reading of s is.
func (p *Play) progress(s *stream) {
	if p.Progress != nil {
		p.Progress(s.progress())
	}
}

// believeLabels takes what an archive says was sent for the owner's own.
func (r *read) believeLabels(m mail) {
	if roles, _ := m.Labels(); roles[0] == ingest.RoleSent || roles[0] == ingest.RoleDrafts {
		r.message.FromOwner, r.message.Vouched = true, true
	}
}
