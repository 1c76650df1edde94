package daemon

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	netmail "net/mail"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

// Forget says what is to be forgotten: one of a message, a sender and a time.
type Forget struct {
	// Message is a Message-ID, the hexadecimal key of a message or the beginning of
	// one, at least 8 digits.
	Message string `json:"message,omitempty"`
	// Sender is an address.
	Sender string `json:"sender,omitempty"`
	// Before: everything from before it.
	Before *time.Time `json:"before,omitempty"`
	// DryRun: only say what would be forgotten.
	DryRun bool `json:"dry_run,omitempty"`
}

// Forgotten is what `hinged forget` did, or with --dry-run would do.
type Forgotten struct {
	// Account that forgot it.
	Account string `json:"account"`
	// DryRun: nothing was changed, and what is said to be forgotten would be.
	DryRun bool `json:"dry_run"`
	// Message is the key of the message that was named, in hexadecimal.
	Message string `json:"message,omitempty"`
	// Sender that was named.
	Sender string `json:"sender,omitempty"`
	// Before is the time that was named.
	Before *time.Time `json:"before,omitempty"`
	// Messages counts those forgotten, with their words.
	Messages int `json:"messages"`
	// Lessons counts those taken back.
	Lessons int `json:"lessons"`
	// Important counts those of them that called a message important.
	Important int `json:"important"`
	// Ordinary counts the others.
	Ordinary int `json:"ordinary"`
	// Marks counts entries of the ledger. The marks themselves stay on the server.
	Marks int `json:"marks"`
	// Senders counts addresses of which nothing is remembered any more.
	Senders int `json:"senders"`
	// Scrubbed: nothing of it is in the store's file any more, free pages included.
	Scrubbed bool `json:"scrubbed"`
	// Why it is not, in words.
	Why string `json:"why,omitempty"`
	// Sent: it was handed to the input topic of Kafka, and is done when its turn
	// comes there; the numbers say what it would have forgotten just now.
	Sent bool `json:"sent,omitempty"`
	// Copies are files beside the store that know it still. Backups and exports
	// elsewhere are not known to hinged.
	Copies []string `json:"copies"`
}

// ErrForget is wrapped when it is not clear what is to be forgotten.
var ErrForget = errors.New("say one of a message, a sender and a time to forget")

// event finds what f names.
func (f Forget) event(a *account, out *Forgotten) (*filter.Forgot, error) {
	e := &filter.Forgot{At: a.clock.now()}
	switch {
	case f.Message != "" && f.Sender == "" && f.Before == nil:
		k, err := findMessage(a.filter.State(), f.Message)
		if err != nil {
			return nil, err
		}
		e.Key, out.Message = k, hex.EncodeToString(k[:])
	case f.Message == "" && f.Sender != "" && f.Before == nil:
		address, err := bareAddress(f.Sender)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(a.filter.Options().Featurize.Owner, func(own string) bool { return strings.EqualFold(own, address) }) {
			return nil, fmt.Errorf("%w: %s is the owner's own address", ErrForget, address)
		}
		e.Sender, out.Sender = filter.SenderOf(address), address
	case f.Message == "" && f.Sender == "" && f.Before != nil:
		e.Before, out.Before = store.MomentOf(*f.Before), f.Before
	default:
		return nil, ErrForget
	}
	return e, nil
}

// bareAddress is the address in what may be one with a name, in lower case.
func bareAddress(s string) (string, error) {
	a, err := netmail.ParseAddress(s)
	if err != nil {
		return "", fmt.Errorf("%w: %q is no address", ErrForget, s)
	}
	return strings.ToLower(a.Address), nil
}

// forget takes something out of what the account remembers. It runs in the writer
// goroutine, or where there is none.
func (a *account) forget(f Forget) (Forgotten, error) {
	out := Forgotten{Account: a.opts.Name, DryRun: f.DryRun, Copies: []string{}}
	e, err := f.event(a, &out)
	if err != nil {
		return out, err
	}
	r, err := a.takeBack(e, f.DryRun)
	if err != nil {
		return out, tooEarly(err, "forgetting everything before %s forgets it with all else of that time")
	}
	out.Messages, out.Marks, out.Senders = r.Messages, r.Marks, r.Senders
	out.Lessons, out.Important, out.Ordinary = r.Lessons, r.Important, r.Lessons-r.Important
	return out, nil
}

// scrub sees to it that the file does not know it either, and says who does.
func (f *Forgotten) scrub(s *store.Store) {
	f.Copies = copiesOf(s.Path())
	if f.DryRun {
		return
	}
	if err := s.Scrub(); err != nil {
		f.Why = err.Error()
		return
	}
	f.Scrubbed = true
}

// Forget implements Backend.
func (d *Daemon) Forget(ctx context.Context, name string, f Forget) (out Forgotten, err error) {
	if stream.IsAccount(name) {
		return d.sendForget(ctx, name, f)
	}
	a, err := d.account(name)
	if err != nil {
		return out, err
	}
	err = a.do(ctx, func() error {
		out, err = a.forget(f)
		return err
	})
	if err == nil {
		out.scrub(d.store)
	}
	return out, err
}

// Forget implements Backend.
func (c *Client) Forget(ctx context.Context, name string, f Forget) (Forgotten, error) {
	return post[Forgotten](ctx, c, "/v1/forget", name, f)
}

// Forget implements Backend.
func (o *Offline) Forget(_ context.Context, name string, f Forget) (out Forgotten, err error) {
	if f.DryRun {
		a, err := o.looking(name)
		if err != nil {
			return out, err
		}
		if out, err = a.forget(f); err == nil {
			out.scrub(o.store)
		}
		return out, err
	}
	err = o.write(name, func(a *account) error {
		if out, err = a.forget(f); err == nil {
			out.scrub(a.store)
		}
		return err
	})
	return out, err
}
