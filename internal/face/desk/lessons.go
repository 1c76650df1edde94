// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// GetLessons lists what was learnt last.
var GetLessons = offer(Verb[LessonsRequest, LessonList]{
	Name: "lessons", do: ofAccount(getLessons),
	API: &API{Summary: "What was learnt last", Reads: true},
})

// LessonsRequest says which lessons to list. The zero value means the newest 20.
type LessonsRequest struct {
	Most    int  `json:"most,omitempty" jsonschema:"minimum=0"` // Most is how many lessons to list at most; 0: 20, and never more than 200.
	ByOwner bool `json:"by_owner,omitempty"`                    // ByOwner leaves out what was learnt from silence.
}

// LessonList has the last lessons of an account.
type LessonList struct {
	Account   string          `json:"account"`          // Account is the account that learnt.
	Important uint64          `json:"learnt_important"` // Important counts all lessons with the label important, as in status.
	Ordinary  uint64          `json:"learnt_ordinary"`  // Ordinary counts all lessons with the label ordinary.
	Lessons   []LessonSummary `json:"lessons"`          // Lessons are listed newest first.
}

// LessonSummary is one lesson in a list.
type LessonSummary struct {
	Number   uint64     `json:"number"`                 // Number is the number of the lesson in the order of learning; some numbers are left out.
	At       *time.Time `json:"at,omitempty"`           // At is when the lesson was learnt.
	Message  string     `json:"message"`                // Message is the key of the message, in hexadecimal.
	From     string     `json:"from,omitempty"`         // From is the sender's address; absent if the words of the message are not kept.
	Subject  []string   `json:"subject,omitempty"`      // Subject has words of the subject, possibly in another order.
	Label    string     `json:"label"`                  // Label is the label that was learnt: important or ordinary.
	Source   string     `json:"label_source"`           // Source is where the label came from: what the owner did, or silence.
	Score    float64    `json:"score_before"`           // Score is the score before the lesson, after any earlier label of the message was taken back.
	After    float64    `json:"score_after"`            // After is the score right after the lesson, but for limits and rules.
	Now      float64    `json:"score_now"`              // Now is the score with the current weights.
	Weight   float64    `json:"weight"`                 // Weight is how much the lesson counts; what the owner says in so many words counts most.
	Former   string     `json:"former_label,omitempty"` // Former is the label that the message had before; absent if it had none.
	Replaced bool       `json:"replaced"`               // Replaced reports whether a later label of the message took the place of this one.
	Mistake  bool       `json:"mistake"`                // Mistake reports whether score_before was on the wrong side of 0, or exactly 0.
	Loss     float64    `json:"hinge_loss"`             // Loss is the hinge loss of the lesson.
	Outcome  string     `json:"outcome"`                // Outcome is the decision at arrival: important, unsure, ordinary or undecided.
	Marked   bool       `json:"marked"`                 // Marked reports whether a mark of hinged is on the message or about to be.
	Wrong    bool       `json:"wrong"`                  // Wrong reports whether the decision at arrival was wrong: important and learnt as ordinary, or learnt as important and not decided so.
}

const (
	lessonsUsual = 20
	lessonsMost  = 200
	// lessonStride is how many lessons are read from the log at once, the last ones first.
	lessonStride = 256
	// lessonsBack is how far back lessons of the owner's own are looked for.
	lessonsBack = 4096
)

// getLessons reads the log outside of Look: only what the lessons are worth now waits
// for the account's writer.
func getLessons(ctx context.Context, a Account, q LessonsRequest) (out LessonList, err error) {
	most := min(max(q.Most, 0), lessonsMost)
	if most == 0 {
		most = lessonsUsual
	}
	var past Past
	var next uint64
	err = a.Look(ctx, func(d *Desk) error {
		past, next = d.Past, d.Filter.State().LessonNext()
		return nil
	})
	if err != nil {
		return out, err
	}
	lessons, err := past.lastLessons(ctx, next, most, q.ByOwner)
	if err != nil {
		return out, err
	}
	vectors := writer.NewVectors(past.Store, past.Account)
	features := make([]*featurize.Features, len(lessons))
	for i, l := range lessons {
		x, err := vectors.Features(l.Message)
		if err == nil {
			features[i] = x
		} else if !errors.Is(err, store.ErrNotFound) {
			return out, err
		}
	}
	err = a.Look(ctx, func(d *Desk) error {
		acc := &d.Filter.State().Account
		out = LessonList{Account: d.Account, Important: acc.Important, Ordinary: acc.Ordinary, Lessons: []LessonSummary{}}
		for i, l := range lessons {
			out.Lessons = append(out.Lessons, d.summariseLesson(l, features[i]))
		}
		return nil
	})
	return out, err
}

// lastLessons returns the last lessons with a number below next, the newest first.
func (p Past) lastLessons(ctx context.Context, next uint64, most int, byOwner bool) ([]store.Lesson, error) {
	var out []store.Lesson
	for end, back := next, uint64(0); end > 1 && len(out) < most && back < lessonsBack; {
		from := max(end, lessonStride+1) - lessonStride
		some, err := p.lessons(ctx, from, end)
		trimmed := errors.Is(err, store.ErrTrimmed)
		if trimmed {
			some, err = p.lessons(ctx, 0, end)
		}
		if err != nil {
			return nil, err
		}
		for _, l := range slices.Backward(some) {
			if len(out) < most && l.Learnt() && (!byOwner || l.Source > store.SourceSilence) {
				out = append(out, l)
			}
		}
		if trimmed {
			break
		}
		back += end - from
		end = from
	}
	return out, nil
}

// lessons returns the lessons with numbers from from on, below end. 0 is the oldest.
func (p Past) lessons(ctx context.Context, from, end uint64) (out []store.Lesson, err error) {
	for l, err := range p.Store.Lessons(p.Account, from) {
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case l.Order >= end:
			return out, nil
		}
		out = append(out, l)
	}
	return out, nil
}

// summariseLesson says what a lesson did. x are the features of its message; nil: they
// are no longer kept.
func (d *Desk) summariseLesson(l store.Lesson, x *featurize.Features) LessonSummary {
	f := d.Filter
	m, known := f.State().Messages.Get(string(l.Message[:]))
	out := LessonSummary{
		Number: l.Order, At: TimeOf(l.At), Message: hexKey(l.Message), Label: l.Label.String(), Source: l.Source.String(),
		Score: l.Score, After: l.Score, Now: l.Score, Weight: l.Weight, Outcome: l.Outcome.String(), Marked: f.Ledger().Marked(l.Message),
		Mistake: f.Options().Learner.Zero.Mistake(l.Label, l.Score), Loss: model.HingeLoss(l.Label, l.Score),
		Replaced: known && (m.Label != l.Label || m.Source != l.Source),
	}
	_, out.Wrong = filter.Judged(&store.Message{Outcome: l.Outcome, Label: l.Label})
	if l.Before != 0 {
		out.Former = l.Before.String()
	}
	if x != nil {
		gist := words.GistOf(x)
		out.From, out.Subject = gist.From, gist.Subject
		out.After += float64(l.Step * f.Explainer.SquaredNorm(x))
		out.Now = f.Learning().Score(x.Vector())
	}
	return out
}
