// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// momentOf is the time of a record as its account sees it. Kafka knows records
// without one.
func momentOf(r *kafka.Record) store.Moment { return max(0, store.MomentOf(r.Time)) }

func refuse(reason kafka.Reason, format string, args ...any) *kafka.Refusal {
	return &kafka.Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// rewrites reports whether an event goes back over what was learnt.
func rewrites(e kafka.Event) bool {
	switch e.(type) {
	case kafka.Unlearn, kafka.Forget:
		return true
	default:
		return false
	}
}

// convert turns what a record says into the filter's event.
func convert(topic string, it *item) (filter.Event, *kafka.Refusal) {
	at := momentOf(&it.record)
	switch e := it.event.(type) {
	case kafka.Message:
		meta := filter.NewMeta(it.message)
		if e.Sent {
			meta = meta.ByOwner()
		}
		return &filter.Arrived{At: at, Meta: meta, Message: it.message}, nil
	case kafka.Feedback:
		return labelled(topic, it, e)
	case kafka.Rules:
		return ruled(at, e)
	case kafka.Done:
		return &filter.Closed{At: at, Message: store.MessageKey(e.Key), ID: filter.IDOf(string(e.Message))}, nil
	default:
		return nil, refuse(kafka.UnknownType, "%s is not known here", e.Type())
	}
}

// ruled converts rules; what a match may say is for the filter to judge.
func ruled(at store.Moment, e kafka.Rules) (filter.Event, *kafka.Refusal) {
	out := &filter.Ruled{At: at}
	for _, r := range e.Rules {
		out.Rules = append(out.Rules, filter.Rule{Match: r.Match, Label: label(bool(r.Label))})
	}
	if err := filter.ValidateRules(out.Rules); err != nil {
		return nil, refuse(kafka.BadValue, "%v", err)
	}
	return out, nil
}

// sources are the words of feedback for the filter's sources.
var sources = map[string]store.Source{
	"explicit": store.SourceExplicit, "mark": store.SourceMark, "flagged": store.SourceFlagged,
	"answered": store.SourceAnswered, "moved": store.SourceMoved, "junk": store.SourceJunk,
}

func labelled(topic string, it *item, e kafka.Feedback) (filter.Event, *kafka.Refusal) {
	out := &filter.Labelled{At: momentOf(&it.record), Label: label(bool(e.Label)), Source: sources[e.Source], Waits: true}
	if e.Message != "" {
		out.ID = filter.IDOf(string(e.Message))
	} else {
		out.Message = store.MessageKey(e.Key)
	}
	if err := out.Validate(); err != nil {
		return nil, refuse(kafka.BadValue, "%v", err)
	}
	var err error
	out.Origin, err = originOf(topic, &it.record)
	if err != nil {
		return nil, refuse(kafka.TooLarge, "%v", err)
	}
	return out, nil
}

func label(important bool) model.Label {
	if important {
		return model.Important
	}
	return model.Ordinary
}

// kept is what is kept of a record whose feedback may wait, so that it can be
// handed on as it was if it waits in vain.
type kept struct {
	Key     []byte         `json:"k"`
	Value   []byte         `json:"v"`
	Headers []kafka.Header `json:"h,omitempty"`
}

var errLargeFeedback = errors.New("feedback of this size is not kept")

func originOf(topic string, r *kafka.Record) (store.Origin, error) {
	data, err := json.Marshal(kept{r.Key, r.Value, r.Headers})
	if err != nil {
		return store.Origin{}, err
	}
	if len(data) > filter.MaxRecord {
		return store.Origin{}, fmt.Errorf("%w: with its headers it takes %d bytes of %d", errLargeFeedback, len(data), filter.MaxRecord)
	}
	return store.Origin{Topic: topic, Partition: r.Partition, Offset: r.Offset, Record: data}, nil
}

// expired makes the dead letter of feedback that waited in vain.
func expired(x filter.Expired) (kafka.Record, error) {
	o := x.Feedback.Origin
	var k kept
	if err := json.Unmarshal(o.Record, &k); err != nil {
		return kafka.Record{}, fmt.Errorf("feedback from offset %d of partition %d cannot be read any more: %w", o.Offset, o.Partition, err)
	}
	why := kafka.Refusal{Reason: kafka.Expired, Detail: "the message that it refers to did not arrive in time"}
	if x.Unsure {
		why = kafka.Refusal{Reason: kafka.Conflict, Detail: "several messages have this Message-ID; use the key of the message instead"}
	}
	if x.Displaced {
		why.Detail = "it was dropped for newer feedback before its message arrived"
	}
	return kafka.DeadLetter(o.Topic, kafka.Record{Partition: o.Partition, Offset: o.Offset, Key: k.Key, Value: k.Value, Headers: k.Headers}, why), nil
}
