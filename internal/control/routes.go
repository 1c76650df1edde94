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
	name, method string
	serve        func(*Server) http.HandlerFunc
	verb         *carried // nil: its answer is no JSON
	public       *public  // nil: the socket alone has it
}

// carried is a verb whose types are not known at compile time.
type carried struct {
	request, answer reflect.Type
	// do carries the verb out. fill is given a pointer to its request.
	do func(ctx context.Context, h desk.Host, account string, fill func(any) error) (any, error)
}

// public is what the HTTP API makes of a route.
type public struct {
	summary string // what it does, in a few words
	limit   int64  // of the request's body, in bytes
	// reads: the request is in the query, and nothing is changed.
	reads bool
	// figures: it has no words of the mail, so whoever runs the daemon may ask for any
	// account. all: it is about all accounts, not about one.
	figures, all bool
}

// aliveRoute answers with nothing: that it does is the answer.
const aliveRoute = "alive"

// routes is the one table of what the socket and the HTTP API offer.
//
// Public is what an account's owner does every day and can take back. What goes over the
// past (unlearn, forget), switches off (pause), is about the whole store, is heavy, or
// fetches from the mail server (headings) stays with the socket and the pages.
var routes = []route{
	verb(desk.Ask).reads("The messages whose labels would teach most"),
	verb(desk.Classify).changes(maxMail, "Decide about a message as if it had just arrived"),
	verb(desk.Compact).long(),
	verb(desk.Explain).changes(maxPublic, "Take apart the score of a message"),
	verb(desk.Forget).long(),
	verb(desk.GetAccount).reads("How one account is doing").ofFigures(),
	verb(desk.GetBound).reads("Mistakes compared with the ceiling that theory certifies").ofFigures(),
	verb(desk.GetDigests).long(),
	verb(desk.GetHeadings),
	verb(desk.GetLedger).reads("Marks that were set or intended, and refusals"),
	verb(desk.GetLessons).reads("What was learnt last"),
	verb(desk.GetMessages).reads("Recent decisions, with filters and search"),
	verb(desk.GetStatus).reads("How every account is doing that you may use").ofAll(),
	verb(desk.GetTrend).reads("Mistakes, loss, decisions and marks over time").ofFigures(),
	verb(desk.GetWhatIf),
	verb(desk.GetWords).reads("The strongest weights, or those of given words"),
	verb(desk.Label).changes(maxPublic, "Give feedback: say of messages that they are important or ordinary"),
	verb(desk.OpenDashboard),
	verb(desk.Pause),
	verb(desk.Resume),
	verb(desk.StartWhatIf),
	verb(desk.StopWhatIf),
	verb(desk.UndoMarks).changes(maxSmall, "Take back marks that hinged has set"),
	verb(desk.Unlearn),
	verb(desk.Verify).long(),
	file(desk.Backup),
	file(desk.Export),
	{name: "filter", method: http.MethodPost, serve: func(s *Server) http.HandlerFunc { return s.filter }},
	{name: aliveRoute, method: http.MethodGet, serve: func(*Server) http.HandlerFunc { return func(http.ResponseWriter, *http.Request) {} }},
}

// verb is the route of a verb.
func verb[Q, A any](v desk.Verb[Q, A]) route {
	c := &carried{
		request: reflect.TypeFor[Q](), answer: reflect.TypeFor[A](),
		do: func(ctx context.Context, h desk.Host, account string, fill func(any) error) (any, error) {
			var q Q
			if err := fill(&q); err != nil {
				return nil, err
			}
			return v.Do(ctx, h, account, q)
		},
	}
	return route{name: v.Name, method: v.Method, verb: c, serve: c.serve(false)}
}

// long marks the route of a verb that may take minutes. It is broken off when the server is
// about to stop; other routes are waited for.
func (r route) long() route {
	r.serve = r.verb.serve(true)
	return r
}

// errStopping is the answer to a request for something long.
var errStopping = errors.New("the daemon is stopping; what was done by now counts")

// serve carries the verb out for a request. long: no longer than until the server is about
// to stop.
func (c *carried) serve(long bool) func(*Server) http.HandlerFunc {
	return func(s *Server) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			if long {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(s.stopping)
				defer cancel()
				defer context.AfterFunc(r.Context(), cancel)()
			}
			out, err := c.do(ctx, s.host, named(r), func(q any) error { return request(r, q) })
			if long && errors.Is(err, context.Canceled) && s.stopping.Err() != nil {
				err = errStopping
			}
			s.answer(w, out, err)
		}
	}
}

// reads makes the route a public one that changes nothing; its request is in the query.
func (r route) reads(summary string) route {
	r.public = &public{summary: summary, reads: true}
	return r
}

// changes makes the route a public one with a body of at most limit bytes.
func (r route) changes(limit int64, summary string) route {
	r.public = &public{summary: summary, limit: limit}
	return r
}

// ofFigures makes the public route one without words of the mail.
func (r route) ofFigures() route {
	r.public.figures = true
	return r
}

// ofAll makes the public route one about all accounts that the caller may use.
func (r route) ofAll() route {
	r.public.figures, r.public.all = true, true
	return r
}

// request reads what a verb is asked for into q, which points to it.
func request(r *http.Request, q any) (err error) {
	if raw, ok := q.(desk.Raw); ok {
		*raw.Raw(), err = io.ReadAll(http.MaxBytesReader(nil, r.Body, maxMail))
	} else if _, none := q.(*desk.None); !none {
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
