// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
)

var openDashboard = of(desk.Help{
	Group: desk.ToSee, All: true,
	Use:   "dashboard",
	Short: "Print a link that opens the dashboard in your browser",
	Long: `Ask the daemon for a link and print it. The link signs in the browser that opens
it, as the owner of all accounts. It works once, for 10 minutes. The browser stays
signed in for 30 days, or until the daemon restarts.

Only the user that the daemon runs as, and root, can get a link. So other people
with a login on the same machine can't open the dashboard.

If a [[dashboard.user]] of the configuration has a password, people sign in with
their passwords. Then this prints the address of the page.`,
	Example: `  $ hinged dashboard
  http://127.0.0.1:7425/link/TJMVQ3XZ5N2RW6KEUYDA4HFSGC`,
}, func(c *call, _ *desk.None) (desk.DashboardLink, error) {
	link, err := dashboardLink(c.Context(), c.config)
	if err == nil && link.ValidUntil != nil && !c.json {
		defer fmt.Fprintf(c.ErrOrStderr(), "It opens once, until %s.\n", link.ValidUntil.In(time.Local).Format("15:04"))
	}
	return link, err
}, func(w io.Writer, link desk.DashboardLink) error {
	_, err := fmt.Fprintln(w, link.URL)
	return err
})

func dashboardLink(ctx context.Context, path string) (link desk.DashboardLink, err error) {
	c, err := config.Load(path)
	if err != nil {
		return link, err
	}
	if c.Dashboard == nil {
		return link, &cli.ExitError{Code: cli.ExitConfig, Err: fmt.Errorf("%w: the configuration has no section [dashboard] (docs/dashboard.md)", desk.ErrNoDashboard)}
	}
	at, err := control.Dial(ctx, c.Socket)
	if errors.Is(err, control.ErrNotRunning) {
		return link, fmt.Errorf("%w: no daemon runs; `hinged run` starts it", desk.ErrNoDashboard)
	}
	if err != nil {
		return link, err
	}
	link, err = control.Ask(ctx, at, desk.OpenDashboard, "", desk.None{})
	return link, errors.Join(err, at.Close())
}

// linkCommand is what prints a link to the dashboard of the daemon that has the
// configuration at path, "" for where it is looked for.
func linkCommand(path string) string {
	command := os.Args[0] + " dashboard"
	if path == "" {
		return command
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return command + " --config " + path
}
