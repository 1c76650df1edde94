// SPDX-License-Identifier: Apache-2.0

// Package bootstrap reads what a mailbox already holds, by the same code as the daemon,
// and reports how the decisions would have been: into the account's store (Run), or in
// memory (DryRun).
package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// PastSource is a source that reads what a mailbox already holds, and ends; see
// imap.History.
type PastSource interface {
	ingest.Source
	// Progress returns how many messages were reported and how many there are.
	Progress() (done, total int)
	// Complete reports whether all were reported.
	Complete() bool
}

// Options say what to read, and into which store.
type Options struct {
	StorePath string
	Store     boltfile.Options
	Logger    *slog.Logger // nil discards

	Account string
	Filter  filter.Options
	Prior   store.PackedVector // as in daemon.AccountOptions
	// AddressBook, too. In a dry run it is read once, and must be read.
	AddressBook daemon.ReadAddressBook
	// NewSource builds the source, resuming from what the store remembers.
	NewSource func(known []ingest.Known) (PastSource, error)

	// Progress is called now and then with the numbers of the source; nil is fine.
	// It is called from one goroutine at a time.
	Progress func(done, total int)
}

// Report is what `hinged bootstrap` prints: how well the mailbox's past was judged. Each
// message was decided before its label was learnt.
type Report struct {
	Account  string `json:"account"`  // name of the account
	Complete bool   `json:"complete"` // Complete reports whether all of the past was read. If not, the next call continues.
	Total    int    `json:"total"`    // Total counts the past messages in the mailboxes that were unfinished when this call began; 0 if nothing was left to read.
	Read     int    `json:"read"`     // number of messages out of total that are read by now

	Messages int `json:"messages"` // known messages in all watched mailboxes
	Own      int `json:"own"`      // known messages that the owner wrote
	// SentFolder reports whether a mailbox of sent mail is watched. Without one, hinged
	// knows only the answers that a mail program recorded with \Answered, and the figures
	// say little.
	SentFolder bool `json:"sent_folder"`
	// Hidden names, in words, the mailboxes of which the server shows only a part. All that
	// it shows was read.
	Hidden []string   `json:"hidden,omitempty"`
	From   *time.Time `json:"from,omitempty"` // arrival of the first known message
	To     *time.Time `json:"to,omitempty"`   // arrival of the last known message

	Labelled  int            `json:"labelled"`  // messages whose label is known by now
	Important int            `json:"important"` // messages whose label is important
	Open      int            `json:"open"`      // messages whose label is not known yet, of those that may get one
	Unknown   int            `json:"unknown"`   // personal letters that were read and kept: nobody knows whether they were important
	Early     int            `json:"early"`     // labelled messages that came before enough was learnt to decide; they are not judged
	Judgement desk.Judgement `json:"judgement"` // Judgement says how good the decisions were that were made as the messages arrived. Status has the same figures.

	InShadow    bool   `json:"in_shadow"`               // whether the daemon will decide and learn without setting marks yet
	Marking     string `json:"marking"`                 // says in words whether the daemon will mark and, if not, what is missing
	EndOfShadow string `json:"end_of_shadow,omitempty"` // says in words what would end the shadow

	Questions []desk.Question `json:"questions"` // Questions are about the messages whose labels would teach most, best first; hinged learn takes the answers.
	Threshold float64         `json:"threshold"` // the current threshold: a message with a higher score is important

	DryRun *Tried `json:"dry_run,omitempty"` // what hinged would have marked; only with --dry-run
}

// progressEvery is the time between two calls of Progress.
const progressEvery = 100 * time.Millisecond

// Run reads the past of one account's mailboxes into its store, by the same
// code as the daemon, and judges how it did. It never writes to a mailbox. When
// ctx ends it, or an error, what was read is kept, and another call goes on where
// it stopped. It fails with store.ErrRunning while a daemon has the store.
func Run(ctx context.Context, o Options) (r Report, err error) {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s, err := boltfile.Open(o.StorePath, o.Store)
	if errors.Is(err, store.ErrRunning) {
		return r, fmt.Errorf("%w; stop it first, since the past is read before what comes next: the daemon goes on afterwards from where this ends", err)
	}
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var source PastSource
	past, err := daemon.OpenPast(s, daemon.AccountOptions{
		Name: o.Account, Filter: o.Filter, Prior: o.Prior, AddressBook: o.AddressBook,
		NewSource: func(known []ingest.Known) (ingest.Source, error) {
			source, err = o.NewSource(known)
			return source, err
		},
	}, log)
	if err != nil {
		return r, err
	}
	stop := follow(o.Progress, source)
	err = past.Read(ctx)
	stop()
	r = report(past.Filter())
	r.Account, r.Complete = o.Account, source.Complete()
	r.Read, r.Total = source.Progress()
	r.Hidden = source.Status().Parts()
	if err == nil {
		err = r.ask(past.Filter())
	}
	return r, err
}

func (r *Report) ask(f *filter.Filter) error {
	r.Questions, r.Threshold = []desk.Question{}, f.Status.Counts().Threshold
	found, err := f.Messages.Ask(desk.MostInvited, f.State().Account.LastArrival.Add(-desk.AskDays*24*time.Hour))
	if err != nil {
		return err
	}
	for _, k := range found.Messages {
		x, err := f.Explainer.Features(k)
		if err != nil {
			return err
		}
		r.Questions = append(r.Questions, desk.QuestionOf(f, k, x))
	}
	return nil
}

// follow reports the progress of a source until the returned function is called.
func follow(progress func(done, total int), source PastSource) (stop func()) {
	if progress == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				progress(source.Progress())
			case <-done:
				progress(source.Progress())
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// report judges what an account has decided and learnt so far. It reads
// nothing but the state, so that it does not matter in how many calls that came
// about.
func report(f *filter.Filter) Report {
	st := f.State()
	rows := make([]store.Message, 0, st.Messages.Len())
	for _, k := range st.Messages.Keys() {
		m, _ := st.Messages.Get(k)
		rows = append(rows, m)
	}
	slices.SortFunc(rows, func(a, b store.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	r := Report{
		Messages: len(rows), Judgement: desk.JudgementOf(f),
		InShadow: f.Line().InShadow(), Marking: words.Marking(f), EndOfShadow: words.EndOfShadow(f),
	}
	for _, name := range st.Boxes.Keys() {
		box, _ := st.Boxes.Get(name)
		r.SentFolder = r.SentFolder || ingest.Role(box.Role) == ingest.RoleSent
	}
	for _, m := range rows {
		switch {
		case m.Own:
			r.Own++
		case m.Outcome == store.Undecided:
		case m.Label == 0 && m.Quiet == store.QuietUnknown:
			r.Unknown++
		case m.Label == 0:
			r.Open++
		default:
			r.Labelled++
			if m.Label > 0 {
				r.Important++
			}
			if m.Reason == store.ReasonTooFewLabels {
				r.Early++
			}
		}
	}
	if len(rows) > 0 {
		r.From, r.To = desk.TimeOf(rows[0].Arrived), desk.TimeOf(rows[len(rows)-1].Arrived)
	}
	return r
}
