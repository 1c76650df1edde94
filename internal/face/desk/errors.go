// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"errors"
	"net/http"

	"github.com/hinged/hinged/internal/measure/whatif"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
)

// errorKinds are the errors that are told from others across the socket and the API, by their
// names, with the status code of HTTP.
var errorKinds = []struct {
	name string
	is   error
	code int
}{
	{"account", ErrNoAccount, http.StatusNotFound},
	{"message", ErrNoMessage, http.StatusNotFound},
	{"entry", ErrNoEntry, http.StatusNotFound},
	{"paused", ErrPaused, http.StatusConflict},
	{"stream", ErrStreamAccount, http.StatusConflict},
	{"elsewhere", stream.ErrElsewhere, http.StatusServiceUnavailable},
	{"pending", store.ErrPending, http.StatusServiceUnavailable},
	{"stopped", ErrStopped, http.StatusServiceUnavailable},
	{"early", ErrTooEarly, http.StatusConflict},
	{"no-dashboard", ErrNoDashboard, http.StatusNotFound},
	{"forget", ErrForget, http.StatusBadRequest},
	{"no-whatif", whatif.ErrNoRun, http.StatusNotFound},
	{"whatif-running", whatif.ErrRunning, http.StatusConflict},
	{"whatif-settings", whatif.ErrSettings, http.StatusBadRequest},
	{"busy", store.ErrBusy, http.StatusServiceUnavailable},
	{"space", store.ErrNoSpace, http.StatusInsufficientStorage},
	{"damaged", store.ErrDamaged, http.StatusInternalServerError},
}

// KindOf returns the name of an error's kind, "" if it has none, and its status code.
func KindOf(err error) (kind string, code int) {
	for _, k := range errorKinds {
		if errors.Is(err, k.is) {
			return k.name, k.code
		}
	}
	return "", http.StatusInternalServerError
}

// ErrorOf returns the error that a kind stands for, nil if there is none of that name.
func ErrorOf(kind string) error {
	for _, k := range errorKinds {
		if k.name == kind {
			return k.is
		}
	}
	return nil
}
