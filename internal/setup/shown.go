// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
)

// shownNote says on which message of an account marks are shown, and which flags were set
// for that. It is in a file of the state directory as long as they may be there, so that
// whoever runs next takes them off, even after a kill.
type shownNote struct {
	Mailbox     string   `json:"mailbox"`
	UIDValidity uint32   `json:"uid_validity"`
	UID         uint32   `json:"uid"`
	Flags       []string `json:"flags"`
}

func (n shownNote) place() ingest.Place {
	return ingest.Place{Mailbox: n.Mailbox, UIDValidity: n.UIDValidity, UID: n.UID}
}

// notePath is where the note of an account is.
func notePath(stateDir, account string) string {
	return filepath.Join(stateDir, "shown-"+account+".json")
}

// write makes the note. The error wraps ErrExists where there is one. The daemon, which
// may be another user, can read it; the directory keeps others out.
func (n shownNote) write(stateDir, account string) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if _, err := os.Stat(stateDir); errors.Is(err, fs.ErrNotExist) {
		if os.Geteuid() == 0 {
			return fmt.Errorf("%s does not exist; hinged makes it at its first start, for the user that it runs as", stateDir)
		}
		if err := os.MkdirAll(stateDir, 0o700); err != nil {
			return err
		}
	}
	return Write(false, File{notePath(stateDir, account), append(data, '\n'), 0o644})
}

// readNote reads the note of an account; ok is false when there is none.
func readNote(stateDir, account string) (n shownNote, ok bool, err error) {
	data, err := os.ReadFile(notePath(stateDir, account))
	if errors.Is(err, fs.ErrNotExist) {
		return n, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil {
		return n, true, fmt.Errorf("read the note of a shown mark: %w", err)
	}
	return n, true, nil
}

// errUnreached is wrapped by TakeOffShown when the server could not be asked at all.
var errUnreached = errors.New("the server was not reached")

// TakeOffShown takes off what an interrupted `hinged check --show-mark` left on a message
// of the account: exactly the flags that it set. taken is false when nothing was left, or
// when the error says why it may still be there. o says how to reach the mailbox.
func TakeOffShown(ctx context.Context, stateDir, account string, o imap.Options) (taken bool, err error) {
	n, ok, err := readNote(stateDir, account)
	if !ok || err != nil {
		return false, err
	}
	p, err := imap.Reach(ctx, o)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errUnreached, err)
	}
	defer p.Close()
	if err := p.Login(ctx); err != nil {
		return false, fmt.Errorf("%w: %w", errUnreached, err)
	}
	if err := p.TakeOff(ctx, n.place(), n.Flags...); err != nil {
		return false, fmt.Errorf("the marks that were shown on UID %d in %s may still be there: %w", n.UID, n.Mailbox, err)
	}
	return true, removeNote(stateDir, account)
}

// removeNote removes the note, unless somebody else, who took the marks off, did.
func removeNote(stateDir, account string) error {
	err := os.Remove(notePath(stateDir, account))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tidied is a source that takes a shown mark off before it watches: to the source it
// would be the owner's word.
type tidied struct {
	ingest.Source
	stateDir, account string
	o                 imap.Options
	problem           atomic.Pointer[string]
}

// Tidied returns source, which takes off what `hinged check --show-mark` left behind
// before it watches the account.
func Tidied(source ingest.Source, stateDir, account string, o imap.Options) ingest.Source {
	return &tidied{Source: source, stateDir: stateDir, account: account, o: o}
}

// Headers implements ingest.HeaderReader as far as the source does.
func (t *tidied) Headers(ctx context.Context, places []ingest.Place) (map[ingest.Place][]byte, error) {
	if h, ok := t.Source.(ingest.HeaderReader); ok {
		return h.Headers(ctx, places)
	}
	return nil, errors.ErrUnsupported
}

// Post implements ingest.Poster as far as the source does.
func (t *tidied) Post(ctx context.Context, mailbox, messageID string, raw []byte) error {
	if p, ok := t.Source.(ingest.Poster); ok {
		return p.Post(ctx, mailbox, messageID, raw)
	}
	return errors.ErrUnsupported
}

// Longest and shortest wait between two attempts to reach the server.
const (
	tidySoonest = 5 * time.Second
	tidyLatest  = 5 * time.Minute
)

// Run implements ingest.Source.
func (t *tidied) Run(ctx context.Context, emit ingest.Emit) error {
	log := t.o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = tidySoonest, tidyLatest
	for {
		taken, err := TakeOffShown(ctx, t.stateDir, t.account, t.o)
		if taken {
			log.Info("took off a mark that was shown")
		}
		if err == nil {
			break
		}
		log.Warn("a mark that was shown was not taken off", "error", err)
		if !errors.Is(err, errUnreached) {
			break // it would fail again; the companion tells this mark from the owner's
		}
		problem := err.Error()
		t.problem.Store(&problem)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait.NextBackOff()):
		}
	}
	t.problem.Store(nil)
	return t.Source.Run(ctx, emit)
}

// Status implements ingest.Source.
func (t *tidied) Status() ingest.Status {
	if p := t.problem.Load(); p != nil {
		return ingest.Status{Problem: *p}
	}
	return t.Source.Status()
}
