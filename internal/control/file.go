package control

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/desk"
)

// streamPatience is how long whoever asked for a copy may take nothing of it: a
// copy that is not taken makes the store grow.
const streamPatience = time.Minute

// file is the route of a verb that answers with a file. Before the first byte an error
// is told as every other is; after it the answer breaks off. It also does when the
// server is about to stop, so that a copy does not keep the daemon from ending.
func file(c desk.Copy) route {
	return route{c.Name, http.MethodGet, func(s *Server) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			out := &sending{w: w, deadline: http.NewResponseController(w)}
			defer context.AfterFunc(s.stopping, out.end)()
			err := c.Do(r.Context(), s.host, named(r), out)
			switch {
			case err == nil:
			case !out.begun:
				answer(w, nil, err)
			default:
				s.log.Warn("a copy broke off", "path", r.URL.Path, "error", err)
				panic(http.ErrAbortHandler)
			}
		}
	}}
}

// sending writes an answer as long as it is taken and nobody ends it.
type sending struct {
	w        http.ResponseWriter
	deadline *http.ResponseController
	begun    bool // something was written

	mu    sync.Mutex
	ended bool
}

// end makes Write fail, also the one that is waiting.
func (s *sending) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	_ = s.deadline.SetWriteDeadline(time.Now()) // a connection that is gone needs none
}

func (s *sending) Write(p []byte) (int, error) {
	if err := s.extend(); err != nil {
		return 0, err
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "application/octet-stream")
	}
	return s.w.Write(p)
}

func (s *sending) extend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errors.New("the daemon is stopping")
	}
	return s.deadline.SetWriteDeadline(time.Now().Add(streamPatience))
}
