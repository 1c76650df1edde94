// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/copies"
)

type backupQuery struct {
	File  string `arg:"FILE"`
	Force bool   `flag:"force" usage:"replace FILE if it exists"`
}

// backedUp is a backup, with where to talk of it.
type backedUp struct {
	copies.BackedUp
	say io.Writer // nil: standard output
}

var backup = of(desk.Help{
	Group: desk.ToKeep,
	Use:   "backup FILE",
	Short: "Copy the store, or one account, to a file; the daemon may run",
	Long: `Copy the store with all accounts to FILE, as of the last commit. The daemon
keeps running. FILE may be "-" for standard output. Accounts whose mail comes
through Kafka are not in it: the snapshots topic is their backup.

With --account, copy one account, to bring it to another machine: its weights and
the rest of its state, the journal and the lessons that are still kept, the
features of its messages, and the ledger of its marks. "hinged restore --account"
puts it into a store.

hinged writes the copy under another name, reads it back and checks it before it
renames it to FILE. So FILE is either complete or not there. Only its owner can
read it (mode 0600), since it says much about your mail. "hinged restore FILE"
puts it back, and "hinged verify FILE" checks it again.`,
	Example: `  $ hinged backup /backup/hinged-monday.db
  /backup/hinged-monday.db: 12439552 bytes, checked
    me: model 5d1f0c… state 90ab4e…
  $ hinged backup - | ssh nas 'cat > hinged.db'
  $ hinged backup --account me me.hinged
  me.hinged: 3120934 bytes, checked
    me: model 5d1f0c… state 90ab4e…`,
}, func(c *call, q *backupQuery) (backedUp, error) {
	done, err := makeBackup(c, q)
	if done.File == copies.Standard {
		return backedUp{done, c.ErrOrStderr()}, err
	}
	return backedUp{done, nil}, err
}, func(w io.Writer, done backedUp) error {
	if done.say != nil {
		w = done.say
	}
	_, err := fmt.Fprintf(w, "%s: %d bytes, checked\n%s", done.File, done.Bytes, accountLines(done.Accounts))
	return err
}, copies.BackedUp{})

func makeBackup(c *call, q *backupQuery) (done copies.BackedUp, err error) {
	if c.json && q.File == copies.Standard {
		return done, cli.Misuse(c.Command, "--json and - both use standard output; name a file")
	}
	conf, err := config.Load(c.config)
	if err != nil {
		return done, err
	}
	done, err = with(c.Context(), c.config, func(at *control.At) (copies.BackedUp, error) {
		if c.account == "" {
			return copies.Backup(c.Context(), at, storePath(conf), q.File, q.Force, c.OutOrStdout())
		}
		return copies.Export(c.Context(), at, storePath(conf), c.account, q.File, q.Force, c.OutOrStdout())
	})
	if errors.Is(err, copies.ErrExists) {
		err = fmt.Errorf("%w; --force replaces it", err)
	}
	return done, err
}

type restoreQuery struct {
	File string `arg:"FILE"`
}

var restore = of(desk.Help{
	Group: desk.ToKeep,
	Use:   "restore FILE",
	Short: "Replace the store, or one account, by a backup",
	Long: `Replace the store by a copy of the backup FILE. Stop the daemon first. FILE may
be "-" for standard input.

hinged checks the backup first. It refuses one that is damaged or written by a
newer hinged, and then changes nothing. It renames the old store and never
deletes it.

With --account, put the one account that "hinged backup --account" wrote to FILE
into the store, under that name. If the store has an account of the name, hinged
first makes a backup of the store beside it, and then replaces the account. If there
is no store yet, hinged creates one. The configuration needs an [[account]] with
that name.

After the restore, the daemon reads again what arrived since the backup. It
decides that mail but doesn't mark it. It learns nothing from marks on that
mail, since they may be its own. It does learn from stars, answers, junk and
moves, which are on the server. Two things are lost, since only the store knew
them: what you taught with "hinged learn" since the backup, and from which new
messages you removed the mark.`,
	Example: `  $ hinged restore /backup/hinged-monday.db
  restored from /backup/hinged-monday.db
    me: model 5d1f0c… state 90ab4e…
  the store as it was is kept as /var/lib/hinged/hinged.db.before-restore-1
  $ hinged restore --account me me.hinged
  restored from me.hinged
    me: model 5d1f0c… state 90ab4e…`,
}, restoreBackup, func(w io.Writer, done copies.RestoredFrom) error {
	aside := ""
	if done.Aside != "" {
		aside = fmt.Sprintf("the store as it was is kept as %s\n", done.Aside)
	}
	_, err := fmt.Fprintf(w, "restored from %s\n%s%s", done.File, accountLines(done.Accounts), aside)
	return err
})

func restoreBackup(c *call, q *restoreQuery) (done copies.RestoredFrom, err error) {
	conf, err := config.Load(c.config)
	if err != nil {
		return done, err
	}
	if c.account == "" {
		done, err = copies.Restore(c.Context(), storePath(conf), q.File, c.InOrStdin())
	} else {
		done, err = copies.Import(c.Context(), storePath(conf), q.File, c.account, c.InOrStdin())
	}
	if errors.Is(err, store.ErrRunning) {
		err = fmt.Errorf("%w; stop the daemon first, then try again", err)
	}
	return done, err
}

func accountLines(accounts []copies.Account) string {
	var out strings.Builder
	for _, a := range accounts {
		fmt.Fprintf(&out, "  %s: model %s state %s\n", a.Account, a.Model, a.State)
	}
	if len(accounts) == 0 {
		out.WriteString("  no account yet\n")
	}
	return out.String()
}
