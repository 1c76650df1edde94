// SPDX-License-Identifier: Apache-2.0

package addressbook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/emersion/go-vcard"
	"github.com/emersion/go-webdav/carddav"
)

// Bounds of what a server answers.
const (
	maxAnswer = 16 << 20
	perAnswer = 50          // cards that are asked for at once
	patience  = time.Minute // for an answer
	perRead   = 10 * time.Minute
)

// client asks a server. It follows no redirect, so the password goes to no other address.
type client struct {
	http               http.Client
	username, password string
	failed             bool // the last answer was none
}

// ReadServer reads all address books of a CardDAV server that are at the address, or that the server
// there says are the user's. An empty username logs in nowhere. An error says what the server did,
// and nothing that it wrote. Safe for concurrent use.
func ReadServer(ctx context.Context, address, username, password string) (*Book, error) {
	ctx, cancel := context.WithTimeout(ctx, perRead)
	defer cancel()
	asIs := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	h := &client{http: http.Client{Timeout: patience, CheckRedirect: asIs}, username: username, password: password}
	c, err := carddav.NewClient(h, address)
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	at, _ := url.Parse(address)                                 // as NewClient did
	books, err := c.FindAddressBooks(ctx, cmp.Or(at.Path, "/")) // "" would lose the slash at its end
	if err != nil || len(books) == 0 {
		var principal, home string
		if principal, err = c.FindCurrentUserPrincipal(ctx); err == nil {
			home, err = c.FindAddressBookHomeSet(ctx, principal)
		}
		if err == nil {
			books, err = c.FindAddressBooks(ctx, home)
		}
	}
	b := new(Book)
	for i := 0; i < len(books) && err == nil; i++ {
		err = h.read(ctx, c, books[i].Path, b)
	}
	return b.usable(err)
}

// Do implements webdav.HTTPClient.
func (h *client) Do(r *http.Request) (*http.Response, error) {
	h.failed = true
	if h.username != "" {
		r.SetBasicAuth(h.username, h.password)
	}
	answer, err := h.http.Do(r) //nolint:gosec // the address is the owner's
	var about *url.Error
	if errors.As(err, &about) {
		return nil, about.Err // without the URL, which may hold a secret
	} else if err != nil {
		return nil, err
	}
	if code := answer.StatusCode; code != http.StatusMultiStatus {
		defer answer.Body.Close()
		err = fmt.Errorf("the server answers HTTP %d (%s)", code, http.StatusText(code))
		if to, no := answer.Location(); no == nil {
			err = fmt.Errorf("%w: it sends us to %s://%s%s, where the password does not follow; if you trust that, make it the url", err, to.Scheme, to.Host, to.Path)
		}
		return nil, err
	}
	h.failed, answer.Body = false, http.MaxBytesReader(nil, answer.Body, maxAnswer)
	return answer, nil
}

// read reads one address book.
func (h *client) read(ctx context.Context, c *carddav.Client, book string, b *Book) error {
	files, err := c.ReadDir(ctx, book, false)
	var paths []string
	for _, f := range files {
		if !f.IsDir {
			paths = append(paths, f.Path)
		}
	}
	for some := range slices.Chunk(paths, perAnswer) {
		if err == nil {
			err = h.get(ctx, c, b, book, some)
		}
	}
	return err
}

// get takes the addresses of cards. Of an answer that can't be read it asks for each half, until it
// knows the card whose fault that is. Only addresses are asked for; some servers give all.
func (h *client) get(ctx context.Context, c *carddav.Client, b *Book, book string, paths []string) error {
	cards, err := c.MultiGetAddressBook(ctx, book, &carddav.AddressBookMultiGet{Paths: paths, DataRequest: carddav.AddressDataRequest{
		Props: []string{vcard.FieldVersion, vcard.FieldEmail},
	}})
	for _, card := range cards {
		for _, address := range card.Card.Values(vcard.FieldEmail) {
			b.add(address)
		}
	}
	if err == nil || h.failed || ctx.Err() != nil {
		return err
	}
	if len(paths) == 1 {
		b.Skipped++
		return nil
	}
	for half := range slices.Chunk(paths, (len(paths)+1)/2) {
		if err := h.get(ctx, c, b, book, half); err != nil {
			return err
		}
	}
	return nil
}
