// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/store"
)

// Classify decides a message as if it had just arrived, which includes the steps of replay
// that come before every arrival, and has see look at the decision and its features. As long
// as see runs, what it asks about the score of these features agrees with the decision. see
// must change nothing and keep nothing, and afterwards nothing has changed.
//
// It leaves out the steps on lessons whose vectors were given up since the state was read.
func (f *Filter) Classify(m *featurize.Message, see func(Decision, *featurize.Features)) error {
	meta := NewMeta(m)
	x := &f.passing.features
	f.freezer.FreezeInto(x, m, facts(f.st, meta))
	now := f.learning.learner
	defer func() { f.learning.learner = now }()
	f.passing.vector = x.AppendVector(f.passing.vector[:0])
	if err := f.learning.rehearse(); err != nil {
		return err
	}
	d := f.learning.judge(meta.Key, x, &past{vector: f.passing.vector}, meta.Vouched)
	d.Correspondent = f.People.corresponds(meta.From)
	if f.line.InShadow() && d.Outcome == store.DecidedImportant {
		d.Reason = store.ReasonShadow
	}
	see(d, x)
	return nil
}

// mostRehearsed is how many weights a rehearsal may hold before it is made anew.
const mostRehearsed = 1 << 14

// rehearse puts a learner in the place of f's that has taken the next steps of replay and
// can score and explain messages, and nothing else. It works on a copy of the weights that
// this touches. What the limit on weights would then take away stays. The steps are the same
// for all messages until the next event, so what they came to is kept until then.
func (f *Learning) rehearse() error {
	l, explicit := f.learner.(*linear)
	size := int(f.st.Account.WindowNext - f.lessons.first)
	if !explicit || !f.opts.Replays() || size == 0 || f.opts.Dual.Steps == 0 {
		return nil
	}
	t := f.rehearsed
	if t == nil || t.st.Weights.Len() > mostRehearsed {
		var whole bool
		var err error
		if t, whole, err = rehearsal(f, l, size); err != nil {
			return err
		}
		if f.rehearsed = nil; whole {
			f.rehearsed = t
		}
	}
	t.under = l.st.Weights // the steps have left alone what they were not given
	f.learner = t
	return nil
}

// rehearsal returns a learner that has taken the next steps of replay. It is not whole if
// the features of a lesson could not be had, which may change without an event.
func rehearsal(f *Learning, l *linear, size int) (t *linear, whole bool, err error) {
	t, whole = l.trial(), true
	alphas := map[string]float64{} // of lessons whose turn has come
	for n := range uint64(f.opts.Dual.Steps) {
		key, row, due := f.turn(f.st.Account.Replayed+n, size)
		if !due {
			continue
		}
		v, err := f.vectors.recall(row.Message)
		if errors.Is(err, store.ErrNotFound) {
			whole = false
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if alpha, again := alphas[key]; again {
			row.Alpha = alpha
		}
		t.bring(l.st.Weights, v.vector)
		// The slots of a copy are of no use to the learner that stays.
		if s := t.ascend(&replayed{past: &past{vector: v.vector, norm: v.norm}, label: row.Label, weight: row.Weight}, row.Alpha); s.Step != 0 {
			alphas[key] = s.Alpha
		}
	}
	return t, whole, nil
}
