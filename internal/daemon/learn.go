package daemon

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Teach is a label for some messages.
type Teach struct {
	Label    string   `json:"label"` // "important" or "ordinary"
	Messages []Handed `json:"messages"`
}

// Handed is one message to learn: by its content when there is any, else by what
// it is known as.
type Handed struct {
	// Name is a Message-ID, the hexadecimal key of a message or the beginning of
	// one, at least 8 digits; with Content, only what the report calls it.
	Name string `json:"name"`
	// Content is the raw message. It need not be known.
	Content []byte `json:"content,omitempty"`
	// HasContent tells an empty message from one that is known by name.
	HasContent bool `json:"has_content,omitempty"`
}

// What became of a message that was to be learnt.
const (
	LessonLearnt  = "learnt"
	LessonKnown   = "known" // that label was learnt before; nothing changed
	LessonRefused = "refused"
	LessonSent    = "sent" // handed to the input topic, whose reader learns it
)

// Lesson says what one message taught.
type Lesson struct {
	// Name is the Message-ID, key or file as it was asked for.
	Name string `json:"name"`
	// Message is its key, in hexadecimal.
	Message string `json:"message,omitempty"`
	// Result is learnt, known (that label was learnt before; nothing changed),
	// refused, or sent (handed to the input topic, to be learnt in its turn).
	Result string `json:"result"`
	// Why it was refused, in words.
	Why string `json:"why,omitempty"`
	// New: the content was not known before.
	New bool `json:"new,omitempty"`
	// Before is its score before the lesson, with whatever was learnt of it earlier taken
	// back.
	Before float64 `json:"score_before"`
	// After is its score after the lesson.
	After float64 `json:"score_after"`
	// Mistake: the score before it was on the wrong side of zero, or zero.
	Mistake bool `json:"mistake"`
	// Marked: a mark that hinged set is on it, or about to be. A lesson does not
	// take it off.
	Marked bool `json:"marked"`
}

// Lessons is what `hinged learn` shows.
type Lessons struct {
	// Account that learnt.
	Account string `json:"account"`
	// Label is "important" or "ordinary".
	Label string `json:"label"`
	// Learnt counts new lessons.
	Learnt int `json:"learnt"`
	// Known counts messages that were learnt with that label before.
	Known int `json:"known"`
	// Sent counts lessons that were handed to the input topic.
	Sent int `json:"sent,omitempty"`
	// Refused counts messages that can't be learnt.
	Refused int `json:"refused"`
	// Mistakes counts lessons whose score was on the wrong side of zero, or zero.
	Mistakes int `json:"mistakes"`
	// Lessons are in the order in which they were asked for.
	Lessons []Lesson `json:"lessons"`
}

// Add appends what more was taught.
func (l *Lessons) Add(more Lessons) {
	l.Account, l.Label = more.Account, more.Label
	l.Learnt += more.Learnt
	l.Known += more.Known
	l.Sent += more.Sent
	l.Refused += more.Refused
	l.Mistakes += more.Mistakes
	l.Lessons = append(l.Lessons, more.Lessons...)
}

// handed is a Handed whose content was read.
type handed struct {
	Handed
	message *featurize.Message // nil without content
}

// read reads the contents of t, which takes long enough not to be done in the
// writer goroutine.
func (t Teach) read(o featurize.Options) (model.Label, []handed, error) {
	var label model.Label
	switch t.Label {
	case model.Important.String():
		label = model.Important
	case model.Ordinary.String():
		label = model.Ordinary
	default:
		return 0, nil, fmt.Errorf("label %q is neither important nor ordinary", t.Label)
	}
	reader, err := featurize.New(o)
	if err != nil {
		return 0, nil, err
	}
	all := make([]handed, len(t.Messages))
	for i, h := range t.Messages {
		all[i].Handed = h
		if h.HasContent {
			// Cut as a source cuts it, so that it has the same key.
			all[i].message = reader.Read(h.Content[:min(len(h.Content), o.MaxBytes)])
			all[i].Content = nil
		}
	}
	return label, all, nil
}

