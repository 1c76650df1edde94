// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/hinged/hinged/internal/face/desk"
)

// Problem is the body of an answer that is an error: a problem document (RFC 9457), with
// members of its own.
type Problem struct {
	Title  string `json:"title"`          // the status code in words
	Status int    `json:"status"`         // the status code
	Error  string `json:"error"`          // what is wrong, in words
	Kind   string `json:"kind,omitempty"` // what kind of error it is, for programs; absent if it has no name
}

const problemType = "application/problem+json"

// retryAfter is the seconds after which to ask again after a 503.
const retryAfter = "5"

// hidden stands for an error that is for those who run the daemon.
const hidden = "something went wrong inside hinged; its log says what"

// Refuse answers with a Problem. kind is a short word for programs, or "".
func Refuse(w http.ResponseWriter, status int, kind, text string) {
	w.Header().Set("Content-Type", problemType)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	body, err := json.Marshal(Problem{Title: http.StatusText(status), Status: status, Error: text, Kind: kind})
	if err != nil {
		return // strings and a number: this doesn't happen
	}
	_, _ = w.Write(append(body, '\n')) // the client has gone if this fails
}

type refusal struct {
	status     int
	kind, text string
}

func (e *refusal) Error() string { return e.text }

func tooLarge(limit int64) error {
	return &refusal{http.StatusRequestEntityTooLarge, "size", fmt.Sprintf("the body is larger than %d bytes", limit)}
}

// refuse answers with an error. Its text may have paths in it where it is not about the
// request itself; such a text is for those who run the daemon.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var known *refusal
	if errors.As(err, &known) {
		Refuse(w, known.status, known.kind, known.text)
		return
	}
	kind, status := desk.KindOf(err)
	if kind == "" && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		status = http.StatusServiceUnavailable
	}
	text := err.Error()
	if status >= http.StatusInternalServerError && a.stopping == nil { // whoever asks on the socket is told all
		a.log.Warn("a request failed", "path", r.URL.Path, "status", status, "kind", kind, "error", err)
		if !a.runs(r) {
			if text = hidden; kind != "" { // what is wrong, without what was being done to what
				text = desk.ErrorOf(kind).Error()
			}
		}
	}
	Refuse(w, status, kind, text)
}
