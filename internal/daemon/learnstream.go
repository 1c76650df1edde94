package daemon

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// sendFeedback hands labels for messages of an account of the stream to the input
// topic: there they have their place in the order of the account's records.
func (d *Daemon) sendFeedback(ctx context.Context, name string, t Teach) (Lessons, error) {
	out := Lessons{Account: name, Label: t.Label, Lessons: []Lesson{}}
	f, err := d.streamed(ctx, name, stateOnly)
	if err != nil {
		return out, err
	}
	label, all, err := t.read(f.Options().Featurize)
	if err != nil {
		return out, err
	}
	var events []kafka.Event
	for _, h := range all {
		l := feedbackLesson(f, h)
		if l.Result == LessonSent {
			key, err := hex.DecodeString(l.Message)
			if err != nil {
				return out, err
			}
			events = append(events, kafka.Feedback{
				Message: kafka.Ref{Key: [16]byte(key)}, Important: label == model.Important, Source: "explicit",
			})
			out.Sent++
		} else {
			out.Refused++
		}
		out.Lessons = append(out.Lessons, l)
	}
	if len(events) == 0 {
		return out, nil
	}
	if err := d.stream.Send(ctx, name, events...); err != nil {
		return out, fmt.Errorf("handing the lessons to the input topic: %w", err)
	}
	return out, nil
}

// feedbackLesson says whether feedback about a message can be sent.
func feedbackLesson(f *filter.Filter, h handed) Lesson {
	l := Lesson{Name: h.Name, Result: LessonRefused}
	var k store.MessageKey
	if h.message != nil {
		k = store.MessageKey(h.message.Key)
	} else {
		var err error
		if k, err = findMessage(f.State(), h.Name); errors.Is(err, ErrNoMessage) {
			l.Why = err.Error()
			return l
		}
	}
	l.Message = hex.EncodeToString(k[:])
	m, known := f.State().Messages.Get(string(k[:]))
	l.New, l.Marked = !known, f.Marked(k)
	switch {
	case !known:
		l.Why = "it has not come through the input topic, or is forgotten since"
	case m.Own:
		l.Why = "it is the owner's own mail, which teaches nothing"
	default:
		l.Result = LessonSent
	}
	return l
}
