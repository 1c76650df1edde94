// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"errors"
	"io"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/hinged/hinged/ingest"
)

// fetched is what one line of the answer to a FETCH held.
type fetched struct {
	uid      uint32
	words    []string // flags, as the server spells them
	flags    []string // the same, canonical
	hasFlags bool
	modseq   uint64
	internal time.Time // zero: the server has none
	size     int64
	raw      []byte // what the textReader made of the text
	hasRaw   bool
}

// textReader reads a text that came. What it leaves is thrown away.
type textReader func(goimap.LiteralReader) ([]byte, error)

// textError is an error in the middle of a message's text. The client's reader
// takes it as its sign to go on, so that its command must not be touched again.
type textError struct{ err error }

func (e textError) Error() string { return e.err.Error() }
func (e textError) Unwrap() error { return e.err }

// fetch runs a UID FETCH and calls each for every message of the answer: a message of set,
// and each once, or the client library takes it for news of another. Texts are streamed
// to text; nil throws them away. After an error of either the connection is closed.
func (s *session) fetch(set goimap.UIDSet, o goimap.FetchOptions, text textReader, each func(fetched) error) error {
	o.UID = true
	s.guard.amending(plainFields)
	cmd := s.client.Fetch(set, &o)
	s.guard.amending(nil)
	for {
		m := cmd.Next()
		if m == nil {
			break
		}
		got, err := s.read(m, text)
		if err == nil {
			err = each(got)
		}
		if err != nil {
			s.guard.kill(err)
			var text textError
			if !errors.As(err, &text) {
				_ = cmd.Close() // unblocks the reader; the connection is dead already
			}
			return err
		}
		s.guard.extend(0, s.patience())
	}
	err := cmd.Close()
	s.guard.end()
	if err != nil {
		return s.fail("UID FETCH", err)
	}
	return nil
}

// fetchOne is fetch for one message, which may not be there.
func (s *session) fetchOne(uid uint32, o goimap.FetchOptions, text textReader) (got fetched, there bool, err error) {
	s.beginFor(1)
	err = s.fetch(goimap.UIDSetNum(goimap.UID(uid)), o, text, func(line fetched) error {
		got, there = line, true
		return nil
	})
	return got, there, err
}

// read takes one line apart.
func (s *session) read(m *imapclient.FetchMessageData, text textReader) (got fetched, err error) {
	for {
		switch item := m.Next().(type) {
		case nil:
			return got, nil
		case imapclient.FetchItemDataUID:
			got.uid = uint32(item.UID)
		case imapclient.FetchItemDataFlags:
			got.words = make([]string, len(item.Flags))
			for i, f := range item.Flags {
				got.words[i] = string(f)
			}
			got.flags, got.hasFlags = ingest.CanonicalFlags(got.words), true
		case imapclient.FetchItemDataModSeq:
			got.modseq = item.ModSeq
		case imapclient.FetchItemDataInternalDate:
			got.internal = internalOf(item.Time)
		case imapclient.FetchItemDataRFC822Size:
			got.size = item.Size
		case imapclient.FetchItemDataBodySection:
			switch {
			case item.Literal == nil:
				continue
			case text == nil && item.Literal.Size() > commandBudget:
				return got, s.broken("a text of %d bytes came that was not asked for", item.Literal.Size())
			case text == nil:
				continue
			}
			if got.raw, err = text(item.Literal); err != nil {
				return got, err
			}
			got.hasRaw = true
		}
	}
}

// askFields asks for header fields, up to most bytes of them.
func askFields(most int64, names ...string) goimap.FetchOptions {
	return goimap.FetchOptions{BodySection: []*goimap.FetchItemBodySection{{
		Specifier: goimap.PartSpecifierHeader, HeaderFields: names, Peek: true,
		Partial: &goimap.SectionPartial{Size: most},
	}}}
}

// readFields reads what askFields asked for.
func (s *session) readFields(most int64) textReader {
	return func(literal goimap.LiteralReader) ([]byte, error) {
		fields, err := io.ReadAll(io.LimitReader(literal, most))
		if err != nil {
			return nil, textError{s.fail("read a message's header", err)}
		}
		return fields, nil
	}
}
