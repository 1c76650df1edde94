// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// post is a mailbox that grows, and a source over it for each account.
type post struct {
	count atomic.Int32
	all   [][]byte
	s     map[string]*server
}

func newPost(n int, accounts ...string) *post {
	p := &post{s: map[string]*server{}}
	for i := range n {
		p.all = append(p.all, mail(i, "a@example.com", fmt.Sprint("words ", i)))
	}
	for _, name := range accounts {
		p.s[name] = &server{more: make(chan struct{}, 1), mail: func() [][]byte { return p.all[:p.count.Load()] }}
	}
	return p
}

// arrive adds n messages to the mailboxes.
func (p *post) arrive(n int32) {
	p.count.Add(n)
	for _, s := range p.s {
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
}

// account are the options of an account; settings tells it from what it was.
func (p *post) account(name, settings string, o filter.Options) AccountOptions {
	return AccountOptions{
		Name: name, Settings: settings, Filter: o,
		NewSource: func(known []ingest.Known) (ingest.Source, error) {
			if settings == "unusable" {
				return nil, errors.New("no such mechanism")
			}
			if known != nil {
				p.s[name].known = known
			}
			return p.s[name], nil
		},
	}
}

// runs starts a daemon, which must end well.
func runs(t *testing.T, dir string, accounts ...AccountOptions) *Daemon {
	t.Helper()
	d, stop := launch(t, options(dir, accounts...), nil)
	t.Cleanup(func() {
		stop()
		if _, err := d.Reload(context.Background(), nil, nil); !errors.Is(err, errNotRunning) {
			t.Errorf("Reload after the end: %v", err)
		}
	})
	return d
}

// seen waits until every account has n messages.
func seen(t *testing.T, d *Daemon, n uint64) (s desk.Status) {
	t.Helper()
	await(t, fmt.Sprint(n, " messages"), func() (any, bool) {
		s = must(t, d, desk.GetStatus, desk.None{})
		return s, !slices.ContainsFunc(s.Accounts, func(a desk.AccountStatus) bool { return a.Messages != n })
	})
	return s
}

func TestAReloadDisturbsOnlyTheAccountsThatChanged(t *testing.T) {
	t.Parallel()
	p := newPost(300, "calm", "changed", "gone", "new")
	o, stern := testOptions(), testOptions()
	stern.Threshold.Value = 5
	d := runs(t, t.TempDir(), p.account("calm", "1", o), p.account("changed", "1", o), p.account("gone", "1", o))
	p.arrive(100)
	seen(t, d, 100)
	got, err := d.Reload(t.Context(), []AccountOptions{p.account("new", "1", o), p.account("changed", "2", stern), p.account("calm", "1", stern)}, nil)
	testkit.OK(t, err)
	if want := "{[new] [changed] [gone] 1 false}"; fmt.Sprint(got) != want {
		t.Errorf("Reload = %v, want %s", got, want)
	}
	await(t, "its new run", func() (any, bool) { return nil, p.s["changed"].runs.Load() >= 2 })
	if calm, changed, gone := p.s["calm"].runs.Load(), p.s["changed"].runs.Load(), p.s["gone"].running.Load(); calm != 1 || changed != 2 || gone != 0 {
		t.Errorf("calm was run %d times, changed %d times, gone runs %d times", calm, changed, gone)
	}
	if k := p.s["changed"].known; len(k) != 1 || k[0].UIDNext != 101 {
		t.Errorf("changed resumes from %+v", k)
	}
	p.arrive(100)
	s := seen(t, d, 200)
	if len(s.Accounts) != 3 || s.Accounts[0].Account != "new" || s.Accounts[1].Threshold != 5 || s.Accounts[2].Threshold != 0 {
		t.Errorf("the accounts are %+v", s.Accounts)
	}
	if _, err := do(t.Context(), d, desk.Pause, "gone", desk.SwitchRequest{}); !errors.Is(err, desk.ErrNoAccount) {
		t.Errorf("an account that is gone: %v", err)
	}
	// It comes back as it was left.
	_, err = d.Reload(t.Context(), []AccountOptions{p.account("gone", "1", o)}, nil)
	testkit.OK(t, err)
	seen(t, d, 200)
	if k := p.s["gone"].known; len(k) != 1 || k[0].UIDNext != 101 {
		t.Errorf("gone resumes from %+v", k)
	}
}

func TestAReloadThatCannotBeChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPost(300, "me", "you")
	o, wrong := testOptions(), testOptions()
	wrong.TimeZone = "Nowhere/Land"
	d := runs(t, t.TempDir(), p.account("me", "1", o))
	p.arrive(100)
	seen(t, d, 100)
	for _, next := range [][]AccountOptions{
		{p.account("you", "1", o), p.account("me", "unusable", o)},
		{p.account("you", "unusable", o)},
		{p.account("me", "2", wrong)},
	} {
		if got, err := d.Reload(t.Context(), next, nil); err == nil || got.Added != nil || got.Changed != nil || got.Removed != nil {
			t.Errorf("Reload = %v, %v", got, err)
		}
	}
	p.arrive(100)
	if s := seen(t, d, 200); len(s.Accounts) != 1 || s.Accounts[0].Account != "me" || p.s["me"].runs.Load() != 1 {
		t.Errorf("the source was run %d times; accounts %+v", p.s["me"].runs.Load(), s.Accounts)
	}
}

