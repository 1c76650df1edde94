// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wire keeps what was sent. Tests look at it between two waits, with mu.
type wire struct {
	mu   sync.Mutex
	sent []string
	fail error
}

func (w *wire) notify(state string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, state)
	return w.fail
}

func TestTheServiceManagerIsToldInItsOwnWords(t *testing.T) {
	w := &wire{}
	m := New(Options{Notify: w.notify, Monotonic: func() string { return "MONOTONIC_USEC=17\n" }})
	m.Waiting("another hinged\nREADY=1 reads the store")
	m.Ready("")
	m.Reloading()
	m.Ready("one account")
	m.Stopping()
	want := []string{
		"STATUS=another hinged READY=1 reads the store",
		"READY=1",
		"RELOADING=1\nMONOTONIC_USEC=17\nSTATUS=reading the configuration again",
		"READY=1\nSTATUS=one account",
		"STOPPING=1\nSTATUS=stopping",
	}
	if !slices.Equal(w.sent, want) {
		t.Errorf("sent %q, want %q", w.sent, want)
	}
}

func TestNobodyIsToldWhereNobodyListens(t *testing.T) {
	m := New(Options{Watchdog: time.Second})
	m.Ready("")
	m.Reloading()
	m.Stopping()
	m.Watch(t.Context(), nil) // would not return, or ask nil
	fails := &wire{fail: errors.New("no such socket")}
	New(Options{Notify: fails.notify}).Ready("")
	if len(fails.sent) != 1 {
		t.Errorf("sent %q", fails.sent)
	}
}

// patient is a daemon that answers, fails, or is stuck.
type patient struct {
	mu       sync.Mutex
	err      error
	stuck    bool
	sentence string
}

func (p *patient) Alive(ctx context.Context) error {
	p.mu.Lock()
	stuck, err := p.stuck, p.err
	p.mu.Unlock()
	if stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// is changes how it is.
func (p *patient) is(stuck bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuck, p.err = stuck, err
}

func (p *patient) Sentence(context.Context) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sentence
}

func TestSignsOfLifeEndWithTheDaemons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := &wire{}, &patient{sentence: "one account"}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			New(Options{Notify: w.notify, Watchdog: 30 * time.Second}).Watch(ctx, p)
			close(done)
		}()
		signs := func() (n int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, s := range w.sent {
				if strings.HasPrefix(s, "WATCHDOG=1") {
					n++
				}
			}
			w.sent = nil
			return n
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if len(w.sent) == 0 || w.sent[0] != "WATCHDOG=1\nSTATUS=one account" || slices.Contains(w.sent[1:], w.sent[0]) {
			t.Errorf("sent %q", w.sent)
		}
		if n := signs(); n != 7 {
			t.Errorf("%d signs in a minute, want one every 10 s", n)
		}
		p.is(true, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := signs(); n != 0 {
			t.Errorf("%d signs of a daemon that is stuck", n)
		}
		p.is(false, errors.New("account me does not answer"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if last := w.sent[len(w.sent)-1]; last != "STATUS=not answering: account me does not answer" {
			t.Errorf("sent %q", last)
		}
		if n := signs(); n != 0 {
			t.Errorf("%d signs of a daemon that says it is stuck", n)
		}
		p.is(false, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := signs(); n < 5 {
			t.Errorf("%d signs in the minute after", n)
		}
		cancel()
		<-done
	})
}

func TestWithoutAWatchdogOnlyWhatIsNewIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := &wire{}, &patient{sentence: "one account"}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		New(Options{Notify: w.notify}).Watch(ctx, p)
		if want := []string{"STATUS=one account"}; !slices.Equal(w.sent, want) {
			t.Errorf("sent %q, want %q", w.sent, want)
		}
	})
}
