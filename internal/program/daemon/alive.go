// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/copies"
)

// Alive returns nil if the writer of every account, that of every partition and the
// control socket answer before ctx is done; else it names what does not. It is for a
// watchdog: a restart has to help. So an account or a partition that has stopped for good
// is not asked, nor is a writer that waits before it tries again what the disk or the
// brokers refused; Status tells of those. Safe for concurrent use while Run runs.
func (d *Daemon) Alive(ctx context.Context) error {
	var mu sync.Mutex
	var errs []error
	note := func(err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	}
	var asked sync.WaitGroup
	for _, a := range d.all() {
		asked.Go(func() { note(a.alive(ctx)) })
	}
	if d.stream != nil {
		asked.Go(func() { note(d.stream.Alive(ctx)) })
	}
	if d.server != nil {
		asked.Go(func() { note(d.server.Alive(ctx)) })
	}
	asked.Wait()
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func (a *account) alive(ctx context.Context) error {
	if a.resting.Load() {
		return nil
	}
	err := a.do(ctx, func() error { return nil })
	if err == nil || a.ended() || a.resting.Load() {
		return nil
	}
	return fmt.Errorf("account %s does not answer", a.opts.Name)
}

// Warn has Status tell of something about the whole daemon that its operator should look
// into; about names it, so that another text, or "" for none, replaces it. Safe for
// concurrent use.
func (d *Daemon) Warn(about, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.warnings[about] = text
	if text == "" {
		delete(d.warnings, about)
	}
}

// ShownAt has Status tell where the accounts are shown in a browser, and Dashboard hand out
// links to there, each of which link makes. Safe for concurrent use, as link must be.
func (d *Daemon) ShownAt(url string, link func() desk.DashboardLink) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dashboard, d.link = url, link
}

// FilteredBy has Status tell how the filter for a mail server is doing. Safe for concurrent
// use, as status must be.
func (d *Daemon) FilteredBy(status func() *desk.MilterStatus) { d.milter.Store(&status) }

// Dashboard implements desk.Host.
func (d *Daemon) Dashboard(context.Context) (desk.DashboardLink, error) {
	d.mu.Lock()
	link := d.link
	d.mu.Unlock()
	if link == nil {
		return desk.DashboardLink{}, fmt.Errorf("%w: the configuration has no [dashboard], or its port was taken (`hinged status` and the log say so)", desk.ErrNoDashboard)
	}
	return link(), nil
}

func (d *Daemon) shownAt() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dashboard
}

// warned returns the warnings, in the order of what they are about.
func (d *Daemon) warned() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := []string{}
	for _, about := range slices.Sorted(maps.Keys(d.warnings)) {
		out = append(out, d.warnings[about])
	}
	return append(out, begunAnew(d.store, d.backups.options().Rotation)...)
}

// begunAnew warns that a store was begun empty in the place of a damaged one, until somebody
// has decided which it is to be.
func begunAnew(s *boltfile.Store, r copies.Rotation) []string {
	damaged := s.Instead()
	if damaged == "" {
		return nil
	}
	backup := "There is no backup of hinged's own"
	if all, err := r.List(); err == nil && len(all) > 0 {
		backup = "To get that back, stop hinged and run `hinged restore " + all[len(all)-1].File + "`, which is the newest backup"
	}
	return []string{"the store was damaged, and hinged began anew, without what it had learnt. " + backup +
		". To go on without it, delete " + damaged + "; until then no backups are made, which would replace older ones"}
}

// Sentence says in one line how the daemon is doing. It names nobody: service managers
// show it to every user of the machine.
func (d *Daemon) Sentence(context.Context) string {
	accounts, connected, stopped, paused := d.all(), 0, 0, 0
	for _, a := range accounts {
		switch {
		case a.ended():
			stopped++
		case a.report.Load().Paused:
			paused++
		case a.source.Status().Connected:
			connected++
		}
	}
	parts := []string{desk.Count(len(accounts), "account")}
	for _, n := range []struct {
		n    int
		what string
	}{{connected, "connected"}, {paused, "paused"}, {stopped, "stopped with an error"}} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if len(accounts) == 0 {
		parts = nil
	}
	if d.stream != nil {
		parts = append(parts, streamWords(d.stream.Status()))
	}
	if n := len(d.warned()); n > 0 {
		parts = append(parts, desk.Count(n, "warning")+" (hinged status)")
	}
	return strings.Join(parts, ", ")
}

func streamWords(s stream.Status) string {
	if !s.Connected {
		return "no partition of Kafka yet"
	}
	return fmt.Sprintf("%s of Kafka", desk.Count(len(s.Partitions), "partition"))
}
