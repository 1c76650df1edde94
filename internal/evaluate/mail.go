// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/model"
)

// mail is one message of the stream to play.
type mail struct {
	*archive.Message // its Raw holds until the next call of next
	date             time.Time
	label            model.Label // of the archive that it comes from; 0: none
}

// stream merges archives by date, each of which is in order of date. Of two that have a
// message to give, the earlier one goes first, on equal dates the one that was named
// first. A message without a date counts as of the one before it.
//
// At the first reading an archive of one mbox is taken to be in order; rewind tells.
type stream struct {
	archives []*open
}

// open is one archive and its next message.
type open struct {
	reader *archive.Reader
	label  model.Label
	next   *archive.Message // nil: at its end
	date   time.Time
}

// source is one archive to play.
type source struct {
	path  string
	label model.Label
}

// openStream opens all sources.
func openStream(sources []source, maxBytes int) (s *stream, err error) {
	s = &stream{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, src := range sources {
		r, err := archive.Open([]string{src.path}, archive.Options{MaxBytes: maxBytes, Order: archive.ByDateLater})
		if err != nil {
			return s, err
		}
		o := &open{reader: r, label: src.label}
		s.archives = append(s.archives, o)
		if err := o.advance(); err != nil {
			return s, err
		}
	}
	return s, nil
}

// rewind goes back to the first message. It reports whether the messages come in the same
// order as before: if not, some archive was not in order of date, and now is.
func (s *stream) rewind() (same bool, err error) {
	same = true
	for _, o := range s.archives {
		unchanged, err := o.reader.Rewind()
		if err != nil {
			return false, err
		}
		same = same && unchanged
		o.date = time.Time{}
		if err := o.advance(); err != nil {
			return false, err
		}
	}
	return same, nil
}

// passedOver lists the files in folders that hold no message.
func (s *stream) passedOver() (paths []string) {
	for _, o := range s.archives {
		paths = append(paths, o.reader.PassedOver()...)
	}
	return paths
}

// advance reads the next message of one archive.
func (o *open) advance() error {
	m, err := o.reader.Next()
	if errors.Is(err, io.EOF) && err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is no end
		o.next = nil
		return nil
	}
	if err != nil {
		return err
	}
	o.next = m
	if date := m.Date(); !date.IsZero() {
		o.date = date
	}
	return nil
}

// each calls fn with every message in order.
func (s *stream) each(fn func(mail) error) error {
	for {
		waiting := slices.DeleteFunc(slices.Clone(s.archives), func(o *open) bool { return o.next == nil })
		if len(waiting) == 0 {
			return nil
		}
		// The first of the least, so that ties go by the order of the sources.
		first := slices.MinFunc(waiting, func(a, b *open) int { return cmp.Compare(a.date.UnixNano(), b.date.UnixNano()) })
		if err := fn(mail{first.next, first.date, first.label}); err != nil {
			return err
		}
		if err := first.advance(); err != nil {
			return err
		}
	}
}

// progress adds up how far all archives were read.
func (s *stream) progress() (done, total int64) {
	for _, o := range s.archives {
		d, t := o.reader.Progress()
		done, total = done+d, total+t
	}
	return done, total
}

func (s *stream) close() error {
	var errs []error
	for _, o := range s.archives {
		errs = append(errs, o.reader.Close())
	}
	return errors.Join(errs...)
}
