// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Label gives messages a label, in order. What is wrong with one of them is said in
// its Lesson and stops none of the others. ErrPaused: the account learns nothing now.
var Label = offer(Verb[LabelRequest, Lessons]{
	Name: "label", do: ofAccount(label),
	API: &API{Summary: "Give feedback: say of messages that they are important or ordinary", Whole: true},
})

// LabelRequest is a label for some messages.
type LabelRequest struct {
	Label    string    `json:"label" jsonschema:"required,enum=important,enum=ordinary"` // "important" or "ordinary"
	Messages []Message `json:"messages" jsonschema:"required,minItems=1,maxItems=1000"`  // the messages that get the label, in order
}

// What became of a message that was to be learnt.
const (
	LessonLearnt  = "learnt"
	LessonKnown   = "known" // that label was learnt before; nothing changed
	LessonRefused = "refused"
	LessonSent    = "sent" // handed to the input topic, whose reader learns it
)

// Lesson is what one message taught.
type Lesson struct {
	Name    string   `json:"name"`              // Name is the Message-ID, key or file as it was given.
	Message string   `json:"message,omitempty"` // Message is the key of the message, in hexadecimal.
	Others  []string `json:"others,omitempty"`  // Others are the keys of other messages that have the requested Message-ID.
	// Result is learnt, known (that label was already learnt, so nothing changed),
	// refused, or sent (written to the input topic, to be learnt from there).
	Result  string  `json:"result"`
	Why     string  `json:"why,omitempty"` // Why says in words why the message was refused.
	New     bool    `json:"new,omitempty"` // New reports whether the content was unknown before.
	Before  float64 `json:"score_before"`  // Before is the score before the lesson, after any earlier label of the message was taken back.
	Shown   float64 `json:"score_shown"`   // Shown is the score before the label, as lists show it; 0 if the content was unknown.
	After   float64 `json:"score_after"`   // After is the score after the lesson.
	Mistake bool    `json:"mistake"`       // Mistake reports whether score_before was on the wrong side of 0, or exactly 0.
	// Marked reports whether hinged has set a mark on the message or is about to, as it is
	// after the lesson: important sets the mark, ordinary takes it off.
	Marked      bool `json:"marked"`
	MarkChanged bool `json:"mark_changed"` // MarkChanged reports whether the lesson sets or takes off the mark.
}

// MarkWords says what the lesson does to the mark.
func (l *Lesson) MarkWords() string {
	if l.Marked {
		return "hinged marks it"
	}
	return "hinged takes its mark off"
}

