// SPDX-License-Identifier: Apache-2.0

package addressbook

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/emersion/go-vcard"
	"github.com/emersion/go-webdav/carddav"
)

// Server is where a CardDAV server has the book.
type Server struct {
	URL      string                                    // of an address book, or where the server tells of the user's
	Username string                                    // "" where nobody has to log in
	Password func(ctx context.Context) (string, error) // asked at each reading
	TLS      *tls.Config                               // nil: the system's certificates
}

// Bounds of what a server answers.
const (
	maxAnswer = 16 << 20
	perAnswer = 50 // cards that are asked for at once
	maxCards  = 20_000
	patience  = time.Minute // for an answer
	perRead   = 10 * time.Minute
)

// wire carries requests. It follows no redirect, so the password goes to no other address.
type wire struct {
	http               http.Client
	username, password string
	status             int // of the last answer; 0: there was none
}

// ReadServer reads all address books that the URL names. An error says what the server did, and
// nothing that it wrote. Safe for concurrent use.
func ReadServer(ctx context.Context, s Server) (*Book, error) {
	ctx, cancel := context.WithTimeout(ctx, perRead)
	defer cancel()
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = s.TLS
	defer t.CloseIdleConnections()
	w := &wire{username: s.Username, http: http.Client{Transport: t, Timeout: patience, CheckRedirect: refuse}}
	if s.Username != "" {
		var err error
		if w.password, err = s.Password(ctx); err != nil {
			return nil, err
		}
	}
	b := new(Book)
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	c, err := carddav.NewClient(w, s.URL)
	if err == nil {
		err = w.read(ctx, c, cmp.Or(at.Path, "/"), b) // "" would lose the slash at its end
	}
	return b, w.words(err)
}

// redirected is where the server sends us.
type redirected string

func (r redirected) Error() string {
	return "the server sends us to " + string(r) + ", where the password does not follow; if you trust that, make it the url"
}

func refuse(r *http.Request, _ []*http.Request) error {
	return redirected((&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: r.URL.Path}).String())
}

// Do implements webdav.HTTPClient.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	if w.status = 0; w.username != "" {
		r.SetBasicAuth(w.username, w.password)
	}
	answer, err := w.http.Do(r) //nolint:gosec // the address is the owner's
	if err != nil {
		return nil, err
	}
	w.status, answer.Body = answer.StatusCode, http.MaxBytesReader(nil, answer.Body, maxAnswer)
	return answer, nil
}

// read finds the address books, and reads each.
func (w *wire) read(ctx context.Context, c *carddav.Client, at string, b *Book) error {
	books, err := c.FindAddressBooks(ctx, at) // the URL is that of one, or of their folder
	if err == nil && len(books) == 0 || w.status == http.StatusNotFound || w.status == http.StatusMethodNotAllowed {
		var principal, home string
		if principal, err = c.FindCurrentUserPrincipal(ctx); err == nil {
			home, err = c.FindAddressBookHomeSet(ctx, principal)
		}
		if err == nil {
			books, err = c.FindAddressBooks(ctx, home)
		}
	}
	if err == nil && len(books) == 0 {
		err = errors.New("the server knows no address book there")
	}
	for i := 0; i < len(books) && err == nil; i++ {
		err = w.readBook(ctx, c, books[i].Path, b)
	}
	return err
}

func (w *wire) readBook(ctx context.Context, c *carddav.Client, book string, b *Book) error {
	files, err := c.ReadDir(ctx, book, false)
	if err != nil {
		return err
	}
	var paths []string
	for _, f := range files {
		if !f.IsDir {
			paths = append(paths, f.Path)
		}
	}
	if len(paths) > maxCards {
		return fmt.Errorf("it has %d cards; hinged reads %d at most", len(paths), maxCards)
	}
	for some := range slices.Chunk(paths, perAnswer) {
		if err := w.get(ctx, c, b, book, some); err != nil {
			return err
		}
	}
	return nil
}

// get takes the addresses of cards. Of an answer that can't be read it asks for each half, until it
// knows the card whose fault that is. Only names and addresses are asked for; some servers give all.
func (w *wire) get(ctx context.Context, c *carddav.Client, b *Book, book string, paths []string) error {
	cards, err := c.MultiGetAddressBook(ctx, book, &carddav.AddressBookMultiGet{Paths: paths, DataRequest: carddav.AddressDataRequest{
		Props: []string{vcard.FieldVersion, vcard.FieldUID, vcard.FieldFormattedName, vcard.FieldEmail},
	}})
	for _, card := range cards {
		for _, address := range card.Card.Values(vcard.FieldEmail) {
			if !b.add(address) {
				b.Skipped++
				break
			}
		}
	}
	switch half := len(paths) / 2; {
	case err == nil:
		return nil
	case w.status != http.StatusMultiStatus || ctx.Err() != nil:
		return err
	case half == 0:
		b.Skipped++
		return nil
	default:
		if err := w.get(ctx, c, b, book, paths[:half]); err != nil {
			return err
		}
		return w.get(ctx, c, b, book, paths[half:])
	}
}

// words says what went wrong without the URL, which may hold a secret, and what the server wrote.
func (w *wire) words(err error) error {
	var onTheWay *url.Error
	var to redirected
	switch {
	case err == nil:
		return nil
	case errors.As(err, &to):
		return to
	case w.status == http.StatusUnauthorized || w.status == http.StatusForbidden:
		return fmt.Errorf("the server refuses the username or the password (HTTP %d)", w.status)
	case w.status != 0 && w.status != http.StatusMultiStatus:
		return fmt.Errorf("the server answered HTTP %d (%s), as if no address book were there", w.status, http.StatusText(w.status))
	case errors.As(err, &onTheWay) && onTheWay.Timeout():
		return errors.New("the server did not answer in time")
	case errors.As(err, &onTheWay):
		return onTheWay.Err
	}
	return err
}
