// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Feedback says when the labels come.
type Feedback string

// The kinds of feedback.
const (
	// Immediate: right after the decision.
	Immediate Feedback = "immediate"
	// Delayed: the yes when the owner's answer arrives in the stream, the no
	// when so many days have passed without one. Both are found by the filter
	// itself, as live.
	Delayed Feedback = "delayed"
	// Live: as in life. The first part of the stream is the past that a mailbox shows
	// when it is first read; then marks are set, and the owner does with them what
	// owners do. See LiveResult.
	Live Feedback = "live"
)

// delayedDays is how long Delayed waits for an answer.
const delayedDays = 7

// queueBytes bounds the mail that waits to be featurised or decided.
const queueBytes = 64 << 20

// Play says what to play and how. Paths are read as package archive reads them,
// merged by date.
type Play struct {
	// Paths are archives of mail with the owner's replies in it, which give the
	// labels unless Labels do, or with FromFlags the flags in the archive: what its reader
	// flagged, starred or answered is important, and so is what is called so.
	Paths     []string
	Labels    *Labels
	FromFlags bool
	// Important and Ordinary are archives of mail whose labels are known, in
	// place of Paths.
	Important, Ordinary []string

	Feedback Feedback // "" means Immediate; the others need labels from replies
	// Ask is how many messages of each day the owner labels in the evening, those that
	// the filter asks for; see filter.Filter.Ask. 0: none. With Live, after the past.
	Ask int
	// Heard is the share of the owner's answers that the filter learns of. The other
	// messages were answered all the same. 0 means 1: all.
	Heard float64
	// Past and Judge are of Live. Past is how many messages of the stream are the past,
	// the owner's own included; 0: 70 %. Judge is how many are judged after it, the
	// owner's own not counted; 0: all. Later messages only tell what was important.
	Past, Judge int
	// Options are the filter's. Live takes them as they are; otherwise the player sets
	// Shadow, since there is nobody to mark for, and what Feedback is about: Settle and
	// Silence.
	Options filter.Options
	// Prior are the weights that the account begins with; see filter.Primed.
	Prior store.PackedVector
	// Weights is called with the weights in the end, to read them; nil is fine.
	Weights func(*model.Weights)
	// NoCeiling leaves out the search for a ceiling on the mistakes, which costs a sixth of
	// the processor time of a play.
	NoCeiling bool
	// Learnt is called with every lesson and Judged with every decision that is judged, in
	// order, from one goroutine; nil is fine. They must not change what they get.
	Learnt  func(model.Lesson)
	Judged  func(*filter.Decision)
	Workers int // goroutines that featurise; 0: as many as there are processors
	// Progress is called with the bytes of files played, by one goroutine at a time; nil is fine.
	Progress func(done, total int64)
}

// ErrPlay is wrapped by errors about what was asked for, as against those about
// files.
var ErrPlay = errors.New("cannot play")

