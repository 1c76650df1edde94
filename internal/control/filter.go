// SPDX-License-Identifier: Apache-2.0

package control

import (
	"io"
	"net/http"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/passthrough"
)

// filter answers a message with the message itself, the two X-Hinged-… fields at its
// head. A mail filter that is one line of curl asks it (docs/mail-filters.md).
func (s *Server) filter(w http.ResponseWriter, r *http.Request) {
	var c desk.Classification
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxMail))
	if err == nil {
		c, err = desk.Classify.Do(r.Context(), s.host, named(r), desk.ClassifyRequest{Mail: raw})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "message/rfc822")
	_, _ = w.Write(passthrough.Add(raw, c.Fields())) //nolint:gosec // mail, not a page; the client has gone if this fails
}
