// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/store"
)

// Message names a message in a request: by its content when there is any, else by
// what it is known as.
type Message struct {
	// Name is a Message-ID, the hexadecimal key of a message or the beginning of
	// one, at least 8 digits; with content, only what the answer calls it.
	Name string `json:"name,omitempty" jsonschema:"maxLength=1000"`
	// Content is the raw message, in base64. It need not be known. Without it the message
	// is the one of that name.
	Content *[]byte `json:"content,omitempty" jsonschema:"pattern=^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"`
}

// findMessage finds a known message by its Message-ID, its key or the beginning of
// that. Of several with one Message-ID it is the newest in INBOX, if one lies there; see
// filter.Copies.
func findMessage(f *filter.Filter, message string) (store.MessageKey, error) {
	if k, ok := withID(f, message); ok {
		return k, nil
	}
	if len(message) >= 8 {
		found := keysWith(f.State(), strings.ToLower(message))
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return store.MessageKey{}, fmt.Errorf("%w: the keys of %[3]d messages begin with %[2]s; give more digits", ErrNoMessage, message, len(found))
		}
	}
	return store.MessageKey{}, fmt.Errorf("%w: %s is neither a Message-ID nor the key of a known message", ErrNoMessage, message)
}

func withID(f *filter.Filter, message string) (k store.MessageKey, ok bool) {
	if copies := f.People.Copies(filter.IDOf(message)); len(copies) > 0 {
		return copies[0], true
	}
	known, _ := f.State().IDs.Get(filter.IDOf(message).Key())
	return known.Message, known.Message != (store.MessageKey{})
}

func keysWith(st *store.State, digits string) (found []store.MessageKey) {
	var key []byte
	for _, k := range st.Messages.Keys() {
		if key = hex.AppendEncode(key[:0], []byte(k)); bytes.HasPrefix(key, []byte(digits)) {
			found = append(found, store.MessageKey([]byte(k)))
		}
	}
	return found
}

// othersOf returns the keys of the other messages with the Message-ID by which k was
// found; nil if it was found by its key.
func othersOf(f *filter.Filter, message string, k store.MessageKey) []string {
	copies := f.People.Copies(filter.IDOf(message))
	if !slices.Contains(copies, k) {
		return nil
	}
	var out []string
	for _, other := range copies {
		if other != k {
			out = append(out, hexKey(other))
		}
	}
	return out
}

// KeyOf returns the key of a message by its content, in hexadecimal, in an account that
// looks at so many bytes of a message.
func KeyOf(raw []byte, maxBytes int) (string, error) {
	o := featurize.DefaultOptions()
	o.MaxBytes = maxBytes
	f, err := featurize.New(o)
	if err != nil {
		return "", err
	}
	return hexKey(store.MessageKey(f.ReadHeader(raw[:min(len(raw), maxBytes)]).Key)), nil
}

func hexKey(k store.MessageKey) string { return hex.EncodeToString(k[:]) }

// TimeOf is a moment in an answer; nil: there was none.
func TimeOf(m store.Moment) *time.Time {
	if m == 0 {
		return nil
	}
	t := m.Time()
	return &t
}
