// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/store"
)

// Tried says which of the last messages a dry run would have marked.
type Tried struct {
	Last        int         `json:"last"`         // number of messages looked at: the last ones that were decided
	WouldMark   int         `json:"would_mark"`   // number of these messages that hinged would have marked
	WouldMarked []WouldMark `json:"would_marked"` // the clearest of these messages, at most three from one sender, in order of arrival
}

// WouldMark is one message that hinged would have marked at its arrival.
type WouldMark struct {
	Message   string    `json:"message"`         // key of the message, in hexadecimal
	Arrived   time.Time `json:"arrived"`         // when the message arrived
	Score     float64   `json:"score"`           // score at arrival
	Threshold float64   `json:"threshold"`       // threshold at arrival
	Label     string    `json:"label,omitempty"` // Label is what the mailbox shows about the message: important, ordinary, or "" if nothing is known yet.
	Reasons   []string  `json:"reasons"`         // Reasons are what speaks most clearly for the message, in a few words each.
	OfSender  int       `json:"of_sender"`       // OfSender counts the messages from this sender that hinged would have marked.

	From    string `json:"-"` // for the owner's eyes
	Subject string `json:"-"`
}

const shownOfSender = 3

// DryRun plays a mailbox's past as Run does, in memory: nothing is stored and nothing is
// written. last is how many of the last decided messages are looked at, and show how many of
// those that would be marked are named.
func DryRun(ctx context.Context, o Options, last, show int) (r Report, err error) {
	source, err := o.NewSource(nil)
	if err != nil {
		return r, fmt.Errorf("account %s: %w", o.Account, err)
	}
	d := dryRun{last: last, memory: filter.Memory{}}
	if o.Filter.Settle == 0 {
		// A label must not be learnt before the decision is explained.
		o.Filter.Settle = time.Second
	}
	if d.filter, err = filter.New(store.NewState(), d.memory); err != nil {
		return r, err
	}
	if _, err = d.filter.Apply(&filter.Configured{Options: o.Filter}); err != nil {
		return r, err
	}
	if _, err = d.filter.Apply(&filter.Primed{Weights: o.Prior}); err != nil {
		return r, err
	}
	if o.AddressBook != nil {
		book, err := o.AddressBook(ctx)
		if err != nil {
			return r, fmt.Errorf("account %s: address book: %w", o.Account, err)
		}
		if e := d.filter.People.BookOf(book.Addresses); e != nil {
			if _, err = d.filter.Apply(e); err != nil {
				return r, err
			}
		}
	}
	stop := follow(o.Progress, source)
	err = daemon.Rehearse(ctx, d.filter, source, d.take)
	stop()
	if err != nil {
		return r, fmt.Errorf("account %s: %w", o.Account, err)
	}
	r = report(d.filter)
	r.Account, r.Complete = o.Account, source.Complete()
	r.Read, r.Total = source.Progress()
	r.Hidden = source.Status().Parts()
	r.DryRun = d.show(show)
	return r, r.ask(d.filter)
}

type dryRun struct {
	filter *filter.Filter
	memory filter.Memory
	last   int
	recent []*WouldMark // of the last decided messages; nil: would not be marked
}

// take notes what came of one event; m is the message of an arrival.
func (d *dryRun) take(event filter.Event, m *featurize.Message, r filter.Result) (err error) {
	if r.Decision == nil {
		return nil
	}
	key := r.Decision.Message
	d.memory.Keep(key, r.Features, true)
	var w *WouldMark
	if r.Decision.Outcome == store.DecidedImportant {
		w = d.explain(r.Decision, event.(*filter.Arrived), m, r.Features)
	}
	if d.recent = append(d.recent, w); len(d.recent) > d.last {
		d.recent = d.recent[1:]
	}
	return nil
}

// explain says why a message would have been marked, with the weights that
// decided.
func (d *dryRun) explain(v *filter.Decision, a *filter.Arrived, m *featurize.Message, x *featurize.Features) *WouldMark {
	w := &WouldMark{
		Message: hex.EncodeToString(v.Message[:]), Arrived: a.At.Time(), Score: v.Score, Threshold: v.Threshold,
		Subject: m.Subject, Reasons: []string{},
	}
	if len(m.From) > 0 {
		w.From = m.From[0]
	}
	if v.Rule != nil {
		w.Reasons = append(w.Reasons, "your rule "+v.Rule.Match)
	}
	why := words.ReasonsOf(x, d.filter.Explainer.Parts(x), d.filter.People.Correspondence(a.Meta.From), false)
	w.Reasons = append(w.Reasons, words.Texts(why.For)...)
	return w
}

func (d *dryRun) show(most int) *Tried {
	t := &Tried{Last: len(d.recent), WouldMarked: []WouldMark{}}
	for _, w := range d.recent {
		if w == nil {
			continue
		}
		t.WouldMark++
		k, _ := hex.DecodeString(w.Message) // as encoded above
		if m, ok := d.filter.State().Messages.Get(string(k)); ok && m.Label != 0 {
			w.Label = m.Label.String()
		}
		t.WouldMarked = append(t.WouldMarked, *w)
	}
	slices.SortStableFunc(t.WouldMarked, func(a, b WouldMark) int {
		return cmp.Compare(b.Score-b.Threshold, a.Score-a.Threshold)
	})
	t.WouldMarked = spread(t.WouldMarked, most)
	slices.SortStableFunc(t.WouldMarked, func(a, b WouldMark) int { return a.Arrived.Compare(b.Arrived) })
	return t
}

// spread returns the first of list, few of each sender and most altogether, and notes in
// them how many of their sender's there are.
func spread(list []WouldMark, most int) []WouldMark {
	all, taken := map[string]int{}, map[string]int{}
	for _, w := range list {
		all[w.From]++
	}
	out := []WouldMark{}
	for _, w := range list {
		if len(out) < most && taken[w.From] < shownOfSender {
			taken[w.From]++
			w.OfSender = all[w.From]
			out = append(out, w)
		}
	}
	return out
}