// sources lists the archives and where the labels come from.
func (p *Play) sources() (sources []source, labels string, err error) {
	add := func(paths []string, label model.Label) {
		for _, path := range paths {
			sources = append(sources, source{path, label})
		}
	}
	add(p.Paths, 0)
	add(p.Important, model.Important)
	add(p.Ordinary, model.Ordinary)
	inFolders := len(p.Important)+len(p.Ordinary) > 0
	switch {
	case inFolders && (len(p.Paths) > 0 || p.Labels != nil || p.FromFlags):
		return nil, "", fmt.Errorf("%w: --important and --ordinary can't be combined with other archives or a label file", ErrPlay)
	case inFolders && (len(p.Important) == 0 || len(p.Ordinary) == 0):
		return nil, "", fmt.Errorf("%w: both important and ordinary mail are needed", ErrPlay)
	case len(sources) == 0:
		return nil, "", fmt.Errorf("%w: there is no archive", ErrPlay)
	case inFolders:
		labels = "folders"
	case p.FromFlags:
		labels = "flags"
	case p.Labels != nil:
		labels = "file"
	case len(p.Options.Featurize.Owner) == 0:
		return nil, "", fmt.Errorf("%w: labels from the owner's replies need the owner's addresses", ErrPlay)
	default:
		labels = "replies"
	}
	for _, s := range sources {
		if s.path == "-" {
			return nil, "", fmt.Errorf("%w: the archives are read twice, so they can't be standard input; save it to a file", ErrPlay)
		}
	}
	switch {
	case p.Feedback != Immediate && p.Feedback != Delayed && p.Feedback != Live:
		return nil, "", fmt.Errorf("%w: unknown feedback %q; it is %q, %q or %q", ErrPlay, p.Feedback, Immediate, Delayed, Live)
	case p.Feedback == Immediate && p.Ask != 0:
		return nil, "", fmt.Errorf("%w: with %s feedback every label is known before the evening, so there is nothing to ask about", ErrPlay, p.Feedback)
	case p.Feedback == Immediate && p.Heard != 0 && p.Heard != 1:
		return nil, "", fmt.Errorf("%w: with %s feedback every label is known at once, so none can be unheard", ErrPlay, p.Feedback)
	case p.Ask < 0 || p.Ask > maxAsk:
		return nil, "", fmt.Errorf("%w: %d questions a day; want from 0 to %d", ErrPlay, p.Ask, maxAsk)
	case !(p.Heard >= 0 && p.Heard <= 1):
		return nil, "", fmt.Errorf("%w: %v of the answers are heard; want a share above 0 and at most 1", ErrPlay, p.Heard)
	case p.Feedback != Immediate && labels != "replies":
		return nil, "", fmt.Errorf("%w: %s feedback comes from the owner's replies; labels from %s have no time of their own", ErrPlay, p.Feedback, labels)
	case p.Past < 0 || p.Judge < 0:
		return nil, "", fmt.Errorf("%w: %d messages of the past and %d to judge; both must be 0 or more", ErrPlay, p.Past, p.Judge)
	}
	return sources, labels, nil
}

// options returns the filter's options for this play.
func (p *Play) options() filter.Options {
	o := p.Options
	if p.Feedback == Live {
		return o
	}
	o.Shadow = filter.ShadowOn
	// An answer counts when it arrives, and nothing else is ever pending.
	o.Settle = 0
	o.SilenceDays = 0
	if p.Feedback == Delayed {
		o.SilenceDays, o.SilenceCalendar = delayedDays, true
	}
	return o
}

