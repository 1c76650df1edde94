// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/addressbook"
	"github.com/hinged/hinged/internal/face/desk"
)

const (
	// bookPatience is how long an account whose address book was never read waits for it.
	bookPatience = 10 * time.Second
	// bookRetry is the longest time until the book is read again after that failed.
	bookRetry = 15 * time.Minute
)

// AddressBook says where an account's address book comes from.
type AddressBook struct {
	Read  func(ctx context.Context) (*addressbook.Book, error)
	Every time.Duration // between two readings
}

// beginBook reads the address book now and then until ctx is done. The source may begin when the
// channel is closed, and should not wait for long.
func (a *account) beginBook(ctx context.Context, wg *sync.WaitGroup) <-chan struct{} {
	known := make(chan struct{})
	var once sync.Once
	b := a.opts.AddressBook
	if b == nil || a.alone || a.filter.State().Book.Len() > 0 {
		once.Do(func() { close(known) })
	}
	if b != nil && !a.alone {
		wg.Go(func() {
			for ctx.Err() == nil {
				pause := b.Every
				if !a.readBook(ctx, b) {
					pause = min(pause, bookRetry)
				}
				once.Do(func() { close(known) })
				select {
				case <-ctx.Done():
				case <-time.After(pause - time.Duration(rand.Float64()*float64(pause)/10)): //nolint:gosec // spreads requests
				}
			}
		})
	}
	return known
}

// waitForBook waits until the address book is known, as long as that makes sense.
func waitForBook(ctx context.Context, known <-chan struct{}) {
	select {
	case <-known:
	case <-time.After(bookPatience):
	case <-ctx.Done():
	}
}

// readBook reads the address book and has the account know it. A book in which nothing is left is
// taken for a failure: the addresses that were known stay.
func (a *account) readBook(ctx context.Context, b *AddressBook) bool {
	book, err := b.Read(ctx)
	s, now := desk.AddressBookStatus{}, time.Now()
	_ = a.do(ctx, func() error { // it fails when the account ends
		if known := a.filter.State().Book.Len(); err == nil && known > 0 && len(book.Addresses) == 0 {
			err = fmt.Errorf("no address is in it any more; hinged keeps the %d that were", known)
		}
		if err == nil {
			a.broken = a.knowBook(book.Addresses)
			s.Read, s.Skipped, s.Left = &now, book.Skipped, book.Left
		} else if last := a.book.Load(); last != nil {
			s = *last
		}
		s.Problem = ""
		if s.Addresses = a.filter.State().Book.Len(); err != nil {
			s.Problem = "can't read the address book: " + err.Error()
			a.log.Warn("can't read the address book; what was known of it stays", "error", err)
		} else if s.Skipped > 0 || s.Left > 0 {
			a.log.Warn("not all of the address book could be used", "addresses", s.Addresses, "cards_skipped", s.Skipped, "addresses_left_out", s.Left)
		}
		a.book.Store(&s)
		return nil
	})
	return err == nil
}

// knowBook applies what changes the address book that is known into this one.
func (a *account) knowBook(addresses []string) error {
	e := a.filter.People.BookOf(addresses)
	if e == nil {
		return nil
	}
	_, err := a.apply(e)
	return err
}
