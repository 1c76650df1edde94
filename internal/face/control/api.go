// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hinged/hinged/docs"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
)

// APIPath is where all routes are, on the socket and of the HTTP API.
const APIPath = "/api/v1/"

const (
	// maxPublic bounds the body of a request that may have a whole message in it, and
	// maxSmall that of any other, in bytes.
	maxPublic = 96 << 20
	maxSmall  = 64 << 10
	// maxBodies bounds the bodies that are read at the same time, in bytes.
	maxBodies = 2 * maxPublic
	// bodyPatience is how long a body may take to arrive, and roomPatience how long a
	// request waits for others that are being read.
	bodyPatience = time.Minute
	roomPatience = 10 * time.Second
	// undoPatience is how long an undo waits while the mail server confirms nothing more.
	// The answer says what is still waiting; asking again waits again.
	undoPatience = 5 * time.Second
)

// APIOptions are what the HTTP API needs to know.
type APIOptions struct {
	Host desk.Host
	Log  *slog.Logger // nil discards
	// MayUse reports whether the sender of the request may use the account. With "" it
	// reports whether they run the daemon: they may see the figures of all accounts, though
	// no words of their mail, what is about the whole daemon, and errors in full. nil:
	// everybody may do everything. It must be safe for concurrent use.
	MayUse func(r *http.Request, account string) bool
	// Accounts returns the names of the accounts that the sender of the request may use; all:
	// every one. It is needed with MayUse. Safe for concurrent use.
	Accounts func(r *http.Request) (names []string, all bool)
}

// api serves the public routes, or those of a socket.
type api struct {
	o           APIOptions
	log         *slog.Logger
	stopping    context.Context // of a socket
	forms       *forms
	bodies      *semaphore.Weighted // room for bodies, in bytes
	classifying chan struct{}       // has room for what may be classified at once
}

// NewAPI returns the HTTP API: the public routes of the table below APIPath, and the
// OpenAPI document that describes them at APIPath + "openapi.json". It does not find out
// who asks: what is around it has to, and answers 401 (see Refuse) to who is unknown. It
// is safe for concurrent use.
func NewAPI(o APIOptions) http.Handler {
	forms, err := readForms(docs.OpenAPI())
	if err != nil {
		panic(fmt.Sprintf("docs/openapi.json, which is part of the program: %v", err))
	}
	a := &api{o: o, log: o.Log, forms: forms, bodies: semaphore.NewWeighted(maxBodies),
		classifying: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	for _, r := range routes {
		if r.public() == nil {
			continue
		}
		path := APIPath + r.name
		mux.HandleFunc(r.method()+" "+path, a.answering(r, a.carryOut))
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", r.method())
			Refuse(w, http.StatusMethodNotAllowed, "", "use "+r.method())
		})
	}
	mux.HandleFunc("GET "+APIPath+"openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(docs.OpenAPI())
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		Refuse(w, http.StatusNotFound, "", "no such path; "+APIPath+"openapi.json lists them all")
	})
	return a.guarded(mux)
}

// newSocket returns what answers on a socket, whose file's mode says who may ask: all routes,
// or only some, with POST. What is slow breaks off when stopping is done.
func newSocket(stopping context.Context, h desk.Host, log *slog.Logger, only []string) http.Handler {
	a := &api{o: APIOptions{Host: h}, log: log, stopping: stopping}
	mux := http.NewServeMux()
	for _, r := range routes {
		switch {
		case only != nil && !slices.Contains(only, r.name):
		case r.verb == nil:
			mux.HandleFunc("POST "+APIPath+r.name, func(w http.ResponseWriter, q *http.Request) { r.serve(a, w, q) })
		default:
			mux.HandleFunc("POST "+APIPath+r.name, a.answering(r, a.trusting))
		}
	}
	return a.guarded(mux)
}

// trusting does what a request of the socket asks for: what may take minutes no longer than
// until the server is about to stop.
func (a *api) trusting(_ http.ResponseWriter, r *http.Request, route route) (any, error) {
	ctx, o := r.Context(), route.verb
	if o.Slow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(a.stopping)
		defer cancel()
		defer context.AfterFunc(r.Context(), cancel)()
	}
	q := reflect.New(o.Request).Interface()
	if err := read(r, q); err != nil {
		return nil, err
	}
	out, err := o.Do(ctx, a.o.Host, named(r), q)
	if o.Slow && errors.Is(err, context.Canceled) && a.stopping.Err() != nil {
		err = errStopping
	}
	return out, err
}

func (r route) method() string {
	if r.public().Reads {
		return http.MethodGet
	}
	return http.MethodPost
}

