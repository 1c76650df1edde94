// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"net/http"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
)

// Unlearn takes what is learnt back to what it was at a time. ErrTooEarly: the lessons
// do not reach back so far.
var Unlearn = ofAccount("unlearn", http.MethodPost, unlearn)

// UnlearnRequest says which lessons are to be taken back.
type UnlearnRequest struct {
	To     time.Time `json:"to"`                // To is the time to go back to: lessons learnt then and later are taken back.
	DryRun bool      `json:"dry_run,omitempty"` // DryRun: only say what would be taken back.
}

// UnlearntLessons is what `hinged undo --learning` did, or with --dry-run would do.
type UnlearntLessons struct {
	Account   string     `json:"account"`         // Account whose lessons they are.
	DryRun    bool       `json:"dry_run"`         // DryRun: nothing was changed, and what is said to be taken back would be.
	To        time.Time  `json:"to"`              // To is the time that was gone back to: lessons learnt earlier stay.
	Lessons   int        `json:"lessons"`         // Lessons counts those taken back.
	Important int        `json:"important"`       // Important counts those of them that called a message important.
	Ordinary  int        `json:"ordinary"`        // Ordinary counts the others.
	Pending   int        `json:"pending"`         // Pending counts labels that were given, not yet learnt, and dropped with them.
	First     *time.Time `json:"first,omitempty"` // First is when the first of them was learnt.
	Last      *time.Time `json:"last,omitempty"`  // Last is when the last of them was.
	Left      uint64     `json:"left"`            // Left is how many lessons stay.
	Marking   string     `json:"marking"`         // Marking says in words whether marks are set with what is left.
	// Sent: it was handed to the input topic of Kafka, and is done when its turn
	// comes there; the numbers say what it would have taken back just now.
	Sent bool `json:"sent,omitempty"`
}

func unlearn(ctx context.Context, a Account, q UnlearnRequest) (out UnlearntLessons, err error) {
	out.Sent, err = rewrite(ctx, a, q.DryRun, func(d *Desk, dry bool) (err error) {
		out, err = d.unlearn(q.To, dry)
		return err
	}, func() kafka.Event { return kafka.Unlearn{Since: q.To} })
	out.DryRun = q.DryRun
	return out, err
}

func (d *Desk) unlearn(to time.Time, dry bool) (UnlearntLessons, error) {
	out := UnlearntLessons{Account: d.Account, To: to}
	r, err := d.rewrite(&filter.UnlearnRequested{At: d.Now(), Since: store.MomentOf(to)}, dry)
	if err != nil {
		return out, tooEarly(err, "--to %s is the earliest")
	}
	out.Lessons, out.Important, out.Ordinary = r.Lessons, r.Important, r.Lessons-r.Important
	out.Pending, out.First, out.Last = r.Pending, TimeOf(r.First), TimeOf(r.Last)
	st := d.Filter.State().Account
	if out.Left = st.Important + st.Ordinary; dry {
		out.Left -= uint64(r.Lessons)
	}
	out.Marking = d.Filter.Marking()
	return out, nil
}
