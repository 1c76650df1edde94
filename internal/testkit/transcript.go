// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"strings"
	"sync"
)

// Transcript keeps what is written to it: a log, or what goes over a wire. The zero
// value is empty. Safe for concurrent use.
type Transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends b. It never fails.
func (t *Transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

// String returns all that was written so far.
func (t *Transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// Has reports whether words were written so far.
func (t *Transcript) Has(words string) bool { return strings.Contains(t.String(), words) }
