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
}

// Questions is what `hinged learn` prints where no message is named.
type Questions struct {
	Account   string     `json:"account"`       // Account is the account that the messages belong to.
	Since     time.Time  `json:"since"`         // Since is the earliest arrival of a message that may be asked about.
	Threshold float64    `json:"threshold"`     // Threshold is the current threshold: a message with a higher score is important.
	Questions []Question `json:"questions"`     // Questions are about the messages whose labels would teach most, best first.
	Why       string     `json:"why,omitempty"` // Why says in words why there are no questions.
}

// Question is one message that the owner may label.
type Question struct {
	MessageSummary
	OutcomeNow string `json:"outcome_now"` // OutcomeNow is what hinged calls the message now: important, unsure or ordinary.
}

// AskDays is of how many days mail is asked about if nobody says otherwise.
const AskDays = 28

// MostInvited is how many questions an owner is invited to answer at a time.
const MostInvited = 3

// Invitation says in a sentence what the owner can do as long as nothing is marked; "" once
// marks are set, or if there is nothing to ask about.
func (s *AccountStatus) Invitation() string {
	if s.Questions == 0 || s.Shadow == string(filter.ShadowOn) || !s.InShadow && s.KnownImportant > 0 && s.Ordinary > 0 {
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

// QuestionOf describes a message that the owner may label.
func QuestionOf(f *filter.Filter, k store.MessageKey, x *featurize.Features) Question {
	m, _ := f.State().Messages.Get(string(k[:]))
	out := Question{MessageSummary: summarise(f, k, &m, x)}
	out.OutcomeNow = f.Line().Called(out.Score).String()
	return out
}

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
