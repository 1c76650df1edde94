package daemon

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

// AskQuery says which questions are wanted.
type AskQuery struct {
	Since time.Time `json:"since"` // about messages that arrived then or later
	Most  int       `json:"most"`  // so many at most
}

// Asked is what `hinged ask` shows.
type Asked struct {
	// Account whose messages they are.
	Account string `json:"account"`
	// Since is when the oldest message that may be asked about arrived.
	Since time.Time `json:"since"`
	// Threshold is the score above which a message is important now.
	Threshold float64 `json:"threshold"`
	// Questions are about the messages whose labels would teach most, the best first.
	Questions []Question `json:"questions"`
	// Why says in words why there is no question.
	Why string `json:"why,omitempty"`
}

// Question is one message that the owner may label.
type Question struct {
	// Message is its key, in hexadecimal.
	Message string `json:"message"`
	// Arrived is when it did, as the mail server says.
	Arrived *time.Time `json:"arrived,omitempty"`
	// From is the sender's address; absent where words are not kept.
	From string `json:"from,omitempty"`
	// Facts say how it was addressed, what it is in its thread and through which list
	// it came, in words.
	Facts []string `json:"facts,omitempty"`
	// Subject has words of its subject, perhaps in another order than there.
	Subject []string `json:"subject,omitempty"`
	// Outcome is the decision at arrival: important, unsure or ordinary.
	Outcome string `json:"outcome"`
	// ScoreThen is the score at arrival.
	ScoreThen float64 `json:"score_at_arrival"`
	// Score is the score with the weights as they are now.
	Score float64 `json:"score"`
	// Marked: a mark that hinged set is on it, or about to be.
	Marked bool `json:"marked"`
	// Label is what was learnt from silence about it; absent: nothing.
	Label string `json:"label,omitempty"`
}

// questions finds what to ask.
func questions(account string, f *filter.Filter, q AskQuery) (Asked, error) {
	out := Asked{Account: account, Since: q.Since.UTC(), Threshold: f.Counts().Threshold, Questions: []Question{}}
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
		question := Question{
			Message: hex.EncodeToString(k[:]), Arrived: timeOf(m.Arrived),
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
	part(found.Told, "you have judged already by what you did")
	part(found.Ruled, "your rules decided")
	part(found.Untaught, "teach nothing (your own mail, and mail in folders such as Junk and Trash)")
	part(found.Lost, "are too old: their words are not kept any more")
	return fmt.Sprintf("of %d messages since then %s", found.Seen, strings.Join(parts, ", "))
}

// Ask implements Backend.
func (d *Daemon) Ask(ctx context.Context, name string, q AskQuery) (out Asked, err error) {
	if stream.IsAccount(name) {
		return look(ctx, d, name, withLogs, func(o *Offline) (Asked, error) { return o.Ask(ctx, name, q) })
	}
	a, err := d.account(name)
	if err != nil {
		return out, err
	}
	err = a.do(ctx, func() error {
		out, err = questions(a.opts.Name, a.filter, q)
		return err
	})
	return out, err
}

// Ask implements Backend.
func (c *Client) Ask(ctx context.Context, account string, q AskQuery) (Asked, error) {
	return post[Asked](ctx, c, "/v1/ask", account, q)
}

// Ask implements Backend.
func (o *Offline) Ask(_ context.Context, account string, q AskQuery) (Asked, error) {
	name, f, err := o.named(account)
	if err != nil {
		return Asked{}, err
	}
	return questions(name, f, q)
}
