// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hinged/hinged/docs"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/internal/run/stream"
)

// emptyHost has no account.
type emptyHost struct{ desk.Host }

func (emptyHost) Account(context.Context, string) (desk.Account, error) {
	return nil, desk.ErrNoAccount
}

func (emptyHost) Status(context.Context) (desk.Status, error) { return desk.Status{}, nil }

func TestLargeBodiesWaitForRoomAndAreRefusedWithoutIt(t *testing.T) {
	h := NewAPI(APIOptions{Host: emptyHost{}})
	ask := func(h http.Handler, ctx context.Context) (int, Problem) {
		t.Helper()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/v1/classify", strings.NewReader("Subject: x\n\nx\n"))
		r.Header.Set("Content-Type", "message/rfc822")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("%v in %s", err, w.Body)
		}
		if p.Status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
			t.Error("it does not say when to ask again")
		}
		return w.Code, p
	}
	if code, p := ask(h, t.Context()); code != http.StatusNotFound || p.Kind != "account" {
		t.Errorf("with room: %d %+v", code, p)
	}
	forms, err := readForms(docs.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	full := &api{o: APIOptions{Host: emptyHost{}}, forms: forms, bodies: semaphore.NewWeighted(1)}
	gone, cancel := context.WithCancel(t.Context())
	cancel() // so that nobody waits for room
	out, err := full.carryOut(httptest.NewRecorder(), func() *http.Request {
		r := httptest.NewRequestWithContext(gone, http.MethodPost, "/api/v1/classify", strings.NewReader("more than a byte"))
		r.Header.Set("Content-Type", "message/rfc822")
		return r
	}(), *routeOf(t, "classify"))
	var refused *refusal
	if !errors.As(err, &refused) || refused.status != http.StatusServiceUnavailable || refused.kind != "crowded" {
		t.Errorf("without room: %v, %v", out, err)
	}
}

func routeOf(t testing.TB, name string) *route {
	t.Helper()
	for i := range routes {
		if routes[i].name == name {
			return &routes[i]
		}
	}
	t.Fatalf("no route %s", name)
	return nil
}

// streamHost has one account of a stream so far. Its status would name others, too.
type streamHost struct{ desk.Host }

type streamAccount struct {
	desk.Account
	name string
}

func (streamHost) Account(_ context.Context, name string) (desk.Account, error) {
	return streamAccount{name: name}, nil
}

func (a streamAccount) Status(context.Context) (desk.AccountStatus, error) {
	switch a.name {
	case "kafka:new":
		return desk.AccountStatus{}, fmt.Errorf("%w: %s; no record of it has arrived", desk.ErrNoAccount, a.name)
	case "kafka:moved":
		return desk.AccountStatus{}, fmt.Errorf("account %s: %w", a.name, stream.ErrElsewhere)
	case "kafka:broken":
		return desk.AccountStatus{}, errors.New("broken")
	}
	return desk.AccountStatus{Account: a.name, Warnings: []string{}}, nil
}

func TestTheOwnerOfAnAccountOfAStreamUsesItWithoutNamingIt(t *testing.T) {
	get := func(path string, own ...string) (int, string) {
		h := NewAPI(APIOptions{
			Host:     streamHost{},
			Accounts: func(*http.Request) ([]string, bool) { return own, false },
			MayUse:   func(_ *http.Request, account string) bool { return slices.Contains(own, account) },
		})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, APIPath+path, nil))
		return w.Code, w.Body.String()
	}
	if code, body := get("account", "kafka:ann"); code != http.StatusOK || !strings.Contains(body, `"account":"kafka:ann"`) {
		t.Errorf("the only account: %d %s", code, body)
	}
	if code, body := get("account", "kafka:ann", "me"); code != http.StatusNotFound || !strings.Contains(body, "name one of kafka:ann, me") {
		t.Errorf("one of two: %d %s", code, body)
	}
	code, body := get("status", "kafka:ann", "kafka:new", "kafka:moved", "me")
	var s desk.Status
	if err := json.Unmarshal([]byte(body), &s); err != nil || code != http.StatusOK || len(s.Accounts) != 2 || s.Accounts[0].Account != "kafka:ann" || s.Accounts[1].Account != "me" {
		t.Errorf("the status: %d %s (%v)", code, body, err)
	}
	if code, body := get("status", "kafka:ann", "kafka:broken"); code != http.StatusInternalServerError {
		t.Errorf("the status with a broken account: %d %s", code, body)
	}
}

