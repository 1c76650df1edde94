// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
)

// Reloaded says what a reload changed: names of accounts, in order.
type Reloaded struct {
	Added, Changed, Removed []string
	// Unchanged counts the accounts that went on undisturbed.
	Unchanged int
	Stream    bool // the stream goes on with other options
}

// reload is one call of Reload. done is closed when it is over.
type reload struct {
	ctx      context.Context // of the call
	accounts []AccountOptions
	stream   *stream.Options
	done     chan struct{}
	out      Reloaded
	err      error
}

// renewal are options that an account is to go on with.
type renewal struct {
	opts    AccountOptions
	adopted chan struct{} // closed when they are in force
}

var errNotRunning = errors.New("the daemon is not running")

// Reload has the daemon go on with these accounts while it runs. An account that is there
// with the same Settings goes on undisturbed, connection and all. One with others ends its
// connections, decides and commits what was reported by then, and resumes from that with
// the new options; requests for it wait meanwhile. One that is not among them ends in the
// same way, and its state stays. One that had stopped for good is tried again.
//
// s are other options of the stream, used as stream.Engine.Renew does; nil: it goes on
// undisturbed, as it must if the daemon has none. If it gets another Broker, the caller then
// closes the old one, or the new one if Reloaded.Stream is false.
//
// What can be found wrong with the new options is found before anything changes; then the
// error says what, and all goes on as before. Any other error is about an account that
// could not go on; the others did.
//
// Reload works while Run does, also before it was called. Safe for concurrent use.
func (d *Daemon) Reload(ctx context.Context, accounts []AccountOptions, s *stream.Options) (Reloaded, error) {
	r := &reload{ctx: ctx, accounts: accounts, stream: s, done: make(chan struct{})}
	select {
	case d.reloads <- r:
	case <-d.gone:
		return Reloaded{}, errNotRunning
	case <-ctx.Done():
		return Reloaded{}, ctx.Err()
	}
	<-r.done // not ctx: it is at work, and looks at ctx itself
	return r.out, r.err
}

// reload carries out one Reload.
func (r *running) reload(l *reload) {
	changed, added, err := r.prepare(l)
	if err != nil {
		l.err = err
		return
	}
	kept := make([]*account, 0, len(l.accounts)) // in the order of the configuration
	named := map[string]*account{}
	for _, a := range added {
		named[a.opts.Name] = a
	}
	var leaving []*account
	for _, a := range r.d.all() {
		name := a.opts.Name
		if _, again := named[name]; again {
			continue // it had stopped, and is opened anew
		}
		if slices.ContainsFunc(l.accounts, func(o AccountOptions) bool { return o.Name == name }) {
			named[name] = a
		} else {
			leaving = append(leaving, a)
			l.out.Removed = append(l.out.Removed, name)
		}
	}
	for _, o := range l.accounts {
		kept = append(kept, named[o.Name])
	}
	for _, a := range leaving {
		a.cancel()
	}
	for _, a := range leaving {
		<-a.gone // what it was told is committed
	}
	l.err = renewAll(l.ctx, changed)
	for a := range changed {
		l.out.Changed = append(l.out.Changed, a.opts.Name)
	}
	if l.stream != nil {
		l.err = errors.Join(l.err, r.renewStream(l))
	}
	r.d.accounts.Store(&kept)
	for _, a := range added {
		r.begin(a)
		l.out.Added = append(l.out.Added, a.opts.Name)
	}
	slices.Sort(l.out.Added)
	slices.Sort(l.out.Changed)
	slices.Sort(l.out.Removed)
	l.out.Unchanged = len(kept) - len(added) - len(changed)
}

func (r *running) renewStream(l *reload) error {
	if err := r.d.stream.Renew(l.ctx, *l.stream); err != nil {
		return err
	}
	l.out.Stream = true
	if r.failed[""] != nil {
		delete(r.failed, "")
		r.beginStream()
	}
	return nil
}

// prepare finds out which accounts get other options, and opens those that are new. It
// does all that can fail because of what the options say.
func (r *running) prepare(l *reload) (changed map[*account]AccountOptions, added []*account, err error) {
	changed = map[*account]AccountOptions{}
	if l.stream != nil {
		if r.d.stream == nil {
			return nil, nil, errors.New("this daemon has no stream")
		}
		if err := r.d.stream.Check(*l.stream); err != nil {
			return nil, nil, err
		}
	}
	for _, o := range l.accounts {
		i := slices.IndexFunc(r.d.all(), func(a *account) bool { return a.opts.Name == o.Name })
		if i < 0 || r.d.all()[i].ended() {
			a, err := r.d.open(o)
			if err != nil {
				return nil, nil, err
			}
			added = append(added, a)
			continue
		}
		a := r.d.all()[i]
		if o.Settings != "" && o.Settings == a.settings {
			continue
		}
		_, err := o.NewSource(nil)
		if err == nil {
			err = o.Filter.Validate()
		}
		if err == nil {
			_, err = r.d.mail.Reader(o.Filter.Featurize)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("account %s: %w", o.Name, err)
		}
		changed[a] = o
	}
	return changed, added, nil
}

// renewAll gives accounts other options, all at once, and waits until these are in force.
func renewAll(ctx context.Context, changed map[*account]AccountOptions) error {
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for a, o := range changed {
		all.Go(func() {
			if err := a.renew(ctx, o); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (a *account) ended() bool {
	select {
	case <-a.gone:
		return true
	default:
		return false
	}
}

// renew has the account go on with other options, and returns when they are in force.
func (a *account) renew(ctx context.Context, o AccountOptions) error {
	n := &renewal{o, make(chan struct{})}
	err := a.do(ctx, func() error {
		a.next = n
		if a.stop != nil {
			a.stop() // what was reported by then is still taken
		}
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case <-n.adopted:
		a.settings = o.Settings
		return nil
	case <-a.gone:
		return a.stoppedError()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// adopt goes on with the options of a renewal. It runs in the writer goroutine, between
// two runs of the source.
func (a *account) adopt(ctx context.Context) error {
	n := a.next
	a.next = nil
	reader, err := a.opts.mail.Reader(n.opts.Filter.Featurize)
	if err != nil {
		return err
	}
	a.opts.Filter, a.opts.Prior, a.opts.NewSource = n.opts.Filter, n.opts.Prior, n.opts.NewSource
	a.opts.AddressBook = n.opts.AddressBook
	a.book.Store(nil)
	a.reader.Store(reader)
	a.markless.Clear()
	a.strangers = false
	a.marks = nil // the next run of the source is asked for what is open
	if !a.configured() {
		if err := a.configure(a.clock.now()); err != nil {
			return err
		}
	}
	if err := a.commitUntil(ctx); err != nil {
		return err
	}
	if err := a.renewSource(); err != nil {
		return err
	}
	a.log.Info("the account goes on with other settings")
	close(n.adopted)
	return nil
}

func (a *account) configured() bool {
	booked := a.opts.AddressBook != nil || a.filter.State().Book.Len() == 0
	return a.filter.Configured(a.opts.Filter) && a.filter.Primed(a.opts.Prior) && booked
}

func (a *account) configure(at store.Moment) error {
	_, err := a.apply(&filter.Configured{At: at, Options: a.opts.Filter})
	if err == nil {
		_, err = a.apply(&filter.Primed{At: at, Weights: a.opts.Prior})
	}
	if err == nil && a.opts.AddressBook == nil {
		err = a.knowBook(nil)
	}
	return err
}
