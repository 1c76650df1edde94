// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/measure/ceiling"
	"github.com/hinged/hinged/internal/measure/whatif"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Host says where accounts live. Hosts are safe for concurrent use unless they say
// otherwise.
type Host interface {
	// Account finds an account; "" means the only one. ErrNoAccount.
	Account(ctx context.Context, name string) (Account, error)
	// Each calls fn with every account, one after another, in order of name where
	// they are of one kind.
	Each(ctx context.Context, fn func(*Desk) error) error
	// Status says how all accounts are doing.
	Status(ctx context.Context) (Status, error)
	// Store gives the store to fn, and the files of partitions of Kafka; with write fn may change
	// them. fn must not keep them.
	Store(write bool, fn func(*boltfile.Store, *stream.Files) error) error
	// WhatIfs are the what-if runs over accounts of this host, which owns them.
	WhatIfs() *whatif.Runs
	// Backups are the backups that the daemon makes of its store.
	Backups() Backups
	// Dashboard returns a new link that opens the pages. ErrNoDashboard.
	Dashboard(ctx context.Context) (DashboardLink, error)
}

// Backups are the backups that a daemon makes of its store on a schedule.
type Backups interface {
	// List returns their files, the oldest first.
	List() ([]string, error)
	// Renew puts one backup of the present state in the place of all that are there, and
	// returns how many it deleted. If none can be made, all stay.
	Renew(ctx context.Context) (deleted int, err error)
}

// Account is one account where it lives, for one request.
type Account interface {
	// Look calls fn with committed state; fn must change nothing.
	Look(ctx context.Context, fn func(*Desk) error) error
	// Change calls fn, which may apply events. They are committed when Change
	// returns nil. ErrStreamAccount: it is a Sender.
	Change(ctx context.Context, fn func(*Desk) error) error
	// Undo is Change for marks, which are on a mail server: it waits for that. problem
	// says what is wrong with the connection if the server confirmed nothing in time.
	Undo(ctx context.Context, u MarkUndo) (problem string, err error)
	// Status says how the account is doing, as in the Host's Status.
	Status(ctx context.Context) (AccountStatus, error)
	// Reader reads messages as the account does.
	Reader(ctx context.Context) (*pipeline.Reader, error)
	// Mail reaches the account's mail; an error says in words why nothing does.
	Mail() (Mail, error)
}

// Mail reads headers from a mail server and puts letters of hinged's there.
type Mail interface {
	ingest.HeaderReader
	ingest.Poster
}

// MarkUndo is how marks are taken back.
type MarkUndo struct {
	// Begin asks for marks to be taken back and returns their numbers in the ledger.
	Begin func(*Desk) ([]uint64, error)
	// Progress is called with what is committed as often as something may have come of
	// it. It returns how many the server has not confirmed (waiting), and those together
	// with the ones that are in no mailbox (left).
	Progress func(*Desk) (waiting, left int)
	// Patience is for how long nothing may come of it before waiting ends.
	Patience time.Duration
}

// Sender is an Account that only records of an input topic of Kafka change. Send waits
// until the brokers have them.
type Sender interface {
	Send(ctx context.Context, events ...kafka.Event) error
}

// Desk is one account at hand, inside Look or Change.
type Desk struct {
	Account string
	// Filter is nil for an account that was taken over and has not come in yet. Only
	// Each gives such.
	Filter *filter.Filter
	Past   Past
	// Now gives moments that may be journaled.
	Now func() store.Moment
	// Rewrites counts how often the lessons were renumbered. Ceilings caches ceilings
	// between two questions; nil: they are not cached.
	Rewrites int
	Ceilings *ceiling.Kept

	// Alone: marks are taken back by a connection for that alone. Unwilling has what
	// the server said of those that it would not take back, by number.
	Alone     bool
	Unwilling map[uint64]string

	// Apply gives an event to the filter, and Rewrite one that goes over the past,
	// which it commits by itself. After an error of Apply the account can't go on. Both
	// are nil inside Look.
	Apply   func(filter.Event) (filter.Result, error)
	Rewrite func(past.RewriteRequest) (past.Rewritten, error)
}

// Past reads what a store keeps of an account beside its state. It is safe for
// concurrent use, also beside the account's writer.
type Past struct {
	Store   *boltfile.Store
	Account string
}

// Errors.
var (
	// ErrNoAccount is wrapped when an account is named that does not exist, or none
	// is named where there are several.
	ErrNoAccount = errors.New("no such account")
	// ErrNoMessage is wrapped when a message is asked for that is not known.
	ErrNoMessage = errors.New("no such message")
	// ErrNoWords is wrapped, beside ErrNoMessage, when a message is to be explained that is
	// known, but not by its words.
	ErrNoWords = errors.New("hinged doesn't keep its words")
	// ErrPaused is wrapped when a paused account is asked to learn.
	ErrPaused = errors.New("the account is paused")
	// ErrStopped is wrapped when an account is asked that can't go on.
	ErrStopped = errors.New("the account is stopped")
	// ErrStreamAccount is wrapped when an account of a stream is to be changed by
	// anything but a record of the input topic.
	ErrStreamAccount = errors.New("its mail comes through Kafka, so only records in the input topic change it (docs/kafka.md)")
)

// Pick resolves the name of an account.
func Pick(names []string, account string) (string, error) {
	switch {
	case account == "" && len(names) == 1:
		return names[0], nil
	case account == "" && len(names) == 0:
		return "", fmt.Errorf("%w: the store is empty; has the daemon run yet?", ErrNoAccount)
	case account == "":
		return "", fmt.Errorf("%w: there are several; name one of %s", ErrNoAccount, strings.Join(names, ", "))
	case !slices.Contains(names, account):
		return "", fmt.Errorf("%w: %s is not one of %s", ErrNoAccount, account, strings.Join(names, ", "))
	}
	return account, nil
}
