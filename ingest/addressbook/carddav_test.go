// SPDX-License-Identifier: Apache-2.0

package addressbook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/emersion/go-vcard"
	"github.com/emersion/go-webdav/carddav"

	"github.com/hinged/hinged/internal/testkit"
)

// shelf is a CardDAV server's backend with one address book.
type shelf struct {
	carddav.Backend
	cards int
	photo string
}

const home, book = "/me/books/", "/me/books/all/"

func (s *shelf) CurrentUserPrincipal(context.Context) (string, error)   { return "/me/", nil }
func (s *shelf) AddressBookHomeSetPath(context.Context) (string, error) { return home, nil }

func (s *shelf) ListAddressBooks(context.Context) ([]carddav.AddressBook, error) {
	return []carddav.AddressBook{{Path: book, Name: "All"}}, nil
}

func (s *shelf) GetAddressBook(_ context.Context, path string) (*carddav.AddressBook, error) {
	return &carddav.AddressBook{Path: path}, nil
}

func (s *shelf) object(n int) carddav.AddressObject {
	c := vcard.Card{}
	c.SetValue(vcard.FieldVersion, "4.0")
	c.SetValue(vcard.FieldFormattedName, fmt.Sprint("Person ", n))
	c.SetValue(vcard.FieldEmail, fmt.Sprintf("p%d@example.org", n))
	if s.photo != "" {
		c.SetValue(vcard.FieldPhoto, s.photo)
	}
	return carddav.AddressObject{Path: fmt.Sprintf("%s%d.vcf", book, n), ContentLength: 10, ETag: fmt.Sprint(n), Card: c}
}

func (s *shelf) GetAddressObject(_ context.Context, path string, _ *carddav.AddressDataRequest) (*carddav.AddressObject, error) {
	var n int
	if _, err := fmt.Sscanf(strings.TrimPrefix(path, book), "%d.vcf", &n); err != nil {
		return nil, err
	}
	o := s.object(n)
	return &o, nil
}

func (s *shelf) ListAddressObjects(context.Context, string, *carddav.AddressDataRequest) (all []carddav.AddressObject, err error) {
	for n := range s.cards {
		all = append(all, s.object(n))
	}
	return all, nil
}

const secret = "correct horse"

// serve is a server with that book, for whoever has the password.
func serve(t *testing.T, s *shelf, wrap func(http.Handler) http.Handler) (url string) {
	var h http.Handler = &carddav.Handler{Backend: s}
	if wrap != nil {
		h = wrap(h)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "me" || password != secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestABookOf5000CardsIsFoundAndRead(t *testing.T) {
	testkit.Computes(t)
	for below, cards := range map[string]int{"": 5000, home: 50, book: 50} {
		b, err := ReadServer(t.Context(), serve(t, &shelf{cards: cards}, nil)+below, "me", secret)
		if err != nil || len(b.Addresses) != cards || b.Skipped != 0 {
			t.Errorf("%q: got %+v, %v", below, b, err)
		}
	}
}

// garbled has a server break some of the cards in its answers.
func garbled(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		body := rec.Body.String()
		if r.Method == "REPORT" && strings.Contains(body, "p7@example.org") {
			body = strings.ReplaceAll(body, "BEGIN:VCARD", "VCARD")
		}
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		w.WriteHeader(rec.Code)
		_, _ = w.Write([]byte(body))
	})
}

func TestOneBadCardIsSkippedAlone(t *testing.T) {
	b, err := ReadServer(t.Context(), serve(t, &shelf{cards: 120}, garbled), "me", secret)
	if err != nil || len(b.Addresses) != 119 || b.Skipped != 1 {
		t.Errorf("got %d addresses, %d skipped, %v", len(b.Addresses), b.Skipped, err)
	}
}

// TestAnAnswerThatIsTooLargeIsAskedForInParts: the server sends photos though nobody asked.
func TestAnAnswerThatIsTooLargeIsAskedForInParts(t *testing.T) {
	testkit.Computes(t)
	b, err := ReadServer(t.Context(), serve(t, &shelf{cards: 60, photo: strings.Repeat("QUJD", 100<<10)}, nil), "me", secret)
	if err != nil || len(b.Addresses) != 60 {
		t.Errorf("got %d addresses, %v", len(b.Addresses), err)
	}
}

func TestWhatIsWrongWithAServerIsSaidWithoutSecrets(t *testing.T) {
	var followed atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer elsewhere.Close()
	answer := func(status int, text string) func(http.Handler) http.Handler {
		return func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(text))
			})
		}
	}
	down := httptest.NewServer(nil)
	down.Close()
	for want, url := range map[string]string{
		"connection refused":             down.URL,
		"HTTP 503 (Service Unavailable)": serve(t, &shelf{}, answer(503, "wrote: "+secret)),
		"HTTP 404 (Not Found)":           serve(t, &shelf{}, answer(404, secret)),
		"HTTP 200 (OK)":                  serve(t, &shelf{}, answer(200, "<html>"+secret)),
		"multistatus":                    serve(t, &shelf{}, answer(207, "<html>"+secret+"</body>")),
		"sends us to " + elsewhere.URL + "/dav": serve(t, &shelf{}, func(http.Handler) http.Handler {
			return http.RedirectHandler(elsewhere.URL+"/dav?token="+secret, http.StatusMovedPermanently)
		}),
	} {
		if _, err := ReadServer(t.Context(), url, "me", secret); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := ReadServer(t.Context(), serve(t, &shelf{}, nil), "me", "wrong"); err == nil || !strings.Contains(err.Error(), "HTTP 401 (Unauthorized)") {
		t.Errorf("with a wrong password: %v", err)
	}
	if followed.Load() {
		t.Error("a redirect to another host was followed")
	}
}

func TestASlowServerIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, &shelf{}, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client left
			cancel()
			<-r.Context().Done()
		})
	})
	if _, err := ReadServer(ctx, url, "me", secret); err == nil {
		t.Error("there was no error")
	}
}
