package daemon

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Part is one feature's share of a score.
type Part struct {
	Name   string  `json:"feature"`        // the feature's name; "" where it is not kept
	Text   string  `json:"text,omitempty"` // the same in plain words
	Group  string  `json:"group"`          // misc, social, subject, body or constant
	Value  float64 `json:"value"`          // in the vector
	Weight float64 `json:"weight"`         // that the model gives it
	Amount float64 `json:"amount"`         // value times weight
	// index is that of a part that nameParts is to look for the name of; else 0.
	index model.Index
}

// Explanation is what `hinged explain` shows of one message.
type Explanation struct {
	Account   string     `json:"account"`                // its name
	Message   string     `json:"message"`                // its key, in hexadecimal
	Known     bool       `json:"known"`                  // it was seen before; else it is decided as if it had just arrived
	Arrived   *time.Time `json:"arrived,omitempty"`      // as the mail server says
	Outcome   string     `json:"outcome"`                // important, unsure, ordinary or undecided, at arrival
	Reason    string     `json:"reason"`                 // what decided: threshold, or why there was another outcome
	Rule      string     `json:"rule,omitempty"`         // that decided at arrival, such as from:ann@example.org, if it still is among the rules
	ScoreThen float64    `json:"score_at_arrival"`       // at arrival
	Threshold float64    `json:"threshold_at_arrival"`   // at arrival
	Label     string     `json:"label,omitempty"`        // what was learnt of it, important or ordinary
	Source    string     `json:"label_source,omitempty"` // where the label came from
	Score     float64    `json:"score"`                  // with the weights as they are now
	Now       float64    `json:"threshold"`              // the threshold as it is now
	// OutcomeNow is what would be decided now.
	OutcomeNow string `json:"outcome_now"`
	// RuleNow is the rule that would decide now, whatever the score.
	RuleNow string `json:"rule_now,omitempty"`
	// UnsureFrom and UnsureTo are the ends of the band around the threshold in which
	// a message is unsure.
	UnsureFrom float64 `json:"unsure_from"`
	UnsureTo   float64 `json:"unsure_to"` // above it a message is important
	// Missing says in words what must be learnt before anything is decided; "" when
	// there is enough.
	Missing string `json:"missing,omitempty"`
	// WordsDays says that the message's words are gone, since words are kept for so many
	// days at most (names_days); a part has a name only where later messages tell it. 0:
	// the words are there.
	WordsDays int    `json:"words_days,omitempty"`
	Parts     []Part `json:"parts"` // by descending |amount|; they add up to the score
	// Without are the fewest parts without which another decision would be taken.
	Without []Without `json:"without"`
	// Corrections are what a label by the owner would make of the score.
	Corrections []Correction `json:"corrections"`
}

// Without is the smallest set of parts without which the decision would be
// another.
type Without struct {
	Outcome string  `json:"outcome"` // what it would be
	Score   float64 `json:"score"`   // of all other parts
	// Parts are positions in the list of parts, counted from 0, the strongest first.
	Parts []int `json:"parts"`
}

// Correction is what one label, learnt now, would make of a score.
type Correction struct {
	Label string  `json:"label"` // important or ordinary
	Score float64 `json:"score"` // after the lesson
	// Outcome is what that score is decided as while the threshold stays.
	Outcome string `json:"outcome"`
}

func partsOf(contributions []filter.Contribution) []Part {
	out := make([]Part, 0, len(contributions))
	for _, c := range contributions {
		out = append(out, Part{
			Name: c.Name, Group: c.Group.String(), Value: c.Value, Weight: c.Weight, Amount: c.Amount,
		})
	}
	return out
}

// wordsNotKept stands for the name of a feature that is kept by its hash only.
const wordsNotKept = "a word that is not kept"

