// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
)

func TestResultsComeInTheOrderOfTheInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	delays := make([]time.Duration, 300)
	for i := range delays {
		delays[i] = time.Duration(rng.IntN(300)) * time.Microsecond
	}
	for _, workers := range []int{0, 1, 3} {
		inOrder(t, delays, workers)
	}
}

// inOrder has so many workers, no more, give results after delays.
func inOrder(t *testing.T, delays []time.Duration, workers int) {
	t.Helper()
	var working atomic.Int32
	s := New(Options[int]{Depth: 8, Bytes: 100, Size: func(i int) int64 { return int64(i % 40) }, Workers: workers}, func(i int) int {
		if n := working.Add(1); workers > 0 && int(n) > workers {
			t.Errorf("%d work at a time, want at most %d", n, workers)
		}
		time.Sleep(delays[i])
		working.Add(-1)
		return 3 * i
	})
	go func() {
		for i := range delays {
			if err := s.Put(context.Background(), i); err != nil {
				t.Error(err)
			}
		}
		s.Close()
	}()
	n := 0
	for out := range s.Order() {
		if got := <-out; got != 3*n {
			t.Fatalf("result %d is %d, want %d", n, got, 3*n)
		}
		n++
	}
	if n != len(delays) {
		t.Fatalf("%d results, want %d", n, len(delays))
	}
}

func TestAnInputAboveTheByteBudgetPassesAlone(t *testing.T) {
	s := New(Options[int]{Depth: 4, Bytes: 10, Size: func(i int) int64 { return int64(i) }},
		func(i int) int { return i })
	go func() {
		defer s.Close()
		for _, size := range []int{1000, 1, 1000} {
			if err := s.Put(context.Background(), size); err != nil {
				t.Error(err)
			}
		}
	}()
	n := 0
	for out := range s.Order() {
		<-out
		n++
	}
	if n != 3 {
		t.Fatalf("%d results, want 3", n)
	}
}

func TestPutEndsWithItsContextWhenTheStageIsFull(t *testing.T) {
	s := New(Options[int]{Depth: 1, Bytes: 10, Size: func(int) int64 { return 1 }},
		func(i int) int { return i })
	testkit.OK(t, s.Put(context.Background(), 1))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Put(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Put into a full stage gave %v, want the context's error", err)
	}
	s.Close()
}

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
	if want := regexp.MustCompile(`^runtime error: slice bounds out of range \[\d+:\d+\] at \S+/pipeline/pipeline_test.go:\d+$`); !want.MatchString(first.Fault) {
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
	for _, want := range []string{"level=ERROR", "message=" + hex.EncodeToString(f.Read([]byte(secretMail)).Key[:4]), `fault="panic with a string at `, "pipeline_test.go:"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing in %s", want, &log)
		}
	}
	if strings.Contains(log.String(), "secret") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("logged: %s", &log)
	}
}

func TestAPoolReadsAsAFeaturizerOfTheSameOptionsDoes(t *testing.T) {
	mails := []string{
		"From: a@example.org\nTo: me@example.org\nSubject: one\n\nfirst words here\n",
		"From: me@example.org\nTo: a@example.org\nSubject: =?utf-8?q?gr=C3=BCn?=\n\nown words\n",
		"",
		"\x00\xff no mail at all",
	}
	short := featurize.DefaultOptions()
	short.MaxBytes = 40
	var options []featurize.Options
	for _, o := range []featurize.Options{featurize.DefaultOptions(), short} {
		for _, owner := range []string{"ME@example.org", "a@example.org"} {
			o.Owner = []string{owner}
			options = append(options, o)
		}
	}
	pool := NewPool(2)
	var all sync.WaitGroup
	defer all.Wait()
	for _, o := range options {
		reader, err := pool.Reader(o)
		testkit.OK(t, err)
		all.Go(func() {
			for range 50 {
				for _, raw := range mails {
					twin, err := featurize.New(o)
					if err != nil {
						t.Error(err)
						return
					}
					got, err := reader.Read(t.Context(), reader.Cut([]byte(raw)))
					if err != nil {
						t.Error(err)
						return
					}
					want := twin.Read([]byte(raw)[:min(len(raw), o.MaxBytes)])
					if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
						t.Errorf("for %v, %q reads as\n%.500s, not as\n%.500s", o.Owner, raw, a, b)
						return
					}
				}
			}
		})
	}
}

func TestAnotherOwnersReaderDiffersInTheOwnerOnly(t *testing.T) {
	reader, err := NewPool(1).Reader(featurize.DefaultOptions())
	testkit.OK(t, err)
	raw := []byte("From: a@example.org\nSubject: s\n\nb\n")
	for _, tt := range []struct {
		reader *Reader
		own    bool
	}{{reader, false}, {reader.Owned([]string{"A@example.org "}), true}, {reader, false}} {
		m, err := tt.reader.Read(t.Context(), raw)
		testkit.OK(t, err)
		if m.FromOwner != tt.own {
			t.Errorf("own is %v, want %v", m.FromOwner, tt.own)
		}
	}
}

func TestAPoolRefusesOptionsThatCannotBe(t *testing.T) {
	o := featurize.DefaultOptions()
	o.MaxBytes = 0
	if _, err := NewPool(1).Reader(o); err == nil {
		t.Error("a limit of 0 bytes was taken")
	}
}

func TestReadingWaitsForAFeaturizerNoLongerThanItsContext(t *testing.T) {
	pool := NewPool(1)
	reader, err := pool.Reader(featurize.DefaultOptions())
	testkit.OK(t, err)
	taken := <-pool.idle
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader.Read(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	pool.idle <- taken
	if _, err := reader.Read(t.Context(), nil); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestALongLineKeepsNoOtherWaiting: of one line, whoever owns its mail, as many messages
// wait for a featurizer as there are. The others of it don't, so another line goes ahead.
func TestALongLineKeepsNoOtherWaiting(t *testing.T) {
	const places = 3
	hot, err := NewPool(places).Reader(featurize.DefaultOptions())
	testkit.OK(t, err)
	owned := hot.Owned([]string{"a@example.org"})
	for range places {
		hot.turns <- struct{}{} // as one that waits
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []*Reader{hot, owned} {
		if _, err := r.Read(gone, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("one more of the line: %v", err)
		}
	}
	for _, r := range []*Reader{hot.Line(), owned.Line()} {
		if _, err := r.Read(t.Context(), nil); err != nil {
			t.Errorf("another line: %v", err)
		}
	}
	for range places {
		<-hot.turns
	}
	for range 2 * places {
		if _, err := owned.Read(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	if n := len(hot.turns); n != 0 {
		t.Errorf("%d places in the line are taken by nobody", n)
	}
}
