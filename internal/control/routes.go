// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

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

// route is one path below /v1/.
type route struct {
	name, method string
	serve        func(*Server) http.HandlerFunc
}

// routes is the one table of what the socket offers.
var routes = []route{
	verb(desk.Ask),
	verb(desk.Classify),
	verb(desk.Compact),
	verb(desk.Explain),
	verb(desk.Forget),
	verb(desk.GetBound),
	verb(desk.GetDigests),
	verb(desk.GetLedger),
	verb(desk.GetPrior),
	verb(desk.GetStatus),
	verb(desk.GetWords),
	verb(desk.Label),
	verb(desk.Pause),
	verb(desk.Resume),
	verb(desk.UndoMarks),
	verb(desk.Unlearn),
	verb(desk.Verify),
	file(desk.Backup),
	file(desk.Export),
	{"filter", http.MethodPost, func(s *Server) http.HandlerFunc { return s.filter }},
}

// verb is the route of a verb.
func verb[Q, A any](v desk.Verb[Q, A]) route {
	return route{v.Name, v.Method, func(s *Server) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			q, err := request[Q](r)
			var out A
			if err == nil {
				out, err = v.Do(r.Context(), s.host, named(r), q)
			}
			s.answer(w, out, err)
		}
	}}
}

// request reads what a verb is asked for.
func request[Q any](r *http.Request) (q Q, err error) {
	if raw, ok := any(&q).(desk.Raw); ok {
		*raw.Raw(), err = io.ReadAll(http.MaxBytesReader(nil, r.Body, maxMail))
	} else if _, none := any(q).(desk.None); !none {
		err = json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody)).Decode(&q)
	}
	if err != nil {
		err = fmt.Errorf("reading the request: %w", err)
	}
	return q, err
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
	{"paused", desk.ErrPaused, http.StatusConflict},
	{"stream", desk.ErrStreamAccount, http.StatusConflict},
	{"elsewhere", stream.ErrElsewhere, http.StatusConflict},
	{"pending", store.ErrPending, http.StatusConflict},
	{"early", desk.ErrTooEarly, http.StatusConflict},
	{"forget", desk.ErrForget, http.StatusBadRequest},
	{"busy", store.ErrBusy, http.StatusConflict},
	{"space", store.ErrNoSpace, http.StatusInsufficientStorage},
	{"damaged", store.ErrDamaged, http.StatusInternalServerError},
}

// answer sends v, or why there is none, as JSON.
func (s *Server) answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		f, code := failure{Error: err.Error()}, http.StatusInternalServerError
		for _, k := range kinds {
			if errors.Is(err, k.is) {
				f.Kind, code = k.name, k.code
				break
			}
		}
		w.WriteHeader(code)
		v = f
	}
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log.Debug("a client did not read its answer", "error", err)
	}
}
