// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// LessonPulls take a score apart by the lessons that it comes from. Together, pull of all
// lessons listed, other_lessons_pull and older_pull are the score.
type LessonPulls struct {
	Lessons      []LessonPull `json:"lessons"`            // Lessons are the lessons that pull most, strongest first, at most 8.
	OtherLessons int          `json:"other_lessons"`      // OtherLessons counts the other lessons that the score can still be traced to.
	OtherPull    float64      `json:"other_lessons_pull"` // OtherPull is what these add to the score together.
	// OlderPull is the rest of the score: older lessons, the prior that learning began
	// with, rules, weights that were given up, and forgotten messages. A dual learner and
	// a kernel keep their lessons one by one; with other learners, the lessons are among
	// the last 1,000.
	OlderPull float64 `json:"older_pull"`

	trace trace
}

// LessonPull is what one earlier lesson adds to a score.
type LessonPull struct {
	Message string     `json:"message,omitempty"`      // Message is the key of the message that was learnt from, in hexadecimal; absent if it is not known any more.
	Itself  bool       `json:"itself,omitempty"`       // Itself reports whether that is the explained message itself.
	At      *time.Time `json:"at,omitempty"`           // At is when that message arrived; absent if the message is no longer known.
	From    string     `json:"from,omitempty"`         // From is its sender's address; absent if its words are not kept.
	Subject []string   `json:"subject,omitempty"`      // Subject has words of its subject, possibly in another order.
	Label   string     `json:"label"`                  // Label is the label that was learnt: important or ordinary.
	Source  string     `json:"label_source,omitempty"` // Source is where the label came from: what the owner did, or silence; absent if the message is no longer known.
	Pull    float64    `json:"pull"`                   // Pull is what the lesson adds to the score: how often it stands in the weights times the dot product of both messages' vectors.
}

const (
	// pullsShown is how many lessons are named one by one.
	pullsShown = 8
	// lessonsTraced is how many of the last lessons a score is traced to where the learner
	// keeps none by itself, and in how many the message of an example is looked for.
	lessonsTraced = 1000
)

// trace is what a score is traced by: from Look, for the time after it.
type trace struct {
	message store.MessageKey
	score   float64
	vector  model.Vector
	origins []filter.Origin
	kept    bool   // the learner keeps its lessons
	next    uint64 // number of the next lesson
}

func (d *Desk) traced(k store.MessageKey, ex *filter.Explanation) trace {
	t := trace{message: k, score: ex.Score, vector: slices.Clone(ex.Features.Vector()), next: d.Filter.State().LessonNext()}
	t.origins, t.kept = d.Filter.Explainer.Origins(t.vector)
	return t
}

// pull is a lesson with what it adds to the score.
type pull struct {
	filter.Origin
	at     store.Moment
	source store.Source
}

// tracePulls says which lessons the score comes from. It reads the vectors of up to 1,000
// learnt messages, and is not for the account's writer.
func (p *LessonPulls) tracePulls(ctx context.Context, a Account, past Past) error {
	t := p.trace
	p.trace = trace{}
	vectors := writer.NewVectors(past.Store, past.Account)
	all, err := t.pulls(ctx, past, vectors)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b pull) int { return cmp.Compare(math.Abs(b.Pull), math.Abs(a.Pull)) })
	p.OlderPull = t.score
	for _, one := range all {
		p.OlderPull -= one.Pull
	}
	shown := all[:min(len(all), pullsShown)]
	for _, one := range all[len(shown):] {
		p.OtherPull += one.Pull
		p.OtherLessons++
	}
	if err := nameOrigins(ctx, past, vectors, t.next, shown); err != nil {
		return err
	}
	if err := dateOrigins(ctx, a, shown); err != nil {
		return err
	}
	for _, one := range shown {
		l, err := describePull(vectors, one)
		if err != nil {
			return err
		}
		l.Itself = one.Message == t.message && l.Message != ""
		p.Lessons = append(p.Lessons, l)
	}
	return nil
}

func (t *trace) pulls(ctx context.Context, past Past, vectors *writer.Vectors) (out []pull, err error) {
	origins := t.origins
	if !t.kept {
		if origins, err = past.origins(ctx, t.next); err != nil {
			return nil, err
		}
	}
	var x model.Vector
	for _, o := range origins {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.Vector == nil {
			x, err = vectors.Vector(o.Message, x[:0])
			switch {
			case errors.Is(err, store.ErrNotFound):
				continue // it counts among the older ones
			case err != nil:
				return nil, err
			}
			o.Pull = float64(o.Times * model.Dot(x, t.vector))
		}
		if o.Pull != 0 {
			out = append(out, pull{Origin: o})
		}
	}
	return out, nil
}

// origins are the steps of the last lessons: a learner that keeps nothing but weights has
// them there as they were taken.
func (p Past) origins(ctx context.Context, next uint64) (out []filter.Origin, err error) {
	lessons, err := p.recent(ctx, next)
	for _, l := range lessons {
		if l.Learnt() && l.Step != 0 {
			out = append(out, filter.Origin{Message: l.Message, Label: l.Label, Times: l.Step})
		}
	}
	return out, err
}

// recent are the last lessons, or as many of them as are kept.
func (p Past) recent(ctx context.Context, next uint64) ([]store.Lesson, error) {
	lessons, err := p.lessons(ctx, max(next, lessonsTraced+1)-lessonsTraced, next)
	if errors.Is(err, store.ErrTrimmed) {
		lessons, err = p.lessons(ctx, 0, next)
	}
	return lessons, err
}

// nameOrigins finds the messages of examples that a kernel learner keeps by their vectors
// alone, among those learnt lately.
func nameOrigins(ctx context.Context, past Past, vectors *writer.Vectors, next uint64, some []pull) error {
	if !slices.ContainsFunc(some, func(p pull) bool { return p.Vector != nil }) {
		return nil
	}
	lessons, err := past.recent(ctx, next)
	if err != nil {
		return err
	}
	for _, l := range slices.Backward(lessons) {
		x, err := vectors.Vector(l.Message, nil)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return err
		}
		if len(x) > 0 && x[0].Index == model.Affine {
			x = x[1:]
		}
		for i := range some {
			if p := &some[i]; p.Vector != nil && p.Message == (store.MessageKey{}) && slices.Equal(p.Vector, x) {
				p.Message = l.Message
			}
		}
	}
	return nil
}

// dateOrigins says when the messages arrived and what the owner did with them.
func dateOrigins(ctx context.Context, a Account, some []pull) error {
	return a.Look(ctx, func(d *Desk) error {
		for i := range some {
			p := &some[i]
			m, known := d.Filter.State().Messages.Get(string(p.Message[:]))
			if !known {
				continue
			}
			p.at = m.Arrived
			if m.Label == p.Label {
				p.source = m.Source
			}
		}
		return nil
	})
}

// describePull says which message a lesson was about.
func describePull(vectors *writer.Vectors, p pull) (LessonPull, error) {
	out := LessonPull{At: TimeOf(p.at), Label: p.Label.String(), Pull: p.Pull}
	if p.Message == (store.MessageKey{}) {
		return out, nil
	}
	out.Message = hexKey(p.Message)
	if p.source != store.SourceNone {
		out.Source = p.source.String()
	}
	x, err := vectors.Named(p.Message)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return out, nil // its words are gone
	case err != nil:
		return out, err
	}
	gist := words.GistOf(x)
	out.From, out.Subject = gist.From, gist.Subject
	return out, nil
}
