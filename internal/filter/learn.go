package filter

import (
	"fmt"
	"math"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// learn teaches the model one label and keeps the accounts. m is the row of
// message k; the caller puts it.
func (f *Filter) learn(k store.MessageKey, m *store.Message, label model.Label, source store.Source, r *Result) error {
	features := f.latest.features
	if features == nil || f.latest.key != k {
		var err error
		if features, err = f.vectors.Features(k); err != nil {
			return fmt.Errorf("looking up the vector of message %x: %w", k[:4], err)
		}
	}
	x := features.Vector()
	weight := 1.0
	if source < store.SourceJunk {
		weight = f.opts.ImplicitWeight
	}
	u := f.learner.Learn(model.Lesson{Vector: x, Label: label, Weight: weight})

	a := &f.st.Account
	if u.Step != 0 {
		a.Updates++
		f.st.TouchWeights(x)
		f.capWeights()
	}
	if u.Mistake {
		a.Mistakes++
	}
	a.HingeLoss += u.Loss
	a.MaxNorm = max(a.MaxNorm, math.Sqrt(x.SquaredNorm()))
	if label == model.Important {
		a.Important++
		if m.Outcome != store.DecidedImportant {
			a.Missed++
		}
	} else {
		a.Ordinary++
		if m.Outcome == store.DecidedImportant {
			a.FalseAlarms++
		}
	}
	a.LastLesson = a.Clock
	if source > store.SourceSilence {
		a.HeardDay, a.HeardSeq = a.ActiveDays, a.Messages
	}

	m.Label, m.Source = label, source
	f.waitForSilence(m, 0)
	f.score(m, label)
	r.Lessons = append(r.Lessons, store.Lesson{
		Message: k, Label: label, Weight: weight, Source: source, Sender: m.Sender,
		Score: u.Score, Step: u.Step, At: a.Clock,
	})
	return nil
}

// score enters the judgement that a message got at its arrival, with its label,
// into what the threshold and the standing are taken from.
func (f *Filter) score(m *store.Message, label model.Label) {
	a := &f.st.Account
	scored := store.Scored{Score: m.Score, Label: label, Above: m.Above, Correspondent: m.Correspondent}
	if old, full := f.labelled.add(a.Labels, scored); full {
		f.standing.count(old, -1)
	}
	f.standing.count(scored, 1)
	a.Labels++
	f.keepAhead(label)
	f.stale = true
}

// capWeights gives up a tenth of the weights, those of least magnitude, once
// there are more than the limit, and adds the norm of what was given up to the
// displacement D of the guarantees.
func (f *Filter) capWeights() {
	w := f.st.Weights
	if w.Len() <= f.opts.Limits.Weights {
		return
	}
	gone := w.Smallest(w.Len() - f.opts.Limits.Weights*9/10)
	f.st.Account.Displaced += math.Sqrt(gone.SquaredNorm())
	for _, g := range gone {
		w.Delete(g.Index)
	}
	f.st.TouchWeights(gone)
}
