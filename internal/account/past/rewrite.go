// SPDX-License-Identifier: Apache-2.0

package past

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// UnlearnRequested takes back whatever was learnt at Since and later.
type UnlearnRequested struct {
	At    store.Moment `cbor:"1,keyasint,omitempty"`
	Since store.Moment `cbor:"2,keyasint"`
}

// Past is what an account has learnt, as committed: what was learnt is taken back
// by learning all else once more.
type Past interface {
	// Base returns the state at Account.Reach, which is before the first of Lessons, as
	// far as learning is concerned. The caller owns it. It is called before Lessons.
	Base() (*store.State, error)
	// Lessons yields what was learnt since, in order.
	Lessons() iter.Seq2[store.Lesson, error]
	// Interrupted returns why no more is to be learnt anew; nil: it goes on. It is asked
	// between two lessons.
	Interrupted() error
}

// TooEarlyError says that what is to be taken back lies, or may lie, before the
// oldest lesson that is kept, so that it can't be told from what else was learnt
// then.
type TooEarlyError struct {
	// Earliest is the first moment that can be reached.
	Earliest store.Moment
}

func (e *TooEarlyError) Error() string {
	return fmt.Sprintf("lessons are kept from %s on; what was learnt before can only be forgotten as a whole",
		e.Earliest.Time().Format(time.RFC3339))
}

// Rewritten is what a RewriteRequest led to.
type Rewritten struct {
	// Changed is false when there was nothing of the kind; then the state is as it
	// was.
	Changed bool
	// Lessons counts those taken back, Important of them with that label.
	Lessons, Important int
	// First and Last are when the first and the last of them was learnt.
	First, Last store.Moment
	// Pending counts labels that were given, not yet learnt, and dropped.
	Pending int
	// Messages, Marks and Senders count what was forgotten.
	Messages, Marks, Senders int
	// Rewrite is to be given to store.Rewrite with the state.
	Rewrite store.Rewrite
}

// RewriteRequest asks to take back what was learnt. The concrete types are
// UnlearnRequested, ForgetRequested and TakeBackRequested. They stand in no journal: what they
// do is committed with store.Rewrite, and a journal begins anew with the state that they leave, since
// the states that an earlier entry could be replayed from would have to know what
// they take away.
type RewriteRequest interface {
	// plan notes in w what is asked for, and returns which lessons go. It is called after Past.Base;
	// goes is called with each of Past.Lessons, in their order.
	plan(w *rewriting) (goes func(*store.Lesson) bool, err error)
}

func (e *UnlearnRequested) plan(w *rewriting) (func(*store.Lesson) bool, error) { //nolint:unparam // the others may fail
	w.at, w.since = e.At, e.Since
	return func(l *store.Lesson) bool { return l.At >= e.Since }, nil
}

func (e *ForgetRequested) plan(w *rewriting) (func(*store.Lesson) bool, error) {
	var err error
	if w.forget, err = planForgetting(w.f, e); err != nil {
		return nil, err
	}
	w.at = e.At
	return w.forget.learnt, nil
}

// Rewrite does what a request asks for.
//
// All that was applied before must be committed, for p to tell of it. An error
// leaves the state as it was; *TooEarlyError if p does not reach back far enough, the error
// of p.Interrupted if that ended it.
//
// The time it takes grows with the lessons kept, of which each is learnt anew.
func Rewrite(f *filter.Filter, e RewriteRequest, p Past) (Rewritten, error) {
	w, err := plan(f, e, p)
	if err == nil && w.Changed {
		err = w.relearn(p)
	}
	if err != nil {
		return w.Rewritten, fmt.Errorf("applying %T: %w", e, err)
	}
	if w.Changed {
		err = w.finish()
	}
	return w.Rewritten, err
}

// Foresee says what Rewrite would do, and changes nothing. Of the result, Rewrite
// is empty.
func Foresee(f *filter.Filter, e RewriteRequest, p Past) (Rewritten, error) {
	w, err := plan(f, e, p)
	if err != nil {
		return w.Rewritten, fmt.Errorf("looking at %T: %w", e, err)
	}
	return w.Rewritten, nil
}

// rewriting is a Rewrite under way.
type rewriting struct {
	Rewritten
	f       *filter.Filter
	st      *store.State // of f
	at      store.Moment
	since   store.Moment // of an UnlearnRequested; else 0
	forget  *forgetting  // of a ForgetRequested; else nil
	past    Past
	taken   map[store.MessageKey]*taken // of a TakeBackRequested; else nil
	base    *store.State                // before the first lesson; all is learnt anew on it
	kept    []store.Lesson
	intact  int // so many of kept were learnt after nothing else than is kept
	gone    []store.Lesson
	learner *filter.Learning // on base, once all was learnt anew
	scores  []store.Scored
	calls   []filter.Call
	before  uint64 // lessons that base had
}