// nameParts names, as far as messages with words tell, the parts of a message without.
// It reads learnt messages and is not for the
// writer goroutine.
func nameParts(ctx context.Context, s *store.Store, ex *Explanation) error {
	var unknown model.Vector
	for _, p := range ex.Parts {
		if p.index != 0 {
			unknown = append(unknown, model.Feature{Index: p.index})
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	names := newNaming(writer.NewVectors(s, ex.Account), unknown)
	err := names.all(ctx, s, ex.Account)
	for i := range ex.Parts {
		p := &ex.Parts[i]
		if p.index == 0 {
			continue
		}
		if p.Name = names.names[p.index]; p.Name != "" {
			p.Text = featurize.Describe(p.Name)
		} else {
			p.Text = fmt.Sprintf("%s (%010x)", wordsNotKept, uint64(p.index))
		}
		p.index = 0
	}
	return err
}

// describePart puts the name of a feature into words.
func describePart(name string) string {
	if name == "" {
		return wordsNotKept
	}
	return featurize.Describe(name)
}

// explanation turns what the filter found into what is shown.
func explanation(account string, k store.MessageKey, f *filter.Filter, ex filter.Explanation) Explanation {
	out := Explanation{
		Account: account, Message: hex.EncodeToString(k[:]),
		Score: ex.Score, Now: ex.Cut.Threshold, OutcomeNow: ex.Outcome.String(),
		UnsureFrom: ex.Cut.Low, UnsureTo: ex.Cut.High, Missing: missing(f),
		Parts: partsOf(ex.Parts), Without: []Without{}, Corrections: []Correction{},
	}
	if ex.Rule != nil {
		out.RuleNow = ex.Rule.Match
	}
	at := map[model.Index]int{}
	for i, c := range ex.Parts {
		out.Parts[i].Text = describePart(c.Name)
		at[c.Index] = i
	}
	for _, flip := range ex.Flips {
		w := Without{Outcome: flip.Outcome.String(), Score: flip.Score}
		for _, index := range flip.Features {
			w.Parts = append(w.Parts, at[index])
		}
		out.Without = append(out.Without, w)
	}
	for _, c := range ex.Corrections {
		out.Corrections = append(out.Corrections, Correction{Label: c.Label.String(), Score: c.Score, Outcome: c.Outcome.String()})
	}
	return out
}

// missing says in words what must be learnt before anything is decided.
func missing(f *filter.Filter) string {
	a, o := f.State().Account, f.Options()
	var want []string
	if need := uint64(o.MinImportant); a.Important < need {
		want = append(want, fmt.Sprintf("%d more that you call important", need-a.Important))
	}
	if need := uint64(o.MinOrdinary); a.Ordinary < need {
		want = append(want, fmt.Sprintf("%d more that you call ordinary", need-a.Ordinary))
	}
	return strings.Join(want, " and ")
}

// explain takes apart the score of a message named by its Message-ID or key.
func explain(account string, f *filter.Filter, message string) (Explanation, error) {
	k, err := findMessage(f.State(), message)
	if err != nil {
		return Explanation{}, err
	}
	ex, err := f.Explain(k)
	if errors.Is(err, store.ErrNotFound) {
		return Explanation{}, fmt.Errorf("%w: %s: its words are not kept (the owner's own mail, mail of an excluded folder, or too old)", ErrNoMessage, message)
	}
	if err != nil {
		return Explanation{}, err
	}
	m := ex.Message
	out := explanation(account, k, f, ex)
	if f.Options().Featurize.Names {
		for i, c := range ex.Parts {
			if c.Name == "" {
				out.Parts[i].index = c.Index
				out.WordsDays = int(cmp.Or(f.Options().NamesFor, store.NamesFor) / (24 * time.Hour))
			}
		}
	}
	out.Known, out.Arrived = true, timeOf(m.Arrived)
	out.Outcome, out.Reason, out.ScoreThen, out.Threshold = m.Outcome.String(), m.Reason.String(), m.Score, m.Threshold
	if ex.RuleThen != nil {
		out.Rule = ex.RuleThen.Match
	}
	if m.Label != 0 {
		out.Label, out.Source = m.Label.String(), m.Source.String()
	}
	return out, nil
}

// explainMail takes apart the score of a message that need not be known: if it
// is, and its words are kept, as it was when it arrived.
func explainMail(account string, f *filter.Filter, m *featurize.Message) (Explanation, error) {
	k := store.MessageKey(m.Key)
	if row, known := f.State().Messages.Get(string(k[:])); known && row.Outcome != store.Undecided {
		if out, err := explain(account, f, hex.EncodeToString(k[:])); !errors.Is(err, ErrNoMessage) {
			return out, err
		}
	}
	d, features := f.Classify(m)
	out := explanation(account, k, f, f.ExplainFeatures(features, m.Vouched))
	out.Outcome, out.Reason, out.ScoreThen, out.Threshold = d.Outcome.String(), d.Reason.String(), d.Score, d.Threshold
	if d.Rule != nil {
		out.Rule = d.Rule.Match
	}
	if m.Own {
		out.Corrections = []Correction{}
	}
	return out, nil
}

// readMail reads a message as a source would have delivered it, so that it has
// the same key.
func readMail(o featurize.Options, raw []byte) (*featurize.Message, error) {
	f, err := featurize.New(o)
	if err != nil {
		return nil, err
	}
	return f.Read(raw[:min(len(raw), o.MaxBytes)]), nil
}

// Explain implements Backend.
func (d *Daemon) Explain(ctx context.Context, name, message string) (ex Explanation, err error) {
	if stream.IsAccount(name) {
		return look(ctx, d, name, withLogs, func(o *Offline) (Explanation, error) { return o.Explain(ctx, name, message) })
	}
	a, err := d.account(name)
	if err != nil {
		return ex, err
	}
	err = a.do(ctx, func() error {
		ex, err = explain(a.opts.Name, a.filter, message)
		return err
	})
	if err == nil {
		err = nameParts(ctx, d.store, &ex)
	}
	return ex, err
}

// ExplainMail implements Backend.
func (d *Daemon) ExplainMail(ctx context.Context, name string, raw []byte) (ex Explanation, err error) {
	if stream.IsAccount(name) {
		return look(ctx, d, name, withLogs, func(o *Offline) (Explanation, error) { return o.ExplainMail(ctx, name, raw) })
	}
	a, err := d.account(name)
	if err != nil {
		return ex, err
	}
	m, err := readMail(a.opts.Filter.Featurize, raw)
	if err != nil {
		return ex, err
	}
	err = a.do(ctx, func() error {
		ex, err = explainMail(a.opts.Name, a.filter, m)
		return err
	})
	if err == nil {
		err = nameParts(ctx, d.store, &ex)
	}
	return ex, err
}

// Explain implements Backend.
func (c *Client) Explain(ctx context.Context, account, message string) (Explanation, error) {
	return call[Explanation](ctx, c, http.MethodGet, "/v1/explain", url.Values{"account": {account}, "message": {message}}, nil)
}

// ExplainMail implements Backend.
func (c *Client) ExplainMail(ctx context.Context, account string, raw []byte) (Explanation, error) {
	return call[Explanation](ctx, c, http.MethodPost, "/v1/explain", of(account), raw)
}

// Explain implements Backend.
func (o *Offline) Explain(ctx context.Context, account, message string) (Explanation, error) {
	name, f, err := o.named(account)
	if err != nil {
		return Explanation{}, err
	}
	ex, err := explain(name, f, message)
	if err == nil {
		err = nameParts(ctx, o.store, &ex)
	}
	return ex, err
}

// ExplainMail implements Backend.
func (o *Offline) ExplainMail(ctx context.Context, account string, raw []byte) (Explanation, error) {
	name, f, err := o.named(account)
	if err != nil {
		return Explanation{}, err
	}
	m, err := readMail(f.Options().Featurize, raw)
	if err != nil {
		return Explanation{}, err
	}
	ex, err := explainMail(name, f, m)
	if err == nil {
		err = nameParts(ctx, o.store, &ex)
	}
	return ex, err
}