// What is in the table and in the document is served, and nothing else.
func TestThePublicRoutesAreServedAndNoOthers(t *testing.T) {
	h := NewAPI(APIOptions{Host: emptyHost{}})
	for _, r := range routes {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, "/api/v1/"+r.name, nil))
			switch {
			case r.public() == nil && w.Code != http.StatusNotFound:
				t.Errorf("%s %s: %d, though the socket alone has it", method, r.name, w.Code)
			case r.public() != nil && method != r.method() && w.Code != http.StatusMethodNotAllowed:
				t.Errorf("%s %s: %d", method, r.name, w.Code)
			case r.public() != nil && method == r.method() && (w.Code == http.StatusMethodNotAllowed || w.Code == http.StatusInternalServerError):
				t.Errorf("%s %s: %d %s", method, r.name, w.Code, w.Body)
			}
		}
	}
}

// Whatever is asked, the answer is one of those in the document.
func FuzzAnyRequestIsAnsweredOrRefused(f *testing.F) {
	f.Add("ask", "most=3&since=2026-01-01T00:00:00Z", "", "")
	f.Add("label", "account=x", "application/json", `{"label":"important","messages":[{"name":"x","content":"eA=="}]}`)
	f.Add("explain", "", "application/json; charset=utf-8", `{"message":{"name":"\u0000"}}`)
	f.Add("words", "words=a&words=%ff&most=1", "", "")
	f.Add("undo", "", "application/json", `{"since":"9999-12-31T23:59:59Z","dry_run":true}`)
	f.Add("classify", "", "message/rfc822", "x")
	h := NewAPI(APIOptions{Host: emptyHost{}})
	f.Fuzz(func(t *testing.T, name, query, media, body string) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := httptest.NewRequest(method, "/api/v1/x", strings.NewReader(body))
			r.URL = &url.URL{Path: "/api/v1/" + name, RawQuery: query}
			r.Header.Set("Content-Type", media)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			text, err := io.ReadAll(w.Body)
			if err != nil || w.Code >= 500 || w.Code >= 400 && !json.Valid(text) {
				t.Fatalf("%s %s?%s: %d %s (%v)", method, name, query, w.Code, text, err)
			}
		}
	})
}

// A verb that changes something must not be reached by a link.
func TestWhatReadsTakesNoBodyAndChangesNothing(t *testing.T) {
	for _, r := range routes {
		if r.public() == nil {
			continue
		}
		if changes := r.name == "label" || r.name == "undo"; changes && r.public().Reads {
			t.Errorf("%s is read with GET", r.name)
		}
		if r.public().Reads && r.verb.Request != reflect.TypeFor[desk.None]() && r.isMail() {
			t.Errorf("%s reads, and takes a message", r.name)
		}
		if !r.public().Reads && r.limit() <= 0 {
			t.Errorf("%s has no limit", r.name)
		}
	}
}

// slowHost has an account whose reading lasts until it is let go.
type slowHost struct {
	desk.Host
	running, most atomic.Int64
	let           chan struct{}
}

type slowAccount struct {
	desk.Account
	*slowHost
}

func (h *slowHost) Account(context.Context, string) (desk.Account, error) {
	return slowAccount{slowHost: h}, nil
}

func (a slowAccount) Reader(context.Context) (*pipeline.Reader, error) {
	if n := a.running.Add(1); n > a.most.Load() {
		a.most.Store(n)
	}
	<-a.let
	a.running.Add(-1)
	return nil, desk.ErrNoAccount
}

func TestClassifyingLeavesProcessorsForMail(t *testing.T) {
	h := &slowHost{let: make(chan struct{})}
	api := NewAPI(APIOptions{Host: h})
	room := int64(max(1, runtime.GOMAXPROCS(0)/2))
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	ask := func(ctx context.Context) {
		all.Go(func() {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/v1/classify", strings.NewReader("Subject: x\n\nx\n"))
			r.Header.Set("Content-Type", "message/rfc822")
			api.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	for range room {
		ask(t.Context())
	}
	for h.running.Load() < room {
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		ask(ctx) // who waits may go
		ask(t.Context())
	}
	time.Sleep(20 * time.Millisecond) // in which a fault would show
	cancel()
	close(h.let)
	all.Wait()
	if got := h.most.Load(); got != room {
		t.Errorf("%d were classified at once, want %d", got, room)
	}
}