func plan(f *filter.Filter, e RewriteRequest, p Past) (*rewriting, error) {
	w := &rewriting{f: f, st: f.State(), past: p}
	var err error
	if w.base, err = p.Base(); err != nil {
		return w, err
	}
	goes, err := e.plan(w)
	if err != nil {
		return w, err
	}
	touched := false // what the learner of now has learnt
	for l, err := range p.Lessons() {
		if err := cmp.Or(err, p.Interrupted()); err != nil {
			return w, err
		}
		if !goes(&l) {
			if w.kept = append(w.kept, l); !touched {
				w.intact++
			}
			continue
		}
		w.gone = append(w.gone, l)
		touched = touched || l.Anew == w.st.Account.Anew
		if !l.Learnt() {
			continue
		}
		if w.Lessons++; l.Label == model.Important {
			w.Important++
		}
		if w.Last = l.At; w.First == 0 {
			w.First = l.At
		}
	}
	if w.forget != nil {
		w.forget.count(&w.Rewritten)
	}
	w.Pending = len(w.st.Messages.Find(w.drops))
	if w.taken != nil { // messages since then would have been scored otherwise
		w.since = cmp.Or(w.First, math.MaxInt64)
	}
	w.Changed = len(w.taken) > 0 || len(w.gone) > 0 || w.Pending > 0 || w.forget != nil && w.forget.any()
	return w, w.reach()
}

// drops reports whether a message's label that waits to be learnt is taken back, too.
func (w *rewriting) drops(m store.Message) bool {
	return w.forget == nil && w.taken == nil && m.Pending.Label != 0 && m.Pending.Since >= w.since
}

// reach refuses to take back what was learnt before the oldest lesson kept.
func (w *rewriting) reach() error {
	last := w.base.Account.LastLesson
	if last == 0 || w.taken != nil {
		return nil // all lessons are kept, or what is not stays learnt
	}
	var beyond bool
	switch {
	case w.forget == nil:
		beyond = w.since <= last
	case w.forget.before != 0:
		beyond = w.forget.before <= last
	default:
		beyond = w.forget.more(w.gone)
	}
	if beyond {
		return &TooEarlyError{Earliest: last + 1}
	}
	return nil
}

// fromNothing reports whether before the first lesson that is kept nothing was learnt.
func (w *rewriting) fromNothing() bool { return w.forget != nil && w.forget.before != 0 }

// relearn learns what is kept once more, beside the state, which stays as it is.
// Lessons before the first one that is taken back are repeated with the steps that were
// taken then, also where the learner had other settings; those after it meet other weights
// and are learnt with the settings of now. So are the steps of replay and what is taken
// back, so that after a change of the settings the weights are others. All of it obeys the
// rules of now.
func (w *rewriting) relearn(p Past) error {
	if w.fromNothing() {
		w.base = store.NewState()
	}
	o, now := w.f.Options(), w.st.Account.Anew
	if w.base.Account.Anew != now {
		// What was learnt before then is another learner's, here and among the lessons.
		filter.BeginAnew(w.base)
		if err := filter.Prime(w.base, o, w.f.Prior()); err != nil {
			return err
		}
	}
	if err := filter.BeginWith(w.base, o, w.f.Prior()); err != nil {
		return err
	}
	w.before = w.base.Account.Important + w.base.Account.Ordinary
	r, err := filter.NewLearning(&o, w.base, w.f.Learning().Rules(), w.f.Vectors())
	if err != nil {
		return err
	}
	r.Project()
	for i := range w.kept {
		l := &w.kept[i]
		switch {
		case l.Anew != now:
			continue
		case !l.Learnt():
			r.Line().Hear(l)
			continue
		}
		if err := cmp.Or(p.Interrupted(), r.ReplayTo(l.Replayed)); err != nil {
			return err
		}
		learn := r.Repeat
		if i >= w.intact || w.fromNothing() {
			learn = r.Learn
		}
		if err := learn(l); err != nil {
			return fmt.Errorf("lesson %d: %w", l.Order, err)
		}
	}
	w.learner = r
	if err := w.rescore(p); err != nil {
		return err
	}
	return r.ReplayTo(w.st.Account.Replayed)
}

// rescore gathers the scores of the last messages decided, those that stay, for
// the window of all scores, and which of them were called important. What arrived
// since lessons were taken back is scored as it would have been without them, at its
// turn among the steps of replay.
func (w *rewriting) rescore(p Past) error {
	type item struct {
		key store.MessageKey
		row store.Message
	}
	var all []item
	for k, m := range w.st.Messages.All() {
		key := store.MessageKey([]byte(k))
		if m.Outcome != store.Undecided && (w.forget == nil || !w.forget.message(key)) {
			all = append(all, item{key, m})
		}
	}
	slices.SortFunc(all, func(a, b item) int { return cmp.Compare(a.row.Seq, b.row.Seq) })
	all = all[max(0, len(all)-w.st.Recent.Len()):]
	for _, it := range all {
		if err := p.Interrupted(); err != nil {
			return err
		}
		score, since := it.row.Score, w.forget == nil && it.row.Arrived >= w.since
		if since {
			if err := w.learner.ReplayTo(it.row.Replayed); err != nil {
				return err
			}
			x, err := w.learner.Vectors().Vector(it.key)
			if err != nil {
				return err
			}
			score = w.learner.Score(x)
		}
		w.scores = append(w.scores, store.Scored{Score: filter.RoundedScore(score)})
		if filter.Counted(it.row.Reason) && it.row.Rule == 0 {
			w.calls = append(w.calls, filter.Call{At: it.row.Arrived, Above: it.row.Above, Since: since, Score: score})
		}
	}
	return nil
}

