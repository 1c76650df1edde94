// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/store"
)

// Messages are the messages that an account remembers.
type Messages struct {
	*parts
	oldest []store.MessageKey // all of them, by Seq
}

// Newest yields the known messages with their rows, the one that arrived last first.
func (f *Messages) Newest() iter.Seq2[store.MessageKey, store.Message] {
	return func(yield func(store.MessageKey, store.Message) bool) {
		for _, k := range slices.Backward(f.oldest) {
			if m, ok := f.st.Messages.Get(string(k[:])); ok && !yield(k, m) {
				return
			}
		}
	}
}

// Judged reports whether a message was decided and is not the owner's own. wrong: its
// label, if it has one, differs from the decision; see Judgement.
func Judged(m *store.Message) (judged, wrong bool) {
	label := LabelOf(m)
	return !m.Own && m.Outcome != store.Undecided, label != 0 && (m.Outcome == store.DecidedImportant) != (label > 0)
}

// RuleOf returns the rule that decided a message, as far as it is still in force; nil
// if none did.
func (f *Explainer) RuleOf(m *store.Message) *Rule {
	if m.Rule == 0 {
		return nil
	}
	return f.learning.rules.byIndex(m.Rule)
}

// Zone returns the time zone in which the account's days begin.
func (f *Filter) Zone() *time.Location { return f.zone }

// SquaredNorm returns ‖φ(x)‖², φ the map of the kernel: a lesson on x moves the score of
// x by its step times this.
func (f *Explainer) SquaredNorm(x *featurize.Features) float64 {
	return f.learning.learner.norm(x.Vector())
}

// Oldest returns when the oldest known message arrived.
func (f *Messages) Oldest() (at store.Moment, ok bool) {
	for _, k := range f.oldest {
		if m, ok := f.st.Messages.Get(string(k[:])); ok {
			return m.Arrived, true
		}
	}
	return 0, false
}

// forgetEvery is how many arrivals pass between two looks at what is older than
// Limits.Keep. Looking costs a walk over the history.
const forgetEvery = 32

// capMessages forgets messages: those that Limits.Keep says are too old and, once there are more
// than Limits.Messages, the oldest tenth. What was learnt of them, their places, marks and refusals
// stay. So do the messages of lessons that are replayed: an undo must find them. Where these are
// most of the limit, there are as many more that a quarter of it is left for the newest.
func (f *Messages) capMessages() {
	if f.opts.Limits.Keep > 0 && f.st.Account.Messages%forgetEvery == 0 {
		f.forgetOld()
	}
	most := f.opts.Limits.Messages
	limit := max(most, f.st.Window.Len()+most/4)
	if f.st.Messages.Len() <= limit {
		return
	}
	var stay []store.MessageKey
	lessons := f.learning.lessons.all()
	for f.st.Messages.Len() > limit-most/10 && len(f.oldest) > 0 {
		k := f.oldest[0]
		if m, ok := f.st.Messages.Get(string(k[:])); ok {
			if _, in := lessons[k]; in {
				stay = append(stay, k)
			} else {
				f.lose(k, &m)
			}
		}
		f.oldest = f.oldest[1:]
	}
	if len(stay) > 0 {
		f.oldest = slices.Concat(stay, f.oldest)
	}
}

// lose forgets a message. The caller takes it out of the queue of all messages.
func (f *Messages) lose(k store.MessageKey, m *store.Message) {
	f.People.copies.drop(m.ID, k)
	f.line.Disown(k)
	f.st.Messages.Delete(string(k[:]))
	for _, t := range f.followers {
		t.Forgotten(k)
	}
}

// forgetOld forgets what is older, by the account's clock, than Limits.Keep: messages, and what is
// remembered of Message-IDs, threads, and senders to whom the owner never wrote. Messages of lessons
// that are replayed and all since the oldest of them stay (docs/results.md, "What an account keeps"),
// as do messages with a label that has not settled, and all marks on a server.
func (f *Messages) forgetOld() {
	end := f.st.Account.Clock.Add(-f.opts.Limits.Keep)
	// Messages arrived in the order of their numbers and of the clock.
	var stay []store.MessageKey
	replayed, lessons := f.replayedSince(), f.learning.lessons.all()
	first, n := f.st.Account.Messages+1, 0
	for ; n < len(f.oldest); n++ {
		k := f.oldest[n]
		m, ok := f.st.Messages.Get(string(k[:]))
		if !ok {
			continue
		}
		if m.Arrived >= end || m.Seq >= replayed {
			first = m.Seq
			break
		}
		if _, in := lessons[k]; in || m.Pending.Label != 0 {
			stay = append(stay, k)
			continue
		}
		f.lose(k, &m)
	}
	f.oldest = slices.Concat(stay, f.oldest[n:])
	outdated(f.st.IDs, func(k store.KnownID) bool { return k.Seq < first })
	outdated(f.st.Threads, func(t store.Thread) bool { return t.Seq < first })
	f.People.forgetSenders(first)
	f.ledger.Entries.ForgetUnplaced(end)
}

// replayedSince is the number of the message of the oldest lesson that is replayed;
// above all of them if there is none.
func (f *Messages) replayedSince() uint64 {
	if row, ok := f.st.Window.Get(store.WindowKey(f.learning.lessons.first)); ok {
		if m, ok := f.st.Messages.Get(string(row.Message[:])); ok {
			return m.Seq
		}
	}
	return f.st.Account.Messages + 1
}

