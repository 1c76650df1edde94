// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Ask finds the messages whose labels would teach most.
var Ask = offer(Verb[AskRequest, Questions]{
	Name: "ask", do: ofAccount(ask),
	API: &API{Summary: "The messages whose labels would teach most", Reads: true},
})

// AskRequest says which questions are wanted.
type AskRequest struct {
	Since time.Time `json:"since"`                                               // about messages that arrived then or later; all that are kept if absent
	Most  int       `json:"most" jsonschema:"default=10,minimum=1,maximum=1000"` // so many at most
	// Teach also finds out what each answer would teach.
	Teach bool `json:"teach,omitempty"`
}

// Questions is what `hinged learn` prints where no message is named.
type Questions struct {
	Account   string     `json:"account"`       // Account is the account that the messages belong to.
	Since     time.Time  `json:"since"`         // Since is the earliest arrival of a message that may be asked about.
	Threshold float64    `json:"threshold"`     // Threshold is the current threshold: a message with a higher score is important.
	Questions []Question `json:"questions"`     // Questions are about the messages whose labels would teach most, best first.
	Why       string     `json:"why,omitempty"` // Why says in words why there are no questions.
	// Compared is the number of recent messages that answers are tried on: the newest
	// ones of the last 28 days, at most 200. Only in answers about teach.
	Compared int `json:"compared,omitempty"`
}

// Question is one message that the owner may label.
type Question struct {
	Message string     `json:"message"`           // Message is the key of the message, in hexadecimal.
	Arrived *time.Time `json:"arrived,omitempty"` // Arrived is when the message arrived, according to the mail server.
	From    string     `json:"from,omitempty"`    // From is the sender's address; absent if the words of the message are not kept.
	// Facts say in words how the message was addressed, what it is in its thread and
	// which list it came through.
	Facts   []string `json:"facts,omitempty"`
	Subject []string `json:"subject,omitempty"` // Subject has words of the subject, possibly in another order.
	Outcome string   `json:"outcome"`           // Outcome is what hinged calls the message now: important, unsure or ordinary.
	Score   float64  `json:"score"`             // Score is the score with the current weights.
	// OutcomeThen is the decision at arrival.
	OutcomeThen string   `json:"outcome_at_arrival"`
	ScoreThen   float64  `json:"score_at_arrival"` // ScoreThen is the score at arrival.
	Marked      bool     `json:"marked"`           // Marked reports whether hinged has set a mark on the message or is about to.
	Label       string   `json:"label,omitempty"`  // Label is what was learnt from silence about the message; absent if nothing was.
	For         []string `json:"for"`              // For lists what speaks for the message, in a few words each, as in explain.
	Against     []string `json:"against"`          // Against lists what speaks against the message.
	// Teach says what each answer would teach; only if the request asks for it.
	Teach []Teaching `json:"teach,omitempty"`

	key    store.MessageKey
	vector model.Vector
}

// AskDays is of how many days mail is asked about if nobody says otherwise.
const AskDays = 28

// MostInvited is how many questions an owner is invited to answer at a time.
const MostInvited = 3

// Invitation says in a sentence what the owner can do as long as nothing is marked; "" once
// marks are set, or if there is nothing to ask about.
func (s *AccountStatus) Invitation() string {
	if s.Questions == 0 {
		return ""
	}
	n := [...]string{"a question", "2 questions", "3 questions"}[min(s.Questions, MostInvited)-1]
	return fmt.Sprintf("hinged marks nothing yet. Answer %s: hinged learn --account %s", n, s.Account)
}

// askAtOnce is how many messages are scored in one turn of the account's writer.
const askAtOnce = 500

