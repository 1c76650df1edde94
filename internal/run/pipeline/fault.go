// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"runtime"
	"strings"

	"github.com/hinged/hinged/featurize"
)

// reading is a way to read a message, such as featurize.Featurizer.Read.
type reading func(*featurize.Featurizer, []byte) *featurize.Message

// attempt reads a message with f. If reading panics, it tries again with nothing left of
// earlier messages, and if that panics too, it returns what Unreadable does. So the result
// depends on the message and the options alone, and is the same wherever it is read again.
func (r *Reader) attempt(f *featurize.Featurizer, raw []byte, read reading) *featurize.Message {
	m, fault := try(f, raw, read)
	if fault != "" {
		r.renew(f)
		m, fault = try(f, raw, read)
	}
	if fault != "" {
		r.renew(f)
		m = f.Unreadable(raw, fault)
	}
	return m
}

// renew makes f what a new one is.
func (r *Reader) renew(f *featurize.Featurizer) {
	*f = featurize.Featurizer{}
	f.Use(r.options)
}

// try reads a message; fault says what panicked, and where.
func try(f *featurize.Featurizer, raw []byte, read reading) (m *featurize.Message, fault string) {
	defer func() {
		if p := recover(); p != nil {
			fault = faultOf(p)
		}
	}()
	return read(f, raw), ""
}

// faultOf describes the panic that is being recovered from. It repeats only what the
// runtime says, since any other panic may quote the message.
func faultOf(p any) string {
	what := fmt.Sprintf("panic with a %T", p)
	if err, ok := p.(runtime.Error); ok {
		what = err.Error()
	}
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	for panicking, more := false, true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(frame.Function, "runtime."):
			return fmt.Sprintf("%s at %s:%d", what, frame.File, frame.Line)
		}
	}
	return what
}

// LogFault logs an error if a panic kept m from being read. m may be nil.
func LogFault(log *slog.Logger, m *featurize.Message) {
	if m != nil && m.Fault != "" {
		log.Error("a bug in hinged keeps it from reading a message, which is decided as if it were empty; please report the fault",
			"message", hex.EncodeToString(m.Key[:4]), "fault", m.Fault)
	}
}
