// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"math"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/host/zones"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// maxAsk bounds how many messages of a day are asked for.
const maxAsk = 1000

// heard is the share of the owner's answers that the filter learns of; 0 means all.
type heard float64

// hears reports whether a message of the owner's with that Message-ID tells what it
// answers. A hash of the Message-ID decides.
func (h heard) hears(id string) bool {
	return h == 0 || float64(xxhash.Sum64String(id)) < float64(h)*math.MaxUint64 || h == 1
}

// meta is what the filter's history learns of a message. An answer that is not heard
// is one more message of the owner's in its thread and answers nothing, as if the
// owner had answered from elsewhere.
func (h heard) meta(m *featurize.Message) filter.Meta {
	meta := filter.NewMeta(m)
	if m.FromOwner {
		meta = meta.ByOwner() // an archive's From is all that there is
	}
	if m.FromOwner && !h.hears(m.MessageID) {
		meta.Replies, meta.Topic = nil, 0
	}
	return meta
}

// AskResult is about the questions that the owner answered.
type AskResult struct {
	Daily     int `json:"daily"`     // limit of questions per day
	Evenings  int `json:"evenings"`  // number of evenings with a question
	Messages  int `json:"messages"`  // number of messages asked about
	Important int `json:"important"` // number of messages asked about that were important
	Wrong     int `json:"wrong"`     // number of messages asked about that were decided wrongly; unsure counts as wrong
}

// evenings has the owner label, at the end of each day in the account's time zone,
// the messages of that day that the filter asks for. A nil one asks nothing.
type evenings struct {
	zone *time.Location
	// midnight is the end of the day of the latest message, start its beginning; zero
	// before the first.
	start, midnight time.Time
	labels          map[store.MessageKey]model.Label // of the day's messages
	r               AskResult
}

func newEvenings(daily int, o filter.Options) (*evenings, error) {
	zone, err := zones.Load(o.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("%w: time zone: %w", ErrPlay, err)
	}
	return &evenings{zone: zone, labels: map[store.MessageKey]model.Label{}, r: AskResult{Daily: daily}}, nil
}

// note takes down what the owner would say about a message.
func (e *evenings) note(k store.MessageKey, label model.Label) {
	if e != nil {
		e.labels[k] = label
	}
}

// over reports whether a day ends before the moment at, and begins the day of at.
// since and end are the bounds of the day that ended, both within it.
func (e *evenings) over(at store.Moment) (since, end store.Moment, over bool) {
	if at == 0 || !e.midnight.IsZero() && at.Time().Before(e.midnight) {
		return 0, 0, false
	}
	if over = !e.midnight.IsZero(); over {
		since, end = store.MomentOf(e.start), store.MomentOf(e.midnight.Add(-time.Millisecond))
	}
	y, m, d := at.Time().In(e.zone).Date()
	e.start = time.Date(y, m, d, 0, 0, 0, 0, e.zone)
	e.midnight = time.Date(y, m, d+1, 0, 0, 0, 0, e.zone)
	return since, end, over
}

// ask has the owner answer the questions of the day that ended before at, if one did.
func (j *judge) ask(at store.Moment) error {
	e := j.evenings
	if e == nil {
		return nil
	}
	since, end, over := e.over(at)
	if !over {
		return nil
	}
	defer clear(e.labels)
	if j.live != nil && j.live.n <= j.live.past {
		return nil
	}
	// The day's end first, with what it teaches by itself.
	if err := j.tell(&filter.Ticked{At: end}); err != nil {
		return err
	}
	q, err := j.filter.Messages.Ask(e.r.Daily, since)
	if err != nil {
		return err
	}
	if len(q.Messages) > 0 {
		e.r.Evenings++
	}
	for _, k := range q.Messages {
		label := e.labels[k]
		m, _ := j.filter.State().Messages.Get(string(k[:]))
		if e.r.Messages++; label == model.Important {
			e.r.Important++
		}
		if (m.Outcome == store.DecidedImportant) != (label == model.Important) || m.Outcome == store.DecidedUnsure {
			e.r.Wrong++
		}
		if err := j.tell(&filter.Labelled{At: end, Message: k, Label: label}); err != nil {
			return err
		}
	}
	return nil
}
