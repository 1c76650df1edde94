// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Teaching is what one answer would teach, while the threshold stays where it is.
type Teaching struct {
	Label string  `json:"label"`      // Label is the answer: important or ordinary.
	Score float64 `json:"score"`      // Score is the score that the message itself would then have.
	Above int     `json:"come_above"` // Above counts recent messages that would come above the threshold, the message itself aside.
	Below int     `json:"fall_below"` // Below counts recent messages that would fall below the threshold, the message itself aside.
}

const (
	// Answers are tried on so many of the newest messages of the last days.
	teachOn   = 200
	teachDays = 28
)

// pupil is a message that answers are tried on.
type pupil struct {
	key    store.MessageKey
	vector model.Vector
	score  float64
}

// teach says what each answer would teach. It reads the messages that answers are tried on
// outside of Look.
func (out *Questions) teach(ctx context.Context, a Account, vectors *writer.Vectors) error {
	var keys []store.MessageKey
	err := a.Look(ctx, func(d *Desk) error {
		keys = d.lately()
		return nil
	})
	if err != nil {
		return err
	}
	var pupils []pupil
	for _, k := range keys {
		x, err := vectors.Vector(k, nil)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			pupils = append(pupils, pupil{key: k, vector: x})
		}
	}
	return a.Look(ctx, func(d *Desk) error {
		out.Compared = len(pupils)
		threshold := d.Filter.Line().Cut().Threshold
		for i := range pupils {
			pupils[i].score = d.Filter.Learning().Score(pupils[i].vector)
		}
		for i := range out.Questions {
			q := &out.Questions[i]
			for _, label := range []model.Label{model.Important, model.Ordinary} {
				effect := d.Filter.Explainer.Effect(q.key, q.vector, label)
				t := Teaching{Label: label.String(), Score: q.Score + effect(q.vector)}
				t.tryOn(pupils, q.key, threshold, effect)
				q.Teach = append(q.Teach, t)
			}
		}
		return nil
	})
}

// lately are the messages that answers are tried on.
func (d *Desk) lately() (keys []store.MessageKey) {
	since := d.Now().Add(-teachDays * 24 * time.Hour)
	for k, m := range d.Filter.Messages.Newest() {
		if len(keys) == teachOn || m.Arrived < since {
			break
		}
		// A rule decides whatever the score is.
		if judged, _ := filter.Judged(&m); judged && m.Rule == 0 {
			keys = append(keys, k)
		}
	}
	return keys
}

// tryOn counts the messages, itself aside, that an answer would move across the threshold.
func (t *Teaching) tryOn(pupils []pupil, itself store.MessageKey, threshold float64, effect func(model.Vector) float64) {
	for _, p := range pupils {
		if p.key == itself {
			continue
		}
		switch after := p.score + effect(p.vector); {
		case p.score <= threshold && after > threshold:
			t.Above++
		case p.score > threshold && after <= threshold:
			t.Below++
		}
	}
}
