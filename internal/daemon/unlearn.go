package daemon

import (
	"context"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

// Unlearn says which lessons are to be taken back.
type Unlearn struct {
	// Since: those learnt then and later.
	Since time.Time `json:"since"`
	// DryRun: only say what would be taken back.
	DryRun bool `json:"dry_run,omitempty"`
}

// Unlearned is what `hinged undo --learning` did, or with --dry-run would do.
type Unlearned struct {
	// Account whose lessons they are.
	Account string `json:"account"`
	// DryRun: nothing was changed, and what is said to be taken back would be.
	DryRun bool `json:"dry_run"`
	// Since: lessons learnt earlier stay.
	Since time.Time `json:"since"`
	// Lessons counts those taken back.
	Lessons int `json:"lessons"`
	// Important counts those of them that called a message important.
	Important int `json:"important"`
	// Ordinary counts the others.
	Ordinary int `json:"ordinary"`
	// Pending counts labels that were given, not yet learnt, and dropped with them.
	Pending int `json:"pending"`
	// First is when the first of them was learnt.
	First *time.Time `json:"first,omitempty"`
	// Last is when the last of them was.
	Last *time.Time `json:"last,omitempty"`
	// Left is how many lessons stay.
	Left uint64 `json:"left"`
	// Marking says in words whether marks are set with what is left.
	Marking string `json:"marking"`
	// Sent: it was handed to the input topic of Kafka, and is done when its turn
	// comes there; the numbers say what it would have taken back just now.
	Sent bool `json:"sent,omitempty"`
}

// unlearn takes lessons back. It runs in the writer goroutine, or where there is
// none.
func (a *account) unlearn(u Unlearn) (Unlearned, error) {
	out := Unlearned{Account: a.opts.Name, DryRun: u.DryRun, Since: u.Since}
	r, err := a.takeBack(&filter.Unlearnt{At: a.clock.now(), Since: store.MomentOf(u.Since)}, u.DryRun)
	if err != nil {
		return out, tooEarly(err, "--since %s is the earliest")
	}
	out.Lessons, out.Important, out.Ordinary = r.Lessons, r.Important, r.Lessons-r.Important
	out.Pending, out.First, out.Last = r.Pending, timeOf(r.First), timeOf(r.Last)
	st := a.filter.State().Account
	if out.Left = st.Important + st.Ordinary; u.DryRun {
		out.Left -= uint64(r.Lessons)
	}
	out.Marking = a.filter.Marking()
	return out, nil
}

// Unlearn implements Backend.
func (d *Daemon) Unlearn(ctx context.Context, name string, u Unlearn) (out Unlearned, err error) {
	if stream.IsAccount(name) {
		return d.sendUnlearn(ctx, name, u)
	}
	a, err := d.account(name)
	if err != nil {
		return out, err
	}
	err = a.do(ctx, func() error {
		out, err = a.unlearn(u)
		return err
	})
	return out, err
}

// Unlearn implements Backend.
func (c *Client) Unlearn(ctx context.Context, name string, u Unlearn) (Unlearned, error) {
	return post[Unlearned](ctx, c, "/v1/unlearn", name, u)
}

// Unlearn implements Backend.
func (o *Offline) Unlearn(_ context.Context, name string, u Unlearn) (out Unlearned, err error) {
	if u.DryRun {
		a, err := o.looking(name)
		if err != nil {
			return out, err
		}
		return a.unlearn(u)
	}
	err = o.write(name, func(a *account) error { out, err = a.unlearn(u); return err })
	return out, err
}