func TestRequestsWaitForAReload(t *testing.T) {
	t.Parallel()
	p := newPost(2000, "me")
	d := runs(t, t.TempDir(), p.account("me", "0", testOptions()))
	stop, asked := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				asked <- nil
				return
			default:
			}
			if _, err := digestsOf(context.Background(), d); err != nil {
				asked <- fmt.Errorf("question %d: %w", n, err)
				return
			}
		}
	}()
	for n := range 40 {
		p.arrive(50)
		o := testOptions()
		o.Threshold.Value = float64(n)
		if got, err := d.Reload(t.Context(), []AccountOptions{p.account("me", fmt.Sprint(n+1), o)}, nil); err != nil || len(got.Changed) != 1 {
			t.Fatalf("reload %d: %v, %v", n, got, err)
		}
	}
	close(stop)
	testkit.OK(t, <-asked)
	if s := seen(t, d, 2000); s.Accounts[0].Threshold != 39 || p.s["me"].runs.Load() != 41 {
		t.Errorf("threshold %v after %d runs", s.Accounts[0].Threshold, p.s["me"].runs.Load())
	}
	sound(t, d)
}

func TestAReloadInAPauseDoesNotEndIt(t *testing.T) {
	t.Parallel()
	p := newPost(300, "me")
	d := runs(t, t.TempDir(), p.account("me", "1", testOptions()))
	p.arrive(100)
	seen(t, d, 100)
	must(t, d, desk.Pause, desk.SwitchRequest{})
	o := testOptions()
	o.Threshold.Value = 7
	if _, err := d.Reload(t.Context(), []AccountOptions{p.account("me", "2", o)}, nil); err != nil {
		t.Fatal(err)
	}
	p.arrive(100)
	if s := seen(t, d, 100); !s.Accounts[0].Paused || s.Accounts[0].Threshold != 7 || p.s["me"].running.Load() != 0 {
		t.Errorf("after a reload in a pause: %+v", s.Accounts[0])
	}
	must(t, d, desk.Resume, desk.SwitchRequest{})
	seen(t, d, 200)
}

func TestAReloadTriesAnAccountAgainThatHadStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPost(100, "me", "broken")
	o := testOptions()
	broken := newScript()
	broken.fail = errors.New("closed for good")
	first := p.account("broken", "1", o)
	first.NewSource = func([]ingest.Known) (ingest.Source, error) { return broken, nil }
	d := runs(t, dir, p.account("me", "1", o), first)
	for !d.all()[1].ended() {
		time.Sleep(time.Millisecond)
	}
	if err := d.Alive(t.Context()); err != nil {
		t.Errorf("with an account that stopped for good: %v", err)
	}
	if s := d.Sentence(t.Context()); !strings.Contains(s, "2 accounts") || !strings.Contains(s, "1 stopped with an error") {
		t.Errorf("Sentence() = %q", s)
	}
	got, err := d.Reload(t.Context(), []AccountOptions{p.account("me", "1", o), p.account("broken", "1", o)}, nil)
	if err != nil || !slices.Equal(got.Added, []string{"broken"}) || got.Unchanged != 1 {
		t.Fatalf("Reload = %v, %v", got, err)
	}
	p.arrive(100)
	seen(t, d, 100)
}
