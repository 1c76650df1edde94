// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"sync"
)

// modifiedWatch finds the response code MODIFIED (RFC 7162, section 3.1.3),
// which says that a conditional STORE lost its race, and which the client
// library reads and forgets. It looks at the bytes that pass, only while a
// STORE is under way, and keeps none of them but the last few.
type modifiedWatch struct {
	mu    sync.Mutex
	on    bool
	found bool
	tail  []byte
}

var modifiedCode = []byte("[MODIFIED ")

// Write is called with everything that is sent and received.
func (w *modifiedWatch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.on && !w.found {
		seen := append(w.tail, bytes.ToUpper(p)...)
		w.found = bytes.Contains(seen, modifiedCode)
		w.tail = append(w.tail[:0], seen[max(0, len(seen)-len(modifiedCode)):]...)
	}
	return len(p), nil
}

func (w *modifiedWatch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on, w.found, w.tail = true, false, nil
}

// end reports whether the code came since start.
func (w *modifiedWatch) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = false
	return w.found
}