// guarded sets the header fields of every answer, and answers where something panics.
func (a *api) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // it has words of the mail
		w.Header().Set("X-Content-Type-Options", "nosniff")
		defer func() {
			p := recover()
			if p == nil || p == http.ErrAbortHandler { //nolint:errorlint,err113 // what is recovered is no error yet
				return
			}
			a.log.Error("a request panicked", "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			Refuse(w, http.StatusInternalServerError, "", hidden)
		}()
		next.ServeHTTP(w, r)
	})
}

// carrier does what a request for a route asks for.
type carrier func(http.ResponseWriter, *http.Request, route) (any, error)

// answering answers requests for a route with what do returns.
func (a *api) answering(route route, do carrier) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := do(w, r, route)
		var text []byte
		if err == nil {
			text, err = json.Marshal(out)
		}
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write(append(text, '\n')); err != nil {
			a.log.Debug("a client did not read its answer", "error", err)
		}
	}
}

// carryOut finds out what is asked and of which account, and does it.
func (a *api) carryOut(w http.ResponseWriter, r *http.Request, route route) (any, error) {
	ask, err := a.forms.read(r, route)
	if err != nil {
		return nil, err
	}
	if route.public().All {
		return a.status(r)
	}
	account, err := a.account(r, route, ask.account)
	if err != nil {
		return nil, err
	}
	if !route.public().Reads {
		done, err := a.body(w, r, route, ask)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	if route.name == desk.Classify.Name {
		select {
		case a.classifying <- struct{}{}:
			defer func() { <-a.classifying }()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	q := reflect.New(route.verb.Request).Interface()
	if err := a.forms.fill(route, ask, q); err != nil {
		return nil, err
	}
	return route.verb.Do(r.Context(), a.o.Host, account, q)
}

// body reads the body of a request, as soon as there is room for it. The caller calls
// done when it is no longer needed.
func (a *api) body(w http.ResponseWriter, r *http.Request, route route, ask *asked) (done func(), err error) {
	limit := route.limit()
	if err := acceptable(r, route); err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	size := r.ContentLength
	if size < 0 {
		size = limit
	}
	patience, cancel := context.WithTimeout(r.Context(), roomPatience)
	defer cancel()
	if err := a.bodies.Acquire(patience, size); err != nil {
		return nil, &refusal{http.StatusServiceUnavailable, "crowded", "too many large requests at the same time; try again"}
	}
	done = func() { a.bodies.Release(size) }
	// Where it can't be set the server's own deadlines hold.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyPatience))
	ask.body, err = readAll(http.MaxBytesReader(w, r.Body, limit), size)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		err = tooLarge(limit)
	case err != nil:
		err = &refusal{http.StatusBadRequest, "body", "the body broke off or took too long"}
	default:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		return done, nil
	}
	done()
	return nil, err
}

func readAll(r io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(size, 1<<20)) + bytes.MinRead)
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

func (a *api) runs(r *http.Request) bool { return a.o.MayUse == nil || a.o.MayUse(r, "") }

// account returns the account that a request is about: the one it names or the only one
// that the caller may use. The Host finds out whether there is one of that name.
func (a *api) account(r *http.Request, to route, name string) (string, error) {
	switch {
	case a.o.MayUse == nil, to.public().Figures && a.runs(r):
		return name, nil
	case name != "" && a.o.MayUse(r, name):
		return name, nil
	case name != "":
		return "", &refusal{http.StatusForbidden, "forbidden", "that account is not yours"}
	}
	names, all := a.o.Accounts(r)
	switch {
	case all:
		return "", nil
	case len(names) == 0:
		return "", &refusal{http.StatusForbidden, "forbidden", "no account is yours"}
	}
	return desk.Pick(names, "")
}

// status covers the accounts that the caller may use. What is about the whole
// daemon is for those who run it.
func (a *api) status(r *http.Request) (desk.Status, error) {
	if a.runs(r) {
		return a.o.Host.Status(r.Context())
	}
	names, _ := a.o.Accounts(r)
	s := desk.Status{Running: true, Warnings: []string{}, Accounts: []desk.AccountStatus{}}
	for _, name := range names {
		one, err := desk.GetAccount.Do(r.Context(), a.o.Host, name, desk.None{})
		if errors.Is(err, desk.ErrNoAccount) || errors.Is(err, stream.ErrElsewhere) {
			continue // of a stream: no record of it has come yet, or not to this process
		}
		if err != nil {
			return s, err
		}
		s.Accounts = append(s.Accounts, one)
	}
	return s, nil
}
