// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// What tests in package filter_test need of the inside.

var ChangeSender = changeSender

var Facts = facts

var Flips = flips

const ForgetEvery = forgetEvery

var HashID = hashID

var IsWord = isWord

const MachinePace = machinePace
const ManyHasty = manyHasty
const MaxBareSenders = maxBareSenders
const MaxPrior = maxPrior
const NewDomain = newDomain

var PointOf = pointOf

const ReadMany = readMany
const ReadWeight = readWeight
const ServerWindow = serverWindow

var Share = share

const SpreadUntil = spreadUntil

var Strength = strength

const TrustKept = trustKept
const WindowSize = windowSize

// Arriving has a Memory be what package past replays with.
func (m Memory) Arriving(k store.MessageKey) (*featurize.Features, error) { return m.Features(k) }

func (f *Filter) SetVectors(v Vectors) { f.vectors, f.learning.vectors.stored = v, v }

func (f *Filter) CopiesOf(id store.ID) []store.MessageKey { return f.People.copies.of(id) }

func (f *Filter) Learner() learner { return f.learning.learner }

func (f *Filter) Recalled() map[store.MessageKey]*past { return f.learning.vectors.held }

func (f *Filter) Boldness() float64 { return f.learning.boldness() }

func (f *Filter) CountReading(what store.Handling, by int) { f.People.countReading(what, by) }

func (f *Filter) Handle(m *store.Message, what store.Handling) { f.People.handle(m, what) }

func (f *Filter) Wanted(k store.MessageKey) bool { return f.wanted(k) }

func (f *Filter) Lose(k store.MessageKey, m *store.Message) { f.Messages.lose(k, m) }

func (f *Filter) Lookalike(m *Meta) bool { return f.People.lookalike(m) }

func (c Cut) OutcomeOf(score float64) store.Outcome { return c.outcome(score) }

func (p *point) ImportantPart() float64 { return p.important() }

func (s *Standing) CountOne(e *store.Scored, n int) { s.count(e, n) }

// WaitingInOrder returns the senders of the messages whose silence is waited for, in order.
func (f *Filter) WaitingInOrder() (senders []string) {
	seen := map[store.MessageKey]bool{}
	for _, e := range f.Waits.silent.entries {
		m, ok := f.st.Messages.Get(string(e.key[:]))
		if ok && m.Seq == e.seq && int64(m.SilenceFrom) == int64(e.since) && !seen[e.key] {
			seen[e.key] = true
			senders = append(senders, m.Sender.Key())
		}
	}
	return senders
}

// Rebuild derives the queues anew.
func (f *Filter) Rebuild() { f.rebuildQueues() }

// NoRefusals forgets all refusals.
func (f *Filter) NoRefusals() { empty(f.st.Refusals) }

var ParsePredicate = parsePredicate

func (p *predicate) Group() featurize.Group { return p.group }

func (p *predicate) Index() model.Index { return p.index }