// workers is how many messages are read at once.
func (p *Play) workers() int {
	if p.Workers > 0 {
		return p.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// Run plays and judges. It ends early with ctx's error when that is done.
func (p Play) Run(ctx context.Context) (r *Result, err error) {
	start := time.Now()
	if p.Feedback == "" {
		p.Feedback = Immediate
	}
	sources, labels, err := p.sources()
	if err != nil {
		return nil, err
	}
	o := p.options()
	s, err := openStream(sources, o.Featurize.MaxBytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var known truth = folders{}
	var mailbox *live
	switch labels {
	case "replies":
		found, total, err := p.answers(ctx, s, o.Featurize)
		if err != nil {
			return nil, err
		}
		known = found
		if p.Feedback == Live {
			if mailbox, err = p.newLive(found, total); err != nil {
				return nil, err
			}
		}
	case "file":
		known = p.Labels
	}
	j, err := p.newJudge(o, known)
	if err != nil {
		return nil, err
	}
	j.keep, j.judged = p.Learnt, p.Judged
	if mailbox != nil {
		if err := j.enter(mailbox); err != nil {
			return nil, err
		}
	}
	if err := p.play(ctx, s, j); err != nil {
		return nil, err
	}
	if err := p.Labels.wasted(); err != nil {
		return nil, err
	}
	r = j.result(time.Since(start))
	if err := r.oneSided(labels); err != nil {
		return nil, err
	}
	r.PassedOver = s.reader.PassedOver()
	if p.Weights != nil {
		p.Weights(j.filter.Explainer.Alone())
	}
	if len(o.Rules) > 0 {
		if r.Rules, err = p.compare(ctx, s, known, j); err != nil {
			return nil, err
		}
	}
	r.Labels = labels
	if p.Labels != nil {
		r.LabelsUnmatched = p.Labels.unmatched()
	}
	return r, nil
}

// errOver ends the reading of a stream once all that is to be judged is.
var errOver = errors.New("the play is over")

// read is a message on its way to the filter.
type read struct {
	mail
	message *featurize.Message
}

// play reads, featurises on several goroutines and judges in order.
func (p *Play) play(ctx context.Context, s *stream, j *judge) error {
	o := j.filter.Options().Featurize
	o.Names = false // nobody asks for an explanation
	s.rewind()
	workers := p.workers()
	reader, err := pipeline.NewPool(workers).Reader(o)
	if err != nil {
		return err
	}
	stage := pipeline.New(pipeline.Options[mail]{
		Depth: 64 * workers, Bytes: queueBytes, Size: func(m mail) int64 { return int64(len(m.Raw)) }, Workers: workers,
	}, func(m mail) (r read) {
		// What is from the owner is the owner's own here, and nobody decides about it.
		_, _ = reader.With(context.Background(), func(f *featurize.Featurizer) { r.message = f.ReadOthers(m.Raw) }) // fails only with its context
		if p.FromFlags {
			m.label = flagLabel(m.Message)
			r.believeLabels(m)
		}
		m.Raw = nil
		r.mail = m
		return r
	})
	g, ctx := errgroup.WithContext(ctx)
	var over atomic.Bool
	g.Go(func() error {
		defer stage.Close()
		err := s.each(func(m mail) error {
			if over.Load() {
				return errOver
			}
			own := *m.Message
			own.Raw = bytes.Clone(m.Raw)
			m.Message = &own
			return stage.Put(ctx, m)
		})
		if errors.Is(err, errOver) {
			return nil
		}
		return err
	})
	g.Go(func() error {
		var failed error
		n := 0
		for out := range stage.Order() {
			r := <-out
			if failed != nil || over.Load() {
				continue // drain, so that the workers can end
			}
			if n++; n%64 == 0 {
				p.progress(s)
			}
			if failed = j.take(r); failed != nil {
				failed = fmt.Errorf("%s, message %d: %w", r.Path, r.Index, failed)
			} else {
				failed = ctx.Err()
			}
			over.Store(j.live.over())
		}
		return failed
	})
	if err := g.Wait(); err != nil {
		return err
	}
	p.progress(s)
	return nil
}

// judge hands messages to a filter and notes how it did.
type judge struct {
	filter   *filter.Filter
	features filter.Memory
	truth    truth
	feedback Feedback
	live     *live     // of Live alone
	evenings *evenings // nil: nothing is asked
	heard    heard
	stream   Stream
	steady   steady
	spending spending
	// hindsight has every lesson learnt, and keep is told of each; nil is fine.
	hindsight *Hindsight
	keep      func(model.Lesson)
	judged    func(*filter.Decision)
	r         Result
	ruled     ruled
	first     firstDays
}

func (p *Play) newJudge(o filter.Options, known truth) (*judge, error) {
	j := &judge{features: filter.Memory{}, truth: known, feedback: p.Feedback, heard: heard(p.Heard)}
	f, err := filter.New(store.NewState(), j.features)
	if err != nil {
		return nil, err
	}
	if p.Ask > 0 {
		if j.evenings, err = newEvenings(p.Ask, o); err != nil {
			return nil, err
		}
	}
	j.filter = f
	f.Learning().Vectors().Recall()
	if _, err := f.Apply(&filter.Configured{Options: o}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlay, err)
	}
	if _, err := f.Apply(&filter.Primed{Weights: p.Prior}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlay, err)
	}
	if p.NoCeiling {
		return j, nil
	}
	rules, _ := f.Explainer.Constraints()
	if j.hindsight, err = NewHindsight(o, f.State(), rules, j.features); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlay, err)
	}
	return j, nil
}

