// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/store/copies"
)

// BackupOptions say how the daemon makes backups of its store by itself. The zero value
// makes none.
type BackupOptions struct {
	Every    time.Duration // 0: never
	Rotation copies.Rotation
}

const (
	// backupSettle is how long the daemon runs before it makes the first backup, so that
	// one that is restarted again and again, or has mail to catch up with, makes none.
	backupSettle = 10 * time.Minute
	// backupRetry is after how long one that failed is tried again, at the latest.
	backupRetry = time.Hour
)

// backups makes the daemon's own backups. Safe for concurrent use.
type backups struct {
	changed chan struct{} // tells keep of other options

	mu     sync.Mutex
	o      BackupOptions
	failed error // why the last attempt failed; nil: it went well

	making sync.Mutex // held while backups are made or deleted
}

func (b *backups) options() BackupOptions {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.o
}

// UseBackups has the daemon make its backups as o says from now on. Safe for concurrent
// use.
func (d *Daemon) UseBackups(o BackupOptions) {
	d.backups.mu.Lock()
	changed := d.backups.o != o
	d.backups.o = o
	d.backups.mu.Unlock()
	if !changed {
		return
	}
	select {
	case d.backups.changed <- struct{}{}:
	default: // it will see
	}
}

func (d *Daemon) keepBackups(ctx context.Context) {
	started := d.now()
	for {
		var due <-chan time.Time
		var timer *time.Timer
		o := d.backups.options()
		if wait, ok := d.nextBackup(o, started); ok {
			timer = time.NewTimer(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-d.backups.changed:
		case <-due:
			d.makeBackup(ctx, o)
		}
		if timer != nil {
			timer.Stop()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// nextBackup returns how long it is until the next backup; not ok: there will be none.
func (d *Daemon) nextBackup(o BackupOptions, started time.Time) (time.Duration, bool) {
	if o.Every <= 0 {
		return 0, false
	}
	d.backups.mu.Lock()
	failed := d.backups.failed
	d.backups.mu.Unlock()
	if failed != nil {
		return min(o.Every, backupRetry), true
	}
	due := started.Add(min(o.Every, backupSettle))
	all, err := o.Rotation.List()
	if err == nil && len(all) > 0 {
		newest := all[len(all)-1].At
		if now := d.now(); newest.After(now) {
			newest = now // the clock was set back
		}
		if next := newest.Add(o.Every); next.After(due) {
			due = next
		}
	}
	return max(0, due.Sub(d.now())), true
}

func (d *Daemon) newestBackup() string {
	all, err := d.backups.options().Rotation.List()
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[len(all)-1].File
}

// errUnanswered: a backup would in time take the place of one from before the damage.
var errUnanswered = errors.New("the store was begun anew after it was damaged")

// makeBackup makes one backup and notes what came of it.
func (d *Daemon) makeBackup(ctx context.Context, o BackupOptions) {
	d.backups.making.Lock()
	defer d.backups.making.Unlock()
	made, err := copies.Kept{}, errUnanswered
	if d.store.Instead() == "" {
		made, err = o.Rotation.Make(ctx, control.Local(d), d.store.Path(), d.now())
	}
	if ctx.Err() != nil {
		return // it is made after the next start
	}
	d.backups.mu.Lock()
	d.backups.failed = err
	d.backups.mu.Unlock()
	if err != nil {
		d.log.Error("a backup failed; the ones there were stay", "error", err, "directory", o.Rotation.Dir)
		d.Warn("backups", "the last backup failed: "+err.Error())
		return
	}
	d.Warn("backups", "")
	d.log.Info("backup made", "file", made.File)
}

// Backups implements desk.Host.
func (d *Daemon) Backups() desk.Backups {
	o := d.backups.options()
	return &ownBackups{of: control.Local(d), path: d.store.Path(), o: o, now: d.now, making: &d.backups.making}
}

// ownBackups are the backups that a daemon makes by itself, for one request.
type ownBackups struct {
	of     copies.Source
	path   string // of the store
	o      BackupOptions
	now    func() time.Time
	making sync.Locker
}

// List implements desk.Backups.
func (b *ownBackups) List() ([]string, error) {
	all, err := b.o.Rotation.List()
	out := make([]string, len(all))
	for i, k := range all {
		out[i] = k.File
	}
	return out, err
}

// Renew implements desk.Backups.
func (b *ownBackups) Renew(ctx context.Context) (deleted int, err error) {
	b.making.Lock()
	defer b.making.Unlock()
	return b.o.Rotation.Renew(ctx, b.of, b.path, b.now())
}

// status says how the backups are; nil: there are none, and none will be made.
func (b *ownBackups) status() *desk.BackupStatus {
	all, err := b.o.Rotation.List()
	if b.o.Every <= 0 && len(all) == 0 && err == nil {
		return nil
	}
	s := &desk.BackupStatus{Directory: b.o.Rotation.Dir, EverySeconds: b.o.Every.Seconds(), Kept: len(all)}
	if err != nil {
		s.Problem = err.Error()
	}
	if len(all) > 0 {
		newest := all[len(all)-1]
		s.Newest, s.File = &newest.At, newest.File
	}
	return s
}

// backupStatus is that of a daemon.
func (d *Daemon) backupStatus() *desk.BackupStatus {
	b, _ := d.Backups().(*ownBackups)
	s := b.status()
	d.backups.mu.Lock()
	defer d.backups.mu.Unlock()
	if s != nil && d.backups.failed != nil {
		s.Problem = d.backups.failed.Error()
	}
	return s
}
