// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	netmail "net/mail"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Forget takes a message, a sender or a time out of what the account remembers, and
// out of the store's file. ErrTooEarly as Unlearn.
var Forget = offer(Verb[ForgetRequest, ForgottenMail]{
	Name: "forget", Slow: true,
	Help: &Help{
		Group: ToCorrect,
		Use:   "forget --message MESSAGE | --sender ADDRESS | --before TIME",
		Short: "Forget a message, a sender, or everything before a time",
		Long: `Forget a message, all messages of a sender, or all that arrived before a time:
what hinged learnt from them, their words, their part in the counts of senders
and threads, and their entries in the ledger. hinged then learns the other
lessons again without them, and rewrites the store's file. This can't be undone.

Nothing changes on the server: the message and its mark stay. To remove the
mark, use ` + "`hinged undo --marks`" + ` first. hinged doesn't read a message again that
is still there, unless you move or copy it; then it counts as new mail.

The backups that hinged made by itself ([backups] in the configuration) are
replaced by a new one. Other backups and exports still contain what you forget.
Messages of other people that name a forgotten address stay, too. If you removed a message's mark,
or if it has a mark of hinged's, hinged keeps a hash of it, so that it never
marks it again.

MESSAGE is a Message-ID, the key of a message or its first 8 digits or more, or
a file with the message.`,
		Example: `  $ hinged forget --sender newsletter@example.org
  me: 42 messages would be forgotten, and 31 lessons (2 important, 29 ordinary)
  Forget that for good? [y/N] y

  me: 42 messages forgotten, and 31 lessons (2 important, 29 ordinary)
    3 backups of hinged's own had it; a new one takes their place
    nothing of it is in the store any more; other backups and exports still have it`,
		Question: "Forget that for good?",
	},
	Text: printForgotten,
	Problem: func(m ForgottenMail) error {
		if m.Why == "" || m.Sent {
			return nil
		}
		return errors.New("free pages of the store's file may still have it; `hinged verify --compact` clears them")
	},
	do: forget,
})

// ForgetRequest says what is to be forgotten: one of a message, a sender and a time.
type ForgetRequest struct {
	// Message is a Message-ID, the hexadecimal key of a message or the beginning of
	// one, at least 8 digits.
	Message string     `json:"message,omitempty" flag:"message" usage:"forget one MESSAGE" file:"key"`
	Sender  string     `json:"sender,omitempty" flag:"sender" usage:"forget everything from an ADDRESS"`                                         // Sender is an address.
	Before  *time.Time `json:"before,omitempty" flag:"before" usage:"forget what arrived before a TIME: 365d, 2026-03-01, 2026-03-01T09:00:00Z"` // Before: everything from before it.
	DryRun  bool       `json:"dry_run,omitempty" flag:"dry-run" usage:"say what would be forgotten, and change nothing"`                         // DryRun: only say what would be forgotten.
	Yes     bool       `json:"-" flag:"yes,y" usage:"don't ask"`
}

// Wrong returns a mistake in the request.
func (q ForgetRequest) Wrong() error {
	named := 0
	for _, is := range []bool{q.Message != "", q.Sender != "", q.Before != nil} {
		if is {
			named++
		}
	}
	if named != 1 {
		return ErrForget
	}
	return nil
}

// Nothing reports whether nothing would be forgotten.
func (m ForgottenMail) Nothing() bool { return m.Messages+m.Lessons+m.Marks+m.Senders == 0 }

// ForgottenMail is what `hinged forget` did or, with --dry-run, would do.
type ForgottenMail struct {
	Account   string     `json:"account"`           // Account is the account that forgot the mail.
	DryRun    bool       `json:"dry_run"`           // DryRun reports whether this was a dry run. If so, nothing was changed, and the figures say what would be forgotten.
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
	Sent          bool   `json:"sent,omitempty"`
	Backups       int    `json:"backups"`                  // Backups counts the backups that hinged had made by itself and has replaced by a new one, since they contained the mail.
	BackupProblem string `json:"backup_problem,omitempty"` // BackupProblem says in words why those were not replaced; copies lists them then.
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
			return kafka.Forget{Ref: kafka.Ref{Key: kafka.Key(e.Key)}}
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

func (q ForgetRequest) event(d *Desk, out *ForgottenMail) (*past.ForgetRequested, error) {
	e := &past.ForgetRequested{At: d.Now()}
	if err := q.Wrong(); err != nil {
		return nil, err
	}
	switch {
	case q.Message != "":
		k, err := findMessage(d.Filter, q.Message)
		if err != nil {
			return nil, err
		}
		e.Key, out.Message = k, hexKey(k)
	case q.Sender != "":
		address, err := bareAddress(q.Sender)
		if err != nil {
			return nil, err
		}
		if d.Filter.People.IsOwner(address) {
			return nil, fmt.Errorf("%w: %s is the owner's own address", ErrForget, address)
		}
		e.Sender, out.Sender = filter.SenderOf(address), address
	default:
		e.Before, out.Before = store.MomentOf(*q.Before), q.Before
	}
	return e, nil
}

func bareAddress(s string) (string, error) {
	a, err := netmail.ParseAddress(s)
	if err != nil {
		return "", fmt.Errorf("%w: %q is not an address", ErrForget, s)
	}
	return strings.ToLower(a.Address), nil
}

func printForgotten(w io.Writer, f ForgottenMail) (err error) {
	say := lines(w, &err)
	verb := "forgotten"
	if f.DryRun {
		verb = "would be forgotten"
	}
	if f.Sent {
		verb = "will be forgotten when its turn comes in the input topic of Kafka"
	}
	say("%s: %s %s, and %s%s", f.Account, Count(f.Messages, "message"), verb, Count(f.Lessons, "lesson"), kinds(f.Important, f.Ordinary))
	if f.Marks > 0 {
		say("  %s of the ledger; the %s on the server %s", plural(f.Marks, "1 entry", fmt.Sprintf("%d entries", f.Marks)),
			plural(f.Marks, "mark", "marks"), plural(f.Marks, "stays", "stay"))
	}
	if f.Backups > 0 {
		say("  %s of hinged's own had it; a new one takes their place", Count(f.Backups, "backup"))
	}
	if f.BackupProblem != "" {
		say("  the backups that hinged made could not be replaced: %s", f.BackupProblem)
	}
	switch {
	case f.DryRun:
	case f.Sent:
		say("  its records in the input topic stay as long as Kafka keeps them; backups and exports still have it")
	case f.Scrubbed:
		say("  nothing of it is in the store any more; other backups and exports still have it")
	default:
		say("  nothing of it can be read from the store any more, but free pages of its file may still have it: %s", f.Why)
	}
	for _, name := range f.Copies {
		say("  %s still has it, if hinged knew it then", name)
	}
	return err
}
