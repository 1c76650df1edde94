// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Classify decides a message as if it had just arrived, which includes the steps of replay
// that come before every arrival, and has see look at the decision and its features. As long
// as see runs, what it asks about the score of these features agrees with the decision. see
// must change nothing, and afterwards nothing has changed.
//
// It leaves out the steps on lessons whose vectors are not here: those of an account that was
// taken over and whose past has not come in yet, and those that were given up since its state
// was read.
func (f *Filter) Classify(m *featurize.Message, see func(Decision, *featurize.Features)) error {
	meta := NewMeta(m)
	x := f.freezer.Freeze(m, facts(f.st, meta))
	now := f.learner
	defer func() { f.learner = now }()
	if err := f.rehearse(x.Vector()); err != nil {
		return err
	}
	d := f.judge(meta.Key, x, meta.Vouched)
	d.Correspondent = f.corresponds(meta.From)
	if f.InShadow() && d.Outcome == store.DecidedImportant {
		d.Reason = store.ReasonShadow
	}
	see(d, x)
	return nil
}

// rehearse puts a learner in the place of f's that has taken the next steps of replay and
// can score x, and nothing else. It works on a copy of the weights that this touches. What
// the limit on weights would then take away stays.
func (f *Filter) rehearse(x model.Vector) error {
	l, explicit := f.learner.(*linear)
	size := int(f.st.Account.WindowNext - f.lessons.first)
	if !explicit || !f.opts.replays() || size == 0 || f.opts.Dual.Steps == 0 {
		return nil
	}
	t, err := l.trial()
	if err != nil {
		return err
	}
	t.bring(l.st.Weights, x)
	alphas := map[string]float64{} // of lessons whose turn has come
	for n := range uint64(f.opts.Dual.Steps) {
		key, row, due := f.turn(f.st.Account.Replayed+n, size)
		if !due {
			continue
		}
		v, err := f.vector(row.Message)
		if errors.Is(err, store.ErrPending) || errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if alpha, again := alphas[key]; again {
			row.Alpha = alpha
		}
		t.bring(l.st.Weights, v)
		if s := t.ascend(model.Lesson{Vector: v, Label: row.Label, Weight: row.Weight}, row.Alpha); s.Step != 0 {
			alphas[key] = s.Alpha
		}
	}
	f.learner = t
	return nil
}
