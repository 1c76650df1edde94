// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/host/passthrough"
)

// streamPatience is how long a client that asked for a copy may read nothing of it: a
// copy that is not taken makes the store grow.
const streamPatience = time.Minute

// file is the route of a verb that answers with a file. Before the first byte an error
// is told as every other is; after it the answer breaks off. It also does when the
// server is about to stop, so that a copy does not keep the daemon from ending.
func file(c desk.Copy) route {
	return route{name: c.Name, serve: func(a *api, w http.ResponseWriter, r *http.Request) {
		out := &sending{w: w, deadline: http.NewResponseController(w), stopping: a.stopping}
		// A write that is waiting fails at once. A connection that is gone needs no deadline.
		defer context.AfterFunc(a.stopping, func() { _ = out.deadline.SetWriteDeadline(time.Now()) })()
		err := c.Do(r.Context(), a.o.Host, named(r), out)
		switch {
		case err == nil:
		case !out.begun:
			a.refuse(w, r, err)
		default:
			a.log.Warn("a copy was interrupted", "path", r.URL.Path, "error", err)
			panic(http.ErrAbortHandler)
		}
	}}
}

// sending writes an answer as long as it is taken and the server is not to stop.
type sending struct {
	w        http.ResponseWriter
	deadline *http.ResponseController
	stopping context.Context
	begun    bool // something was written
}

func (s *sending) Write(p []byte) (int, error) {
	if err := s.deadline.SetWriteDeadline(time.Now().Add(streamPatience)); err != nil {
		return 0, err
	}
	// In this order: whichever deadline is set last, a server that is to stop is noticed.
	if s.stopping.Err() != nil {
		return 0, errors.New("the daemon is stopping")
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "application/octet-stream")
	}
	return s.w.Write(p)
}

// filter answers a message with the message itself, the two X-Hinged-… fields at its
// head. A mail filter that is one line of curl asks it (docs/mail-filters.md).
func (a *api) filter(w http.ResponseWriter, r *http.Request) {
	var c desk.Classification
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxMail))
	if err == nil {
		c, err = desk.Classify.Do(r.Context(), a.o.Host, named(r), desk.ClassifyRequest{Mail: raw})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "message/rfc822")
	_, _ = w.Write(passthrough.Add(raw, c.Fields())) //nolint:gosec // mail, not a page; the client has gone if this fails
}
