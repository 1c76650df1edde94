// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/hex"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
)

const secretMail = "From ann\nFrom: ann@example.org\nSubject: secret\n\nsecret\n"

// always panics after it has read the header, so that the featurizer is not as new.
func always(f *featurize.Featurizer, raw []byte) *featurize.Message {
	subject := f.ReadHeader(raw).Subject
	_ = subject[len(raw):]
	return nil
}

func TestAMessageThatPanicsIsReadAsAnEmptyOne(t *testing.T) {
	reader, err := NewPool(1).Reader(featurize.DefaultOptions())
	testkit.OK(t, err)
	f := new(featurize.Featurizer)
	f.Use(reader.options)
	read := f.Read([]byte(secretMail))
	first := reader.attempt(f, []byte(secretMail), always)
	if first.Key != read.Key || first.Subject != "" || len(first.From) > 0 || strings.Join(first.Defects, ";") != "unreadable" {
		t.Errorf("got %+v", first)
	}
	empty := names(f, f.Read(nil))
	empty["defect:unreadable"] = true
	if got := names(f, first); !reflect.DeepEqual(got, empty) {
		t.Errorf("features %v, want %v", got, empty)
	}
	if want := regexp.MustCompile(`^runtime error: slice bounds out of range \[\d+:\d+\] at \S+/pipeline/fault_test.go:\d+$`); !want.MatchString(first.Fault) {
		t.Errorf("fault %q, want %v", first.Fault, want)
	}
	if again := reader.attempt(new(featurize.Featurizer), []byte(secretMail), always); !reflect.DeepEqual(again, first) {
		t.Errorf("again %+v, want %+v", again, first)
	}
	if got, want := names(f, f.Read([]byte(secretMail))), names(f, read); !reflect.DeepEqual(got, want) {
		t.Errorf("the next message has %v, want %v", got, want)
	}
}

func names(f *featurize.Featurizer, m *featurize.Message) map[string]bool {
	all := map[string]bool{}
	for n := range f.Freeze(m, featurize.History{}).All() {
		all[n.Name] = true
	}
	return all
}

// What an earlier message left behind in a featurizer decides nothing.
func TestAMessageIsReadOnceMoreAfterAPanic(t *testing.T) {
	reader, err := NewPool(1).Reader(featurize.DefaultOptions())
	testkit.OK(t, err)
	f, n := new(featurize.Featurizer), 0
	f.Use(reader.options)
	m := reader.attempt(f, []byte(secretMail), func(f *featurize.Featurizer, raw []byte) *featurize.Message {
		if n++; n == 1 {
			panic(string(raw))
		}
		return f.Read(raw)
	})
	if m.Subject != "secret" || m.Fault != "" || n != 2 {
		t.Errorf("read %d times: %+v", n, m)
	}
}

func TestAFaultIsLoggedWithoutTheMessage(t *testing.T) {
	reader, err := NewPool(1).Reader(featurize.DefaultOptions())
	testkit.OK(t, err)
	f := new(featurize.Featurizer)
	f.Use(reader.options)
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	LogFault(logger, nil)
	LogFault(logger, f.Read([]byte(secretMail)))
	if log.Len() > 0 {
		t.Errorf("without a fault: %s", &log)
	}
	LogFault(logger, reader.attempt(f, []byte(secretMail), func(_ *featurize.Featurizer, raw []byte) *featurize.Message { panic(string(raw)) }))
	for _, want := range []string{"level=ERROR", "message=" + hex.EncodeToString(f.Read([]byte(secretMail)).Key[:4]), `fault="panic with a string at `, "fault_test.go:"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing in %s", want, &log)
		}
	}
	if strings.Contains(log.String(), "secret") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("logged: %s", &log)
	}
}