// Lessons is what `hinged learn` prints.
type Lessons struct {
	Account  string   `json:"account"`        // Account is the account that learnt.
	Label    string   `json:"label"`          // Label is "important" or "ordinary".
	Learnt   int      `json:"learnt"`         // Learnt counts new lessons.
	Known    int      `json:"known"`          // Known counts messages whose label was already learnt.
	Sent     int      `json:"sent,omitempty"` // Sent counts lessons that were written to the input topic.
	Refused  int      `json:"refused"`        // Refused counts messages that can't be learnt.
	Mistakes int      `json:"mistakes"`       // Mistakes counts lessons whose score was on the wrong side of 0, or exactly 0.
	Lessons  []Lesson `json:"lessons"`        // Lessons are in the order in which the messages were given.
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

// given is a message whose content was read.
type given struct {
	name    string
	message *featurize.Message // nil without content
}

// label reads contents outside of Change: that takes its time.
func label(ctx context.Context, a Account, q LabelRequest) (out Lessons, err error) {
	label := model.Important
	if q.Label == model.Ordinary.String() {
		label = model.Ordinary
	} else if q.Label != label.String() {
		return out, fmt.Errorf("label %q is neither important nor ordinary", q.Label)
	}
	r, err := a.Reader(ctx)
	if err != nil {
		return out, err
	}
	all := make([]given, len(q.Messages))
	for i, m := range q.Messages {
		if all[i].name = m.Name; m.Content != nil {
			if all[i].message, err = r.Read(ctx, r.Cut(*m.Content)); err != nil {
				return out, err
			}
		}
	}
	out = Lessons{Label: q.Label, Lessons: []Lesson{}}
	if to, sends := a.(Sender); sends {
		err = sendLabels(ctx, a, to, label, all, &out)
		return out, err
	}
	err = a.Change(ctx, func(d *Desk) error {
		out.Account = d.Account
		if st := d.Filter.State().Account; st.Paused {
			return fmt.Errorf("%w since %s and learns nothing; `hinged resume` ends it", ErrPaused, st.PausedSince.Time().Format("2006-01-02 15:04:05 UTC"))
		}
		for _, g := range all {
			l, err := d.label(label, g)
			if err != nil {
				return err
			}
			out.count(l)
		}
		return nil
	})
	return out, err
}

func sendLabels(ctx context.Context, a Account, to Sender, label model.Label, all []given, out *Lessons) error {
	var events []kafka.Event
	err := a.Look(ctx, func(d *Desk) error {
		out.Account = d.Account
		for _, g := range all {
			l, k, m, err := d.lesson(g)
			switch {
			case err != nil:
				return err
			case l.Why != "":
			case l.New:
				l.Why = "it has not come through the input topic, or was forgotten"
			case m.Own:
				l.Why = ownMail
			default:
				l.Result = LessonSent
				events = append(events, kafka.Feedback{Ref: kafka.Ref{Key: kafka.Key(k)}, Label: label == model.Important, Source: "explicit"})
			}
			out.count(l)
		}
		return nil
	})
	if err == nil && len(events) > 0 {
		err = send(ctx, to, events...)
	}
	return err
}

func (l *Lessons) count(one Lesson) {
	switch one.Result {
	case LessonLearnt:
		l.Learnt++
	case LessonKnown:
		l.Known++
	case LessonSent:
		l.Sent++
	default:
		l.Refused++
	}
	if one.Mistake {
		l.Mistakes++
	}
	l.Lessons = append(l.Lessons, one)
}

const ownMail = "it is the owner's own mail, which teaches nothing"

// lesson begins a lesson, refused so far, with what is known of its message. Why says
// that nothing is.
func (d *Desk) lesson(g given) (l Lesson, k store.MessageKey, m store.Message, err error) {
	l = Lesson{Name: g.name, Result: LessonRefused}
	if g.message != nil {
		k = store.MessageKey(g.message.Key)
	} else if k, err = findMessage(d.Filter, g.name); err != nil {
		if errors.Is(err, ErrNoMessage) {
			l.Why, err = err.Error(), nil
		}
		return l, k, m, err
	}
	m, known := d.Filter.State().Messages.Get(string(k[:]))
	if g.message == nil {
		l.Others = othersOf(d.Filter, g.name, k)
	}
	l.Message, l.New, l.Marked = hexKey(k), !known, d.Filter.Ledger().Marked(k)
	return l, k, m, nil
}

// label gives one message a label. After an error the account can't go on.
func (d *Desk) label(label model.Label, g given) (Lesson, error) {
	l, k, m, err := d.lesson(g)
	if err != nil || l.Why != "" {
		return l, err
	}
	switch {
	case m.Own || g.message != nil && (g.message.Own() || l.New && g.message.FromOwner):
		l.Why = ownMail
		return l, nil
	case m.Outcome == store.Undecided && g.message == nil:
		l.Why = "hinged doesn't keep its words (it is in a folder whose mail is not decided, or is too old); name a file with the message"
		return l, nil
	case m.Outcome != store.Undecided:
		x, err := d.Filter.Explainer.Features(k)
		if errors.Is(err, store.ErrNotFound) {
			l.Why = "it is too old: hinged no longer keeps its words"
			return l, nil
		} else if err != nil {
			return l, err
		}
		l.Shown = d.Filter.Learning().Score(x.Vector())
	}
	e := &filter.Labelled{At: d.Now(), Label: label}
	if m.Outcome == store.Undecided {
		e.Handed = &filter.Arrived{Meta: filter.NewMeta(g.message), Message: g.message}
	} else {
		e.Message = k
	}
	r, err := d.Apply(e)
	if err != nil {
		return l, err
	}
	was := l.Marked
	l.Marked = d.Filter.Ledger().Marked(k)
	l.Result, l.MarkChanged = LessonKnown, l.Marked != was
	for _, lesson := range r.Lessons {
		if lesson.Message == k && lesson.Source == store.SourceExplicit {
			l.Result, l.Before = LessonLearnt, lesson.Score
			l.Mistake = d.Filter.Options().Learner.Zero.Mistake(lesson.Label, lesson.Score)
		}
	}
	x, err := d.Filter.Explainer.Features(k)
	if err != nil {
		return l, err
	}
	if l.After = d.Filter.Learning().Score(x.Vector()); l.Result == LessonKnown {
		l.Before = l.After
	}
	return l, nil
}

// Words say what one message taught.
func (l Lesson) Words(label string) string {
	if others := OthersWords(l.Message, l.Others); others != "" {
		l.Name += " (" + others + ")"
	}
	mark, again := "", "; nothing changed"
	if l.MarkChanged {
		mark = "; " + l.MarkWords()
		again = mark
	}
	switch l.Result {
	case LessonLearnt:
		return fmt.Sprintf("%s: learnt as %s, score %+.3f → %+.3f%s", l.Name, label, l.Before, l.After, mark)
	case LessonKnown:
		return fmt.Sprintf("%s: learnt as %s before%s, score %+.3f", l.Name, label, again, l.After)
	case LessonSent:
		return fmt.Sprintf("%s: handed to the input topic, to be learnt as %s in its turn", l.Name, label)
	default:
		return fmt.Sprintf("%s: not learnt: %s", l.Name, l.Why)
	}
}

// Words sum up what several messages taught.
func (l *Lessons) Words() string {
	s := fmt.Sprintf("%d messages: %d learnt as %s", len(l.Lessons), l.Learnt, l.Label)
	if l.Sent > 0 {
		s += fmt.Sprintf(", %d handed to the input topic", l.Sent)
	}
	if l.Known > 0 {
		s += fmt.Sprintf(", %d learnt before", l.Known)
	}
	if l.Refused > 0 {
		s += fmt.Sprintf(", %d not learnt", l.Refused)
	}
	return s
}
