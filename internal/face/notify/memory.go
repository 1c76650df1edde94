// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/host/atomicfile"
)

// Bounds of a memory.
const (
	mostWaiting = 1000
	mostTold    = 1000
)

// memory is what is kept of a target over a restart. It names messages by their keys and
// has nothing of what is in them.
type memory struct {
	Version int       `json:"version"`
	Day     string    `json:"day"` // Day is the owner's day, such as 2026-03-01, on which Sent notifications were sent.
	Sent    int       `json:"sent"`
	Waiting []waiting `json:"waiting"` // Waiting are the messages yet to be reported, oldest first, and More counts others.
	More    int       `json:"more"`
	Told    []string  `json:"told"` // the last messages that need no report any more, oldest first
}

// waiting is a message yet to be reported.
type waiting struct {
	Key  string    `json:"key"`
	At   time.Time `json:"at"`   // when it was marked
	Held bool      `json:"held"` // quiet hours held it back, or a restart
}

const memoryVersion = 1

// errDamaged is wrapped where a memory can't be read.
var errDamaged = errors.New("the file is damaged, or of another version of hinged")

func readMemory(path string) (memory, error) {
	m := memory{Version: memoryVersion}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return memory{Version: memoryVersion}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if m.Version != memoryVersion {
		return memory{Version: memoryVersion}, fmt.Errorf("%w: version %d", errDamaged, m.Version)
	}
	for i := range m.Waiting {
		m.Waiting[i].Held = true // what it is about is not known any more
	}
	return m, nil
}

func (m *memory) write(path string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, data, 0o600)
}

func (m *memory) knows(key string) bool {
	return slices.Contains(m.Told, key) || slices.ContainsFunc(m.Waiting, func(w waiting) bool { return w.Key == key })
}

// told moves messages from those that wait to those that were reported.
func (m *memory) told(all ...waiting) {
	for _, w := range all {
		m.Waiting = slices.DeleteFunc(m.Waiting, func(x waiting) bool { return x.Key == w.Key })
		m.Told = append(m.Told, w.Key)
	}
	if n := len(m.Told) - mostTold; n > 0 {
		m.Told = slices.Delete(m.Told, 0, n)
	}
}

// untold takes told back.
func (m *memory) untold(all []waiting) {
	m.Told = slices.DeleteFunc(m.Told, func(key string) bool {
		return slices.ContainsFunc(all, func(w waiting) bool { return w.Key == key })
	})
	m.Waiting = append(slices.Clone(all), m.Waiting...)
}
