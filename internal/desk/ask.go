// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"fmt"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/reason"
	"github.com/hinged/hinged/store"
)

// Ask finds the messages whose labels would teach most.
var Ask = see("ask", Logs, (*Desk).ask)

// AskRequest says which questions are wanted.
type AskRequest struct {
	Since time.Time `json:"since"` // about messages that arrived then or later
	Most  int       `json:"most"`  // so many at most
}

// Questions is what `hinged ask` prints.
type Questions struct {
	Account   string     `json:"account"`       // Account is the account that the messages belong to.
	Since     time.Time  `json:"since"`         // Since is the earliest arrival of a message that may be asked about.
	Threshold float64    `json:"threshold"`     // Threshold is the current threshold: a message with a higher score is important.
	Questions []Question `json:"questions"`     // Questions are about the messages whose labels would teach most, best first.
	Why       string     `json:"why,omitempty"` // Why says in words why there are no questions.
}

// Question is one message that the owner may label.
type Question struct {
	Message string     `json:"message"`           // Message is the key of the message, in hexadecimal.
	Arrived *time.Time `json:"arrived,omitempty"` // Arrived is when the message arrived, according to the mail server.
	From    string     `json:"from,omitempty"`    // From is the sender's address; absent if the words of the message are not kept.
	// Facts say in words how the message was addressed, what it is in its thread and
	// which list it came through.
	Facts     []string `json:"facts,omitempty"`
	Subject   []string `json:"subject,omitempty"` // Subject has words of the subject, possibly in another order.
	Outcome   string   `json:"outcome"`           // Outcome is the decision at arrival: important, unsure or ordinary.
	ScoreThen float64  `json:"score_at_arrival"`  // ScoreThen is the score at arrival.
	Score     float64  `json:"score"`             // Score is the score with the current weights.
	Marked    bool     `json:"marked"`            // Marked reports whether hinged has set a mark on the message or is about to.
	Label     string   `json:"label,omitempty"`   // Label is what was learnt from silence about the message; absent if nothing was.
	For       []string `json:"for"`               // For lists what speaks for the message, in a few words each, as in explain.
	Against   []string `json:"against"`           // Against lists what speaks against the message.
}

func (d *Desk) ask(q AskRequest) (Questions, error) {
	f := d.Filter
	out := Questions{Account: d.Account, Since: q.Since.UTC(), Threshold: f.Counts().Threshold, Questions: []Question{}}
	if a := f.State().Account; a.Paused {
		out.Why = "the account is paused and learns nothing; `hinged resume` ends that"
		return out, nil
	}
	found, err := f.Ask(max(q.Most, 0), store.MomentOf(q.Since))
	if err != nil {
		return out, err
	}
	for _, k := range found.Messages {
		x, err := f.Features(k)
		if err != nil {
			return out, err
		}
		m, _ := f.State().Messages.Get(string(k[:]))
		gist := x.Gist()
		why := reason.Of(x, f.Parts(x), f.Correspondence(m.Sender), false)
		question := Question{
			For: reason.Texts(why.For), Against: reason.Texts(why.Against),
			Message: hexKey(k), Arrived: TimeOf(m.Arrived),
			From: gist.From, Facts: gist.Facts, Subject: gist.Subject,
			Outcome: m.Outcome.String(), ScoreThen: m.Score, Score: f.Score(x), Marked: f.Marked(k),
		}
		if m.Label != 0 {
			question.Label = m.Label.String()
		}
		out.Questions = append(out.Questions, question)
	}
	if len(out.Questions) == 0 {
		out.Why = nothingToAsk(f, found)
	}
	return out, nil
}

// nothingToAsk says why there is no question.
func nothingToAsk(f *filter.Filter, found filter.Questions) string {
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
	part(found.Lost, "are too old: hinged no longer keeps their words")
	return fmt.Sprintf("of %d messages since then %s", found.Seen, strings.Join(parts, ", "))
}
