// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	sdnotify "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/term"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/milter"
	"github.com/hinged/hinged/internal/face/notify"
	"github.com/hinged/hinged/internal/host/service"
	"github.com/hinged/hinged/internal/program/daemon"
)

// liveKeys are the top-level keys and tables of the configuration that a running daemon
// takes over. What is in none of them needs a restart.
var liveKeys = []string{"account", "kafka", "milter", "backups", "mcp", "log_level"}

type running struct {
	daemon  *daemon.Daemon
	path    string         // of the configuration
	config  *config.Config // in force
	level   *slog.LevelVar
	log     *slog.Logger
	manager *service.Manager
	tell    *teller
	letters *writer
	web     *web
	mail    *milter.Server // nil: there is none
	link    *link          // of the stream; nil: there is none
}

// serve runs the daemon until ctx is done. Beside it, it tells the service manager how it
// goes, and reads the configuration again at each hangup.
func (r *running) serve(ctx context.Context, hangups <-chan os.Signal) error {
	beside, end := context.WithCancel(ctx)
	defer end()
	var all sync.WaitGroup
	r.tell.begin(ctx)
	defer r.tell.end()
	letters := &writer{host: r.daemon, log: r.log}
	letters.renew(ctx, r.config)
	r.letters = letters
	r.manager.Ready(r.daemon.Sentence(ctx))
	all.Go(func() { r.manager.Watch(beside, r.daemon) })
	all.Go(func() {
		for beside.Err() == nil {
			select {
			case <-hangups:
				r.reload(beside)
			case <-beside.Done():
			}
		}
		r.manager.Stopping()
	})
	err := r.daemon.Run(ctx)
	end()
	all.Wait()
	letters.end()
	return err
}

func (r *running) reload(ctx context.Context) {
	r.manager.Reloading()
	warning := r.readAgain(ctx)
	r.daemon.Warn("configuration", warning)
	if warning == "" {
		warning = r.daemon.Sentence(ctx)
	}
	r.manager.Ready(warning)
}

// readAgain does it, and returns what its operator must know; "" for nothing.
func (r *running) readAgain(ctx context.Context) (warning string) {
	next, err := config.Load(r.path)
	var o daemon.Options
	var kept []string
	var tell *notify.Notifier
	var wire *link
	if err == nil {
		next, kept = r.config.Merge(next, liveKeys...)
		o, err = daemonOptions(next, r.log)
	}
	if err == nil {
		tell, err = newNotifier(next, r.log)
	}
	if err == nil {
		wire, o.Stream, err = r.link.renewed(ctx, next.Kafka, r.log)
	}
	if err != nil {
		r.logMistakes(err)
		return "the configuration was read again and has mistakes, so the old one stays in force: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	done, err := r.daemon.Reload(ctx, o.Accounts, o.Stream)
	r.use(wire, done.Stream)
	if err != nil {
		r.log.Error("the new configuration is not in force, or not everywhere", "error", err)
		return "the new configuration is not in force, or not everywhere: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	r.config = next
	r.daemon.UseBackups(o.Backups)
	r.tell.renew(ctx, tell)
	r.letters.renew(ctx, next)
	r.web.use(next)
	if r.mail != nil {
		r.mail.Use(milterSettings(next))
	}
	if err := r.level.UnmarshalText([]byte(next.LogLevel)); err != nil {
		r.log.Error("log_level", "error", err)
	}
	r.log.Info("the configuration was read again", "changed", done.Changed, "added", done.Added, "removed", done.Removed, "unchanged", done.Unchanged, "stream_changed", done.Stream)
	if len(kept) > 0 {
		r.log.Warn("a part of the configuration takes effect only after a restart", "keys", kept)
		return "the configuration was read again; it takes effect only after a restart in: " + strings.Join(kept, ", ")
	}
	return ""
}

// use goes on with another link if the daemon did, and closes what nobody uses any more.
func (r *running) use(next *link, adopted bool) {
	if next == nil {
		return
	}
	old, other := next, r.link
	if adopted {
		old, other = r.link, next
		r.link = next
		next.client.SetSettings(next.group)
	}
	if err := old.unless(other); err != nil {
		r.log.Debug("closing connections to brokers", "error", err)
	}
}

func (r *running) logMistakes(err error) {
	const message = "the new configuration is not used; the old one stays in force"
	var mistakes *config.Error
	if !errors.As(err, &mistakes) {
		r.log.Error(message, "error", err)
		return
	}
	for _, m := range mistakes.Mistakes {
		r.log.Error(message, "file", m.File, "line", m.Line, "key", m.Key, "problem", m.Problem, "got", m.Got, "want", m.Want)
	}
}

// hangups returns where SIGHUP arrives, and what ends that. On a terminal it never does:
// there the signal says that the terminal is gone, and ends the process, as with every
// program.
func hangups(stderr io.Writer) (<-chan os.Signal, func()) {
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return nil, func() {}
	}
	c := make(chan os.Signal, 1) // one more reads all that changed
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// serviceManager speaks to the one that started this process; to nobody if none did.
func serviceManager(log *slog.Logger) *service.Manager {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return service.New(service.Options{})
	}
	watchdog, err := sdnotify.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the service manager's watchdog", "error", err)
	}
	return service.New(service.Options{
		Notify:   func(state string) error { _, err := sdnotify.SdNotify(false, state); return err },
		Watchdog: watchdog, Monotonic: sdnotify.SdNotifyMonotonicUsec, Logger: log,
	})
}