// ask reads the messages outside of Look: only their scores wait for the account's writer.
func ask(ctx context.Context, a Account, q AskRequest) (out Questions, err error) {
	var past Past
	var found filter.Questions
	err = a.Look(ctx, func(d *Desk) error {
		f := d.Filter
		past = d.Past
		out = Questions{Account: d.Account, Since: q.Since.UTC(), Threshold: f.Status.Counts().Threshold, Questions: []Question{}}
		if f.State().Account.Paused {
			out.Why = "the account is paused and learns nothing; `hinged resume` ends that"
			return nil
		}
		found = f.Messages.Askable(store.MomentOf(q.Since))
		return nil
	})
	if err != nil || out.Why != "" {
		return out, err
	}
	vectors := writer.NewVectors(past.Store, past.Account)
	scored, lost, err := scoresOf(ctx, a, vectors, found.Messages)
	if err != nil {
		return out, err
	}
	var best []store.MessageKey
	err = a.Look(ctx, func(d *Desk) error {
		best = d.Filter.Messages.Choose(max(q.Most, 0), scored)
		return nil
	})
	if err != nil {
		return out, err
	}
	features := make([]*featurize.Features, len(best))
	for i, k := range best {
		if features[i], err = vectors.Features(k); err != nil {
			return out, err
		}
	}
	err = a.Look(ctx, func(d *Desk) error {
		for i, k := range best {
			if !d.Filter.Messages.SpokenOf(k) {
				out.Questions = append(out.Questions, QuestionOf(d.Filter, k, features[i]))
			}
		}
		if len(out.Questions) == 0 {
			out.Why = nothingToAsk(d.Filter, found, lost)
		}
		return nil
	})
	if err == nil && q.Teach {
		err = out.teach(ctx, a, vectors)
	}
	return out, err
}

// scoresOf returns the messages with their scores, in their order, without the lost ones
// whose features are no longer kept.
func scoresOf(ctx context.Context, a Account, vectors *writer.Vectors, keys []store.MessageKey) (all []filter.Scored, lost int, err error) {
	for len(keys) > 0 {
		n := min(len(keys), askAtOnce)
		xs := make([]model.Vector, n)
		for i, k := range keys[:n] {
			if xs[i], err = vectors.Vector(k, nil); errors.Is(err, store.ErrNotFound) {
				lost++
			} else if err != nil {
				return nil, lost, err
			}
			if err := ctx.Err(); err != nil {
				return nil, lost, err
			}
		}
		err := a.Look(ctx, func(d *Desk) error {
			for i, x := range xs {
				if x != nil {
					all = append(all, filter.Scored{Message: keys[i], Score: d.Filter.Learning().Score(x)})
				}
			}
			return nil
		})
		if err != nil {
			return nil, lost, err
		}
		keys = keys[n:]
	}
	return all, lost, nil
}

// QuestionOf describes a message that the owner may label. Its score and its outcome are
// those of now.
func QuestionOf(f *filter.Filter, k store.MessageKey, x *featurize.Features) Question {
	m, _ := f.State().Messages.Get(string(k[:]))
	gist := words.GistOf(x)
	score := f.Learning().Score(x.Vector())
	why := words.ReasonsOf(x, f.Explainer.Parts(x), f.People.Correspondence(m.Sender), false)
	out := Question{
		For: words.Texts(why.For), Against: words.Texts(why.Against),
		Message: hexKey(k), Arrived: TimeOf(m.Arrived),
		From: gist.From, Facts: gist.Facts, Subject: gist.Subject,
		Outcome: f.Line().Called(score).String(), Score: score, OutcomeThen: m.Outcome.String(), ScoreThen: m.Score,
		Marked: f.Ledger().Marked(k), key: k, vector: x.Vector(),
	}
	if m.Label != 0 {
		out.Label = m.Label.String()
	}
	return out
}

// nothingToAsk returns the reason why there is no question.
func nothingToAsk(f *filter.Filter, found filter.Questions, lost int) string {
	if found.Seen == 0 {
		last := f.State().Account.LastArrival
		if last == 0 {
			return "no mail has come yet"
		}
		return fmt.Sprintf("no mail has come since then; the last came on %s", last.Time().UTC().Format("2006-01-02 15:04 UTC"))
	}
	var parts []string
	part := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	part(found.Labelled, "you have already judged by what you did")
	part(found.Ruled, "your rules decided")
	part(found.TeachNothing, "teach nothing (your own mail, and mail in folders such as Junk and Trash)")
	part(lost, "are too old: hinged no longer keeps their words")
	return fmt.Sprintf("of %d messages since then %s", found.Seen, strings.Join(parts, ", "))
}

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
