// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"sync"
)

// codeWatch finds a response code that the client library reads and forgets. It looks at
// the bytes that pass, only while a command is under way that may bring it, and keeps none
// of them but the last few.
type codeWatch struct {
	mu    sync.Mutex
	code  string // "": none is looked for
	found bool
	tail  []byte
}

const (
	modifiedCode = "[MODIFIED "     // a conditional STORE lost its race (RFC 7162, section 3.1.3)
	limitCode    = "[MESSAGELIMIT " // the answer is not whole (RFC 9738)
)

// Write is called with everything that is sent and received.
func (w *codeWatch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.code != "" && !w.found {
		seen := append(w.tail, bytes.ToUpper(p)...)
		w.found = bytes.Contains(seen, []byte(w.code))
		w.tail = append(w.tail[:0], seen[max(0, len(seen)-len(w.code)):]...)
	}
	return len(p), nil
}

func (w *codeWatch) start(code string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.code, w.found, w.tail = code, false, nil
}

// end reports whether the code came since start.
func (w *codeWatch) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.code = ""
	return w.found
}
