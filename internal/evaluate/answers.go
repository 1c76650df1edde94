// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"context"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/pipeline"
	"github.com/hinged/hinged/model"
)

// answers holds the Message-IDs that some message of the owner's names in
// In-Reply-To, hashed: what the owner answered is important, all else ordinary. With
// each stands the number, from 1, of the first message of the stream that answers it
// and is heard of; 0: none is.
type answers map[uint64]int

func (a answers) label(m *featurize.Message, _ mail) model.Label {
	if _, ok := a[xxhash.Sum64String(m.MessageID)]; ok && m.MessageID != "" {
		return model.Important
	}
	return model.Ordinary
}

// headers are those of messages that follow each other.
type headers struct {
	text []byte // one after the other
	ends []int  // of each in text
}

// A list of headers is handed on once it has so many messages, or bytes.
const (
	headersMessages = 128
	headersBytes    = 512 << 10
)

// add appends the header of a message, and reports whether the list is full.
func (h *headers) add(raw []byte) (full bool) {
	h.text = append(h.text, headerOf(raw)...)
	h.ends = append(h.ends, len(h.text))
	return len(h.ends) == headersMessages || len(h.text) >= headersBytes
}

// read returns what each message answers.
func (h *headers) read(f *featurize.Featurizer) []featurize.Answer {
	all := make([]featurize.Answer, 0, len(h.ends))
	begin := 0
	for _, end := range h.ends {
		all = append(all, f.ReadAnswer(h.text[begin:end]))
		begin = end
	}
	return all
}

// findAnswers reads the headers of the whole stream, with so many featurizers. It also
// counts the messages from the owner, and all.
func findAnswers(ctx context.Context, s *stream, o featurize.Options, h heard, workers int) (found answers, own, total int, err error) {
	reader, err := pipeline.NewPool(workers).Reader(o)
	if err != nil {
		return nil, 0, 0, err
	}
	stage := pipeline.New(pipeline.Options[headers]{
		Depth: 4 * workers, Bytes: queueBytes, Size: func(l headers) int64 { return int64(len(l.text)) }, Workers: workers,
	}, func(l headers) (all []featurize.Answer) {
		_, _ = reader.With(context.Background(), func(f *featurize.Featurizer) { all = l.read(f) }) // fails only with its context
		return all
	})
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer stage.Close()
		var list headers
		err := s.each(func(m mail) error {
			if !list.add(m.Raw) {
				return nil
			}
			full := list
			list = headers{make([]byte, 0, len(full.text)), make([]int, 0, headersMessages)}
			return stage.Put(ctx, full)
		})
		if err != nil {
			return err
		}
		return stage.Put(ctx, list)
	})
	found = answers{}
	for list := range stage.Order() {
		for _, a := range <-list {
			total++
			if a.FromOwner {
				own++
				found.add(a, total, h)
			}
		}
	}
	return found, own, total, g.Wait()
}

// add notes what the message with a number answers.
func (a answers) add(said featurize.Answer, number int, h heard) {
	for _, id := range said.InReplyTo {
		hash := xxhash.Sum64String(id)
		if by := a[hash]; by == 0 && h.hears(said.MessageID) {
			a[hash] = number
		} else {
			a[hash] = by
		}
	}
}

// headerOf returns the header of a message, the blank line included.
func headerOf(raw []byte) []byte {
	end := len(raw)
	for _, blank := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.Index(raw[:end], []byte(blank)); i >= 0 {
			end = i + len(blank)
		}
	}
	return raw[:end]
}
