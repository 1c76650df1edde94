// SPDX-License-Identifier: Apache-2.0

// Package notify tells the owner of important mail: by a program, a webhook or ntfy.
//
// It reports messages that hinged marked, once the server has confirmed the mark. So it
// reports nothing in shadow, no backlog and no mail that the owner has read. Subjects and
// reasons, which quote the mail, are included only when the owner wants that.
//
// Data flow: desk.Shown → Show, which never blocks → a bounded queue for each target →
// one goroutine each → send. A message is noted as reported before it is sent: a crash may
// cost a notification and never gives one twice. What waits is noted by the keys of the
// messages alone, so that what waited at a restart is reported without names.
package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// Target is one way to tell the owner of an account. One of Command, Webhook and Ntfy is
// set.
type Target struct {
	Account string
	Command []string // program and arguments
	Webhook string   // a URL to post to
	Ntfy    string   // the URL of a topic
	// Token returns what proves to a webhook or ntfy who we are. It is asked each time.
	// nil: nothing has to.
	Token    func(context.Context) (string, error)
	Title    string
	Priority int // of ntfy, 1 to 5
	// QuietFrom and QuietTo are times since midnight in Zone between which nothing is
	// told. Equal: there are none.
	QuietFrom, QuietTo time.Duration
	Zone               *time.Location // of the owner's days
	PerDay             int            // notifications a day at most; 0: no limit
	Sender             bool           // name the sender
	Subject            bool           // tell subject and reasons
}

// Way names the target for people, without what must not be known.
func (t *Target) Way() string {
	switch {
	case len(t.Command) > 0:
		return "the command " + t.Command[0]
	case t.Ntfy != "":
		return "ntfy at " + hostOf(t.Ntfy)
	default:
		return "the webhook at " + hostOf(t.Webhook)
	}
}

// id names the target in its file: by what it is, not by its place in the configuration.
func (t *Target) id() string {
	sum := sha256.Sum256([]byte(strings.Join(append(t.Command[:len(t.Command):len(t.Command)], t.Webhook, t.Ntfy), "\x00")))
	return t.Account + "-" + hex.EncodeToString(sum[:6])
}

// Options are what a Notifier needs to know.
type Options struct {
	Targets []Target
	// Dir is the directory that keeps what was reported. It is made when first needed.
	Dir    string
	Logger *slog.Logger // nil discards
	Now    func() time.Time
	// After is time.After, nil: it is. Tests have a clock of their own.
	After func(time.Duration) <-chan time.Time
}

// Notifier tells owners of important mail. Make one with New.
type Notifier struct {
	lines map[string][]*line // by account
}

const queueLength = 256

// New makes a Notifier. It reads and writes nothing.
func New(o Options) *Notifier {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	n := &Notifier{lines: map[string][]*line{}}
	for _, t := range o.Targets {
		l := &line{
			to: t, now: o.Now, after: o.After, log: o.Logger.With("account", t.Account, "to", t.Way()),
			in: make(chan desk.Shown, queueLength), items: map[string]item{}, wait: newBackOff(),
			path: filepath.Join(o.Dir, t.id()+".json"), send: send,
		}
		n.lines[t.Account] = append(n.lines[t.Account], l)
	}
	return n
}

// Show notes what was done, if the owner is to hear of it or no longer needs to. It
// never blocks. It is safe for concurrent use.
func (n *Notifier) Show(s desk.Shown) {
	told := []desk.Deed{desk.DeedMarked, desk.DeedUndone, desk.DeedCorrected, desk.DeedBarred, desk.DeedConsented}
	if s.Message == "" || !slices.Contains(told, s.Deed) {
		return
	}
	for _, l := range n.lines[s.Account] {
		select {
		case l.in <- s:
		default:
			if s.Deed == desk.DeedMarked {
				l.missed.Add(1)
			}
		}
	}
}

// Run tells owners until ctx is done, and goes on where the last one ended. What waits then
// is reported after the next start. No two processes may run with the same Dir.
func (n *Notifier) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, lines := range n.lines {
		for _, l := range lines {
			wg.Go(func() { l.run(ctx) })
		}
	}
	wg.Wait()
}

// Test sends one notification that says that it is a test.
func Test(ctx context.Context, t *Target, now time.Time) error {
	return send(ctx, t, &Notification{
		Kind: KindTest, Account: t.Account, Title: t.Title, At: now,
		Text: "This is a test of hinged. Important mail will be told like this.",
	})
}
