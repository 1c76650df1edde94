// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	netmail "net/mail"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Forget takes a message, a sender or a time out of what the account remembers, and
// out of the store's file. ErrTooEarly as Unlearn.
var Forget = Verb[ForgetRequest, ForgottenMail]{"forget", http.MethodPost, forget}

// ForgetRequest says what is to be forgotten: one of a message, a sender and a time.
type ForgetRequest struct {
	// Message is a Message-ID, the hexadecimal key of a message or the beginning of
	// one, at least 8 digits.
	Message string     `json:"message,omitempty"`
	Sender  string     `json:"sender,omitempty"`  // Sender is an address.
	Before  *time.Time `json:"before,omitempty"`  // Before: everything from before it.
	DryRun  bool       `json:"dry_run,omitempty"` // DryRun: only say what would be forgotten.
}

// ForgottenMail is what `hinged forget` did or, with --dry-run, would do.
type ForgottenMail struct {
	Account string `json:"account"` // Account is the account that forgot the mail.
	// DryRun reports whether this was a dry run. If so, nothing was changed, and the
	// figures say what would be forgotten.
	DryRun    bool       `json:"dry_run"`
	Message   string     `json:"message,omitempty"` // Message is the key of the message that was to be forgotten, in hexadecimal.
	Sender    string     `json:"sender,omitempty"`  // Sender is the sender that was to be forgotten.
	Before    *time.Time `json:"before,omitempty"`  // Before is the time before which everything was to be forgotten.
	Messages  int        `json:"messages"`          // Messages counts the forgotten messages. Their words are gone, too.
	Lessons   int        `json:"lessons"`           // Lessons counts the lessons taken back.
	Important int        `json:"important"`         // Important counts those of the lessons that called a message important.
	Ordinary  int        `json:"ordinary"`          // Ordinary counts those that called a message ordinary.
	Marks     int        `json:"marks"`             // Marks counts the forgotten entries of the ledger. The marks themselves stay on the server.
	Senders   int        `json:"senders"`           // Senders counts addresses about which nothing is remembered any more.
	Scrubbed  bool       `json:"scrubbed"`          // Scrubbed reports whether nothing of the mail is left in the store's file, including its free pages.
	Why       string     `json:"why,omitempty"`     // Why says in words why the file was not scrubbed.
	// Sent reports whether the request was written to Kafka's input topic. It takes
	// effect when its turn comes. The figures say what it would have forgotten at this
	// moment.
	Sent bool `json:"sent,omitempty"`
	// Backups counts the backups that hinged had made by itself and has replaced by a new
	// one, since they contained the mail.
	Backups int `json:"backups"`
	// BackupProblem says in words why those were not replaced; copies lists them then.
	BackupProblem string `json:"backup_problem,omitempty"`
	// Copies are backups of hinged's own, and files next to the store, that still contain
	// the mail. hinged doesn't know about backups and exports elsewhere.
	Copies []string `json:"copies"`
}

// ErrForget is wrapped when it is not clear what is to be forgotten.
var ErrForget = errors.New("name one thing to forget: a message, a sender or a time")

func forget(ctx context.Context, h Host, account string, q ForgetRequest) (out ForgottenMail, err error) {
	a, err := h.Account(ctx, account)
	if err != nil {
		return out, err
	}
	var e *past.ForgetRequested
	out.Sent, err = rewrite(ctx, a, q.DryRun, func(d *Desk, dry bool) error {
		out = ForgottenMail{Account: d.Account, Copies: []string{}}
		if e, err = q.event(d, &out); err != nil {
			return err
		}
		r, err := d.rewrite(ctx, e, dry)
		if err != nil {
			return tooEarly(err, "forgetting everything before %s would forget it, together with everything else from that time")
		}
		out.Messages, out.Marks, out.Senders = r.Messages, r.Marks, r.Senders
		out.Lessons, out.Important, out.Ordinary = r.Lessons, r.Important, r.Lessons-r.Important
		return nil
	}, func() kafka.Event {
		switch {
		case q.Message != "":
			return kafka.Forget{Message: &kafka.Ref{Key: e.Key}}
		case q.Sender != "":
			return kafka.Forget{Sender: out.Sender}
		}
		return kafka.Forget{Before: *q.Before}
	})
	out.DryRun = q.DryRun
	if err != nil {
		return out, err
	}
	scrub := !q.DryRun && !out.Sent
	err = h.Store(scrub, func(own *boltfile.Store, files *stream.Files) error {
		for _, s := range files.And(own) {
			beside, err := boltfile.Copies(s.Path())
			if err != nil {
				return err
			}
			out.Copies = append(out.Copies, beside...)
		}
		if !scrub {
			return nil
		}
		return own.Scrub(ctx) // the file must not know it either
	})
	switch {
	case out.Sent:
		out.Why = "it goes through the input topic of Kafka; the file is rewritten when it has been read there"
	case scrub && err != nil:
		// It is forgotten all the same, and the next start of a daemon scrubs.
		out.Why = err.Error()
		if ctx.Err() != nil {
			out.Why = "it was interrupted; the next start of the daemon does the rest"
		}
		err = nil
	}
	out.Scrubbed = scrub && out.Why == ""
	if err == nil {
		err = out.forgetBackups(ctx, h.Backups(), scrub)
	}
	return out, err
}

// forgetBackups has the backups that are made by themselves replaced by one that has
// forgotten too, or lists them.
func (m *ForgottenMail) forgetBackups(ctx context.Context, b Backups, replace bool) error {
	if replace {
		var err error
		if m.Backups, err = b.Renew(ctx); err == nil {
			return nil
		}
		m.BackupProblem = err.Error()
	}
	have, err := b.List()
	m.Copies = append(m.Copies, have...)
	return err
}

// event finds what q names.
func (q ForgetRequest) event(d *Desk, out *ForgottenMail) (*past.ForgetRequested, error) {
	e := &past.ForgetRequested{At: d.Now()}
	switch {
	case q.Message != "" && q.Sender == "" && q.Before == nil:
		k, err := findMessage(d.Filter, q.Message)
		if err != nil {
			return nil, err
		}
		e.Key, out.Message = k, hexKey(k)
	case q.Message == "" && q.Sender != "" && q.Before == nil:
		address, err := bareAddress(q.Sender)
		if err != nil {
			return nil, err
		}
		if d.Filter.People.IsOwner(address) {
			return nil, fmt.Errorf("%w: %s is the owner's own address", ErrForget, address)
		}
		e.Sender, out.Sender = filter.SenderOf(address), address
	case q.Message == "" && q.Sender == "" && q.Before != nil:
		e.Before, out.Before = store.MomentOf(*q.Before), q.Before
	default:
		return nil, ErrForget
	}
	return e, nil
}

// bareAddress is the address in what may be one with a name, in lower case.
func bareAddress(s string) (string, error) {
	a, err := netmail.ParseAddress(s)
	if err != nil {
		return "", fmt.Errorf("%w: %q is not an address", ErrForget, s)
	}
	return strings.ToLower(a.Address), nil
}