// finish brings into the state what was found and learnt anew. What can fail did not before.
func (w *rewriting) finish() error {
	st, a, was := w.st, &w.st.Account, w.base.Account
	a.Clock = max(a.Clock, w.at)
	st.Rewrite(w.base)
	tuned := a.Dual.Tuned
	a.WindowNext, a.Replayed, a.Dual = was.WindowNext, was.Replayed, was.Dual
	if a.Dual.Tuned = tuned; w.fromNothing() {
		w.countFromNothing()
	}
	a.Kernel = was.Kernel
	a.Important, a.Ordinary, a.Mistakes, a.Updates = was.Important, was.Ordinary, was.Mistakes, was.Updates
	a.HingeLoss, a.MaxNorm, a.Displaced, a.Projected = was.HingeLoss, was.MaxNorm, was.Displaced, was.Projected
	a.RuledSince = min(a.RuledSince, w.before)
	a.Labels, a.LastLesson = was.Labels, was.LastLesson
	a.Awaited = a.Clock
	a.Rewrites++
	if w.fromNothing() {
		a.Reach = store.Reach{}
	}
	a.NextReach = store.Reach{Entries: a.Entries, Clock: a.Clock} // the journal begins anew here
	w.countLessons()
	switch {
	case w.forget != nil:
		w.forget.finish()
	case w.taken != nil:
		w.finishTaking()
	default:
		w.unlabel()
		if a.Proven && a.ProvenAt >= w.since {
			a.Proven, a.ProvenAt = false, 0
		}
	}
	w.Rewrite = store.Rewrite{Lessons: w.kept, FromNothing: w.fromNothing(), Scrub: w.forget != nil}
	if w.forget != nil {
		return w.f.Resume(w.scores, nil)
	}
	return w.f.Resume(w.scores, append([]filter.Call{}, w.calls...))
}

// countFromNothing has the changes of the settings and of the learner counted from the first
// lesson that is kept: all of them were learnt with the settings of now. Where some are
// another learner's, which the log has still, learning began anew all the same.
func (w *rewriting) countFromNothing() {
	a := &w.st.Account
	a.Dual.Tuned = 0
	if slices.ContainsFunc(w.kept, func(l store.Lesson) bool { return l.Anew != a.Anew }) {
		return
	}
	a.Anew = 0
	for i := range w.kept {
		w.kept[i].Anew = 0
	}
}

// unlabel gives the messages whose lessons are gone the labels that they had
// before, and remembers those that were taken back: a copy that shows one of them
// still is nothing new, while a word that the owner says anew is. A provisional no waits
// for silence again, from today on.
func (w *rewriting) unlabel() {
	st := w.st
	for _, l := range slices.Backward(w.gone) {
		m, ok := st.Messages.Get(string(l.Message[:]))
		if !ok {
			continue
		}
		if !l.Learnt() {
			m.LeftAlone = false
			st.Messages.Put(string(l.Message[:]), m)
			continue
		}
		m.Unlearnt = cmp.Or(m.Unlearnt, l.Label)
		if m.Lessons > 0 {
			m.Lessons--
		}
		w.f.Unhandle(&m)
		m.Label, m.Source = l.Before, l.BeforeSource
		if m.Source == store.SourceProvisional && m.SilenceFrom == 0 {
			m.SilenceFrom = st.Account.ActiveDays + 1 // what it waited for before is to be heard still
		}
		st.Messages.Put(string(l.Message[:]), m)
	}
	for k, m := range st.Messages.All() {
		if w.drops(m) {
			m.Unlearnt = m.Pending.Label
			m.Pending = store.Pending{}
			st.Messages.Put(k, m)
		}
	}
}

// countLessons brings the counts of the senders up to date.
func (w *rewriting) countLessons() {
	st := w.st
	if !w.fromNothing() {
		for _, l := range w.gone {
			if s, ok := st.Senders.Get(l.Sender.Key()); ok && l.Learnt() && l.Sender != 0 {
				s.Lessons -= min(s.Lessons, 1)
				st.Senders.Put(l.Sender.Key(), s)
			}
		}
		return
	}
	// Those from before the oldest lesson kept are in no list.
	st.Account.Uncounted = false
	for k, s := range st.Senders.All() {
		if s.Lessons > 0 || s.Uncounted {
			s.Lessons, s.Uncounted = 0, false
			st.Senders.Put(k, s)
		}
	}
	for _, l := range w.kept {
		if l.Learnt() {
			filter.NoteLesson(st, l.Sender)
		}
	}
}