// take plays one message: its arrival, the judgement, and where feedback is
// immediate its label.
func (j *judge) take(m read) error {
	j.r.Messages++
	j.r.Bytes += m.Size
	if m.message.FromOwner {
		j.r.Own++
		j.first.begun = true
	}
	at := store.Moment(0)
	if !m.date.IsZero() {
		at = store.MomentOf(m.date)
	}
	if err := j.ask(at); err != nil {
		return err
	}
	if j.live != nil {
		return j.takeLive(m, at)
	}
	got, err := j.filter.Apply(&filter.Arrived{
		At:      at,
		Meta:    j.heard.meta(m.message),
		Message: m.message,
	})
	if err != nil {
		return err
	}
	if got.Decision == nil {
		return j.learnt(got, store.MessageKey{}, nil) // the owner's own, or a second copy
	}
	key := got.Decision.Message
	features := got.Features
	if err := j.learnt(got, key, features); err != nil {
		return err
	}
	j.r.Features += int64(features.Len())
	label := j.truth.label(m.message, m.mail)
	if label != 0 {
		j.note(got.Decision, label)
		j.sort(got.Decision, features, m.message.Vouched, label)
		j.evenings.note(key, label)
	}
	if label == 0 || j.feedback == Delayed {
		// Its label may come later.
		j.forget()
		j.features.Keep(key, features, false)
		return nil
	}
	if j.filter.Options().Dual.Window > 0 {
		j.forget()
		j.features.Keep(key, features, false) // to be replayed
	}
	if got, err = j.filter.Apply(&filter.Labelled{At: at, Message: key, Label: label}); err != nil {
		return err
	}
	return j.learnt(got, key, features)
}

// forget drops the features of messages that the filter has forgotten.
func (j *judge) forget() {
	if limit := j.filter.Options().Limits.Messages; len(j.features) <= limit+limit/10 {
		return
	}
	for k := range j.features {
		if _, ok := j.filter.State().Messages.Get(string(k[:])); !ok {
			delete(j.features, k)
		}
	}
}

// note judges one decision.
func (j *judge) note(d *filter.Decision, label model.Label) {
	if j.judged != nil {
		j.judged(d)
	}
	j.stream.Add(d.Score, d.Outcome == store.DecidedImportant, d.Correspondent, label)
	j.steady.add(d.Score, d.Outcome, d.Reason, label == model.Important)
	j.spending.add(d.Outcome, d.Reason)
	j.first.note(d.Score, d.Outcome == store.DecidedImportant, label)
	j.r.Examples++
	if d.Outcome == store.DecidedUnsure {
		j.r.Unsure++
	}
	if d.Reason == store.ReasonTooFewLabels {
		j.r.TooFewLabels++
	}
}

// result adds up.
func (j *judge) result(took time.Duration) *Result {
	r := j.r
	st := j.filter.State()
	r.Mistakes, r.Updates, r.HingeLoss = st.Account.Mistakes, st.Account.Updates, st.Account.HingeLoss
	r.Lessons = st.Account.Important + st.Account.Ordinary
	own, baselines := j.stream.Compare()
	r.Important = j.stream.decisions.Hits + own.Missed
	r.FalseAlarms, r.Missed, r.WrongDecisions = own.FalseAlarms, own.Missed, own.FalseAlarms+own.Missed
	r.Precision, r.Recall, r.F1, r.AveragePrecision = own.Precision, own.Recall, own.F1, own.AveragePrecision
	r.Baselines, r.BeatsBaselines = baselines, baselines.Beaten(own.F1)
	r.OneMinusROCAPercent = OneMinusROCAPercent(j.stream.scores)
	r.BestF1 = BestF1(j.stream.scores)
	r.Marked = r.Important - r.Missed + r.FalseAlarms
	r.Steadiness = j.steady.result()
	if t := j.filter.Options().Threshold; t.Mode == filter.ModeBudget {
		r.Budget = j.spending.result(t.Share)
	}
	if j.feedback != Live { // whose examples come after a past
		r.First = j.first.results()
	}
	r.Weights, r.Supports = st.Weights.Len(), st.Supports.Len()
	r.Seconds = took.Seconds()
	if r.Seconds > 0 {
		r.MessagesPerSecond = float64(r.Messages) / r.Seconds
		r.MegabytesPerSecond = float64(r.Bytes) / 1e6 / r.Seconds
	}
	r.Feedback = j.feedback
	r.Learner = learnerResult(j.filter.Options())
	r.ModelDigest, r.Digest = store.Digest(st)
	if e := j.evenings; e != nil {
		r.Ask = &e.r
	}
	r.Heard = float64(j.heard)
	r.Ceiling = Ceiling{NoCeiling: "it was not searched for"}
	if j.hindsight != nil {
		j.hindsight.Reached(&st.Account)
		r.Ceiling, _ = FindCeiling(j.hindsight.Hindsight)
	}
	if j.live != nil {
		r.Live = j.live.result(j.filter)
	}
	return &r
}
