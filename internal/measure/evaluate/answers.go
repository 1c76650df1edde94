// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/model"
)

// answers holds the Message-IDs that some message of the owner's answers, hashed: what the
// owner answered is important, all else, also what was passed on, ordinary. With each stands
// the number, from 1, of the first message of the stream that answers it and is heard of;
// 0: none is.
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

// add appends what of a message tells what it answers, and reports whether the list is full.
func (h *headers) add(raw []byte) (full bool) {
	h.text = append(h.text, featurize.HeadOf(raw)...)
	h.ends = append(h.ends, len(h.text))
	return len(h.ends) == headersMessages || len(h.text) >= headersBytes
}

// read returns what each message says.
func (h *headers) read(f *featurize.Featurizer) []*featurize.Message {
	all := make([]*featurize.Message, 0, len(h.ends))
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
	}, func(l headers) (all []*featurize.Message) {
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
	topics := topics{}
	for list := range stage.Order() {
		for _, a := range <-list {
			total++
			topics.note(a, total)
			if a.FromOwner {
				own++
				found.add(a, total, h)
			}
		}
	}
	return found, own, total, g.Wait()
}

// add notes what the message with a number answers.
func (a answers) add(said *featurize.Message, number int, h heard) {
	if said.Says != featurize.SaysAnswer {
		return
	}
	for _, id := range said.Answers {
		hash := xxhash.Sum64String(id)
		if by := a[hash]; by == 0 && h.hears(said.MessageID) {
			a[hash] = number
		} else {
			a[hash] = by
		}
	}
}

// topics finds what an answer without any reference answers, as the filter does: the newest
// message of others, by sender and topic.
type topics map[[2]uint64]struct {
	id     string
	date   time.Time
	number int
}

// note takes the message with a number; for an answer of the owner's without any reference
// it fills in what that answers.
func (t topics) note(m *featurize.Message, number int) {
	last := t[[2]uint64{}] // none
	switch {
	case m.Topic == 0:
	case !m.FromOwner && m.MessageID != "" && len(m.From) > 0:
		last.id, last.date, last.number = m.MessageID, m.Date, number
		t[[2]uint64{xxhash.Sum64String(m.From[0]), m.Topic}] = last
	case m.Says == featurize.SaysAnswer && len(m.Answers) == 0:
		for _, to := range slices.Concat(m.To, m.Cc) {
			if found := t[[2]uint64{xxhash.Sum64String(to), m.Topic}]; found.number > last.number && m.Date.Sub(found.date) <= filter.TopicDays*24*time.Hour {
				last = found
				m.Answers = []string{last.id}
			}
		}
	}
}

// answers finds what the owner answered, and counts the messages of s.
func (p *Play) answers(ctx context.Context, s *stream, o featurize.Options) (answers, int, error) {
	found, own, total, err := findAnswers(ctx, s, o, heard(p.Heard), p.workers())
	s.rewind()
	if err == nil && own == 0 {
		err = stranger(s, o)
	}
	return found, total, err
}
