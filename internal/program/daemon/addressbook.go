// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/addressbook"
	"github.com/hinged/hinged/internal/face/desk"
)

const (
	bookEvery    = 24 * time.Hour   // the address book is read
	bookRetry    = 15 * time.Minute // after it could not be
	bookPatience = 10 * time.Second // the longest wait of an account whose address book was never read
)

// ReadAddressBook reads an account's address book.
type ReadAddressBook func(ctx context.Context) (*addressbook.Book, error)

// beginBook has the address book read until ctx is done. If none was known before, it returns what
// says that it was read the first time.
func (a *account) beginBook(ctx context.Context, wg *sync.WaitGroup) (read chan struct{}) {
	if a.opts.AddressBook == nil || a.alone {
		return nil
	}
	if a.filter.State().Book.Len() == 0 {
		read = make(chan struct{}, 1)
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			pause := bookEvery
			if a.readBook(ctx) != nil {
				pause = bookRetry
			}
			select {
			case read <- struct{}{}:
			default:
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	})
	return read
}

// waitForBook waits for what beginBook returned, but not for long.
func waitForBook(ctx context.Context, read <-chan struct{}) {
	if read == nil {
		return
	}
	select {
	case <-read:
	case <-time.After(bookPatience):
	case <-ctx.Done():
	}
}

// readBook reads the address book and has the account know it. After an error what was known stays.
func (a *account) readBook(ctx context.Context) error {
	book, err := a.opts.AddressBook(ctx)
	if err == nil {
		err = a.do(ctx, func() error { a.broken = a.knowBook(book.Addresses); return nil })
	}
	s, now := desk.AddressBookStatus{}, time.Now()
	if last := a.book.Load(); last != nil {
		s = *last
	}
	if s.Problem = ""; err != nil {
		s.Problem = "can't read the address book; what was known of it stays: " + err.Error()
		a.log.Warn("can't read the address book; what was known of it stays", "error", err)
	} else {
		s.Read, s.Skipped = &now, book.Skipped
	}
	a.book.Store(&s)
	return err
}

// knowBook has the account know an address book.
func (a *account) knowBook(addresses []string) error {
	e := a.filter.People.BookOf(addresses)
	if e == nil {
		return nil
	}
	_, err := a.apply(e)
	return err
}
