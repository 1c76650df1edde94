// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

// Bounds of a request's body, in bytes. The largest are those to learn from whole
// messages, whose content takes four thirds of its size on the way. A message sent as
// it is has more than any account reads of one (max_bytes in the configuration is
// 64 MiB at most).
const (
	maxBody = 256 << 20
	maxMail = 64<<20 + 4096
)

// route is one path: below /v1/ on the socket and, if it is public, below /api/v1/ of
// the HTTP API.
type route struct {
	name  string
	serve func(*Server) http.HandlerFunc
	verb  *desk.Offer // nil: its answer is no JSON
}

// aliveRoute answers with nothing: that it does is the answer.
const aliveRoute = "alive"

// routes is what the socket and the HTTP API offer: the verbs of the desk, two files, the
// message of a mail filter, and a sign of life.
//
// In the HTTP API is what an account's owner does every day and can take back. What goes
// over the past (unlearn, forget), switches off (pause), is about the whole store, is heavy,
// or fetches from the mail server (headings) stays with the socket and the pages.
var routes = allRoutes()

func allRoutes() []route {
	out := []route{
		file(desk.Backup),
		file(desk.Export),
		{name: "filter", serve: func(s *Server) http.HandlerFunc { return s.filter }},
		{name: aliveRoute, serve: func(*Server) http.HandlerFunc { return func(http.ResponseWriter, *http.Request) {} }},
	}
	for _, o := range desk.Offers() {
		out = append(out, route{name: o.Name, verb: &o, serve: serving(&o)})
	}
	slices.SortFunc(out, func(a, b route) int { return strings.Compare(a.name, b.name) })
	return out
}

// public returns what the HTTP API makes of the route; nil: it does not have it.
func (r route) public() *desk.API {
	if r.verb == nil {
		return nil
	}
	return r.verb.API
}

// limit is the most bytes that the HTTP API takes as a body.
func (r route) limit() int64 {
	switch {
	case r.isMail():
		return maxMail
	case r.public().Whole:
		return maxPublic
	}
	return maxSmall
}

// errStopping is the answer to a request for something slow.
var errStopping = errors.New("the daemon is stopping; what was done by now counts")

// serving carries a verb out for a request: one that may take minutes no longer than until
// the server is about to stop; others are waited for.
func serving(o *desk.Offer) func(*Server) http.HandlerFunc {
	return func(s *Server) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			if o.Slow {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(s.stopping)
				defer cancel()
				defer context.AfterFunc(r.Context(), cancel)()
			}
			var out any
			q := reflect.New(o.Request).Interface()
			err := request(r, q)
			if err == nil {
				out, err = o.Do(ctx, s.host, named(r), q)
			}
			if o.Slow && errors.Is(err, context.Canceled) && s.stopping.Err() != nil {
				err = errStopping
			}
			s.answer(w, out, err)
		}
	}
}

// request reads what a verb is asked for into q, which points to it.
func request(r *http.Request, q any) (err error) {
	if raw, ok := q.(desk.Raw); ok {
		*raw.Raw(), err = io.ReadAll(http.MaxBytesReader(nil, r.Body, maxMail))
	} else {
		err = json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody)).Decode(q)
	}
	if err != nil {
		err = fmt.Errorf("reading the request: %w", err)
	}
	return err
}

// named is the account that a request names.
func named(r *http.Request) string { return r.URL.Query().Get("account") }

// failure is the body of an answer that is an error.
type failure struct {
	Error string `json:"error"`
	Kind  string `json:"kind,omitempty"`
}

// kinds are the errors that are told from others across the socket, by
// failure.Kind.
var kinds = []struct {
	name string
	is   error
	code int
}{
	{"account", desk.ErrNoAccount, http.StatusNotFound},
	{"message", desk.ErrNoMessage, http.StatusNotFound},
	{"entry", desk.ErrNoEntry, http.StatusNotFound},
	{"paused", desk.ErrPaused, http.StatusConflict},
	{"stream", desk.ErrStreamAccount, http.StatusConflict},
	{"elsewhere", stream.ErrElsewhere, http.StatusServiceUnavailable},
	{"pending", store.ErrPending, http.StatusServiceUnavailable},
	{"stopped", desk.ErrStopped, http.StatusServiceUnavailable},
	{"early", desk.ErrTooEarly, http.StatusConflict},
	{"no-dashboard", desk.ErrNoDashboard, http.StatusNotFound},
	{"forget", desk.ErrForget, http.StatusBadRequest},
	{"no-whatif", desk.ErrNoWhatIf, http.StatusNotFound},
	{"whatif-running", desk.ErrWhatIfRunning, http.StatusConflict},
	{"whatif-settings", desk.ErrWhatIfSettings, http.StatusBadRequest},
	{"busy", store.ErrBusy, http.StatusServiceUnavailable},
	{"space", store.ErrNoSpace, http.StatusInsufficientStorage},
	{"damaged", store.ErrDamaged, http.StatusInternalServerError},
}

// kindOf returns the kind of an error, "" if it has none, and the status code for it.
func kindOf(err error) (kind string, code int) {
	for _, k := range kinds {
		if errors.Is(err, k.is) {
			return k.name, k.code
		}
	}
	return "", http.StatusInternalServerError
}

// answer sends v, or why there is none, as JSON.
func (s *Server) answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		kind, code := kindOf(err)
		w.WriteHeader(code)
		v = failure{Error: err.Error(), Kind: kind}
	}
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log.Debug("a client did not read its answer", "error", err)
	}
}