// learn gives messages a label and commits. It runs in the writer goroutine, or
// where there is none.
func (a *account) learn(label model.Label, all []handed) (Lessons, error) {
	out := Lessons{Account: a.opts.Name, Label: label.String(), Lessons: []Lesson{}}
	if since := a.filter.State().Account.PausedSince; a.filter.State().Account.Paused {
		return out, fmt.Errorf("%w since %s and learns nothing; `hinged resume` ends it", ErrPaused, since.Time().Format("2006-01-02 15:04:05 UTC"))
	}
	for _, h := range all {
		l, err := a.learnOne(label, h)
		if err != nil {
			return out, err
		}
		switch l.Result {
		case LessonLearnt:
			out.Learnt++
		case LessonKnown:
			out.Known++
		default:
			out.Refused++
		}
		if l.Mistake {
			out.Mistakes++
		}
		out.Lessons = append(out.Lessons, l)
	}
	return out, a.commit()
}

// learnOne gives one message a label. An error means that the account cannot go
// on.
func (a *account) learnOne(label model.Label, h handed) (Lesson, error) {
	l := Lesson{Name: h.Name, Result: LessonRefused}
	var k store.MessageKey
	if h.message != nil {
		k = store.MessageKey(h.message.Key)
	} else {
		var err error
		if k, err = findMessage(a.filter.State(), h.Name); errors.Is(err, ErrNoMessage) {
			l.Why = err.Error()
			return l, nil
		} else if err != nil {
			return l, err
		}
	}
	l.Message = hex.EncodeToString(k[:])
	m, known := a.filter.State().Messages.Get(string(k[:]))
	l.New, l.Marked = !known, a.filter.Marked(k)
	switch {
	case m.Own || h.message != nil && h.message.Own:
		l.Why = "it is the owner's own mail, which teaches nothing"
		return l, nil
	case m.Outcome == store.Undecided && h.message == nil:
		l.Why = "its words are not kept (it lies in a folder whose mail is not decided, or is too old); give the message itself, as a file"
		return l, nil
	case m.Outcome != store.Undecided:
		if _, err := a.work.Features(k); errors.Is(err, store.ErrNotFound) {
			l.Why = "it is too old: its words are not kept any more"
			return l, nil
		} else if err != nil {
			return l, err
		}
	}
	var e filter.Event = &filter.Labelled{At: a.clock.now(), Message: k, Label: label}
	if m.Outcome == store.Undecided {
		e = &filter.Taught{At: a.clock.now(), Label: label, Meta: filter.NewMeta(h.message), Message: h.message}
	}
	before := len(a.work.Lessons())
	if err := a.change(e); err != nil {
		return l, err
	}
	l.Result = LessonKnown
	for _, lesson := range a.work.Lessons()[before:] {
		if lesson.Message == k && lesson.Source == store.SourceExplicit {
			l.Result, l.Before = LessonLearnt, lesson.Score
			l.Mistake = a.filter.Options().Learner.Zero.Mistake(lesson.Label, lesson.Score)
		}
	}
	x, err := a.work.Features(k)
	if err != nil {
		return l, err
	}
	if l.After = a.filter.Score(x); l.Result == LessonKnown {
		l.Before = l.After
	}
	return l, nil
}

// Learn implements Backend.
func (d *Daemon) Learn(ctx context.Context, name string, t Teach) (out Lessons, err error) {
	if stream.IsAccount(name) {
		return d.sendFeedback(ctx, name, t)
	}
	a, err := d.account(name)
	if err != nil {
		return out, err
	}
	label, all, err := t.read(a.opts.Filter.Featurize)
	if err != nil {
		return out, err
	}
	err = a.do(ctx, func() error {
		out, err = a.learn(label, all)
		return err
	})
	return out, err
}

// Learn implements Backend.
func (c *Client) Learn(ctx context.Context, name string, t Teach) (Lessons, error) {
	return post[Lessons](ctx, c, "/v1/learn", name, t)
}

// Learn implements Backend.
func (o *Offline) Learn(_ context.Context, name string, t Teach) (out Lessons, err error) {
	err = o.write(name, func(a *account) error {
		label, all, err := t.read(a.opts.Filter.Featurize)
		if err != nil {
			return err
		}
		out, err = a.learn(label, all)
		return err
	})
	return out, err
}