// outdated deletes the rows of which old says so.
func outdated[V any](t *store.Table[V], old func(V) bool) {
	for _, key := range t.Keys() {
		if row, _ := t.Get(key); old(row) {
			t.Delete(key)
		}
	}
}

// Questions are the messages that the owner may be asked about, and why there are no
// more.
type Questions struct {
	Messages []store.MessageKey
	// Seen counts the messages of the time in question. TeachNothing counts those
	// of them that teach nothing (the owner's own mail, and mail of excluded folders),
	// Ruled those that a rule decided, Labelled those about which the owner has said
	// something, and Lost those whose words are not kept any more.
	Seen, TeachNothing, Ruled, Labelled, Lost int
}

// Ask finds the messages that arrived at since or later whose label would teach most,
// n at most: of those that are Askable, those that Choose chooses. It changes nothing.
func (f *Messages) Ask(n int, since store.Moment) (Questions, error) {
	q := f.Askable(since)
	scored := make([]Scored, 0, len(q.Messages))
	for _, k := range q.Messages {
		x, err := f.learning.vectors.Vector(k)
		if errors.Is(err, store.ErrNotFound) {
			q.Lost++
			continue
		}
		if err != nil {
			return q, err
		}
		scored = append(scored, Scored{k, f.learning.learner.Score(x)})
	}
	q.Messages = f.Choose(n, scored)
	return q, nil
}

// Scored is a message with its score, with the weights as they are now.
type Scored struct {
	Message store.MessageKey
	Score   float64
}

// spreadUntil is how many labels of each class are learnt before the questions are those
// in doubt alone.
const spreadUntil = 20

// Choose returns up to n of the messages, given in order of arrival with the newest first,
// whose labels would teach most; the best first.
//
// Once enough is learnt, those are the messages whose scores are nearest to the threshold:
// uncertainty sampling (Lewis and Gale 1994, A sequential algorithm for training text classifiers).
// Before that the threshold is a guess and what is important is rare: two of three questions are
// about the highest scores (relevance sampling, in the same paper). No two questions are about one
// sender while there are others (diversity; Brinker 2003, Incorporating diversity in active learning
// with support vector machines). Of equals the newest is chosen. Over twenty lives of bench/mailbox
// F1 was .700 and .709 after a past of 30 and 130 messages, with doubt alone .686 and .624.
func (f *Messages) Choose(n int, messages []Scored) []store.MessageKey {
	threshold := f.line.Cut().Threshold
	all := make([]candidate, len(messages))
	for i, s := range messages {
		m, _ := f.st.Messages.Get(string(s.Message[:]))
		all[i] = candidate{Scored: s, sender: m.Sender, away: math.Abs(s.Score - threshold)}
	}
	surest := slices.Clone(all)
	slices.SortStableFunc(surest, func(a, b candidate) int { return cmp.Compare(b.Score, a.Score) })
	doubt := all
	slices.SortStableFunc(doubt, func(a, b candidate) int { return cmp.Compare(a.away, b.away) })
	if min(f.st.Account.Important, f.st.Account.Ordinary) < spreadUntil {
		return takeTurns(min(n, len(all)), surest, doubt, surest)
	}
	return takeTurns(min(n, len(all)), doubt)
}

// candidate is a message that may be asked about.
type candidate struct {
	Scored
	sender store.ID
	away   float64 // of the score from the threshold
}

// takeTurns takes n of the candidates, which all lists have in an order of their own, from
// each list in turn: the first that was not taken, of a sender of whom no other was if
// there is one.
func takeTurns(n int, lists ...[]candidate) []store.MessageKey {
	out := []store.MessageKey{}
	taken, senders := map[store.MessageKey]bool{}, map[store.ID]int{}
	for turn := 0; len(out) < n; turn++ {
		var best *candidate
		list := lists[turn%len(lists)]
		for i := range list {
			c := &list[i]
			if !taken[c.Message] && (best == nil || senders[c.sender] < senders[best.sender]) {
				if best = c; senders[c.sender] == 0 {
					break
				}
			}
		}
		out, taken[best.Message] = append(out, best.Message), true
		if best.sender != 0 {
			senders[best.sender]++
		}
	}
	return out
}

// Askable finds the messages that arrived at since or later whose label would teach
// something, the newest first. It reads no vectors, so that the caller may do that
// elsewhere.
func (f *Messages) Askable(since store.Moment) Questions {
	var q Questions
	for k, m := range f.Newest() {
		if m.Arrived < since {
			break // those before it arrived earlier still
		}
		if q.count(&m) {
			q.Messages = append(q.Messages, k)
		}
	}
	return q
}

// count counts a message, and reports whether a label for it would teach something.
func (q *Questions) count(m *store.Message) bool {
	q.Seen++
	switch {
	case m.Own, m.Outcome == store.Undecided, ledger.Excluded(ingest.Role(m.Role)):
		q.TeachNothing++
	case m.Rule != 0:
		q.Ruled++
	case spokenOf(m):
		q.Labelled++
	default:
		return true
	}
	return false
}

// spokenOf reports whether the owner has said something of a message. That they read it, or
// left it alone, is no word.
func spokenOf(m *store.Message) bool {
	return isWord(m.Source) || m.Pending.Label != 0 && isWord(m.Pending.Source)
}

// isWord reports whether a label from s is something that the owner said.
func isWord(s store.Source) bool { return !store.SourceForwarded.Outranks(s) }

// SpokenOf reports whether a message is unknown, or the owner has said something of it.
func (f *Messages) SpokenOf(k store.MessageKey) bool {
	m, ok := f.st.Messages.Get(string(k[:]))
	return !ok || spokenOf(&m)
}
