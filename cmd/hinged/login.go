// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/host/oauth"
)

// loginOf is the command that asks the owner of an account for consent; "": there is none.
func loginOf(a *config.Account) string {
	if a.IMAP.OAuth == nil {
		return ""
	}
	return "hinged login --account " + a.Name
}

var errNoOAuth = errors.New("there is no section [account.imap.oauth] that says how to log in (docs/oauth.md)")

func oauthClient(a *config.Account) *oauth.Client {
	o := a.IMAP.OAuth
	c := &oauth.Client{
		ID: o.ClientID, Secret: o.ReadClientSecret, Scopes: o.Scopes, File: o.RefreshTokenFile, Login: loginOf(a),
		AuthURL: o.AuthURL, TokenURL: o.TokenURL, DeviceURL: o.DeviceURL, RedirectHost: "127.0.0.1",
		Asking: map[string]string{"login_hint": a.IMAP.Username},
	}
	switch o.Provider {
	case "google": // gives a refresh token only so
		c.Asking["access_type"], c.Asking["prompt"] = "offline", "consent"
	case "microsoft": // whose clients are registered with http://localhost
		c.RedirectHost = "localhost"
	}
	return c
}

func loginCommand() *cobra.Command {
	var account string
	var browser bool
	c := &cobra.Command{
		Use:   "login",
		Short: "Give hinged your consent to read mail at Gmail, Outlook.com and others",
		Long: `Log in with your mail provider in a browser, so that it gives hinged access to
your mail (OAuth 2.0), as the section [account.imap.oauth] says. hinged never sees
your password. docs/oauth.md says what has to be set up before.

At Gmail, login prints an address to open in a browser on this machine. If the
browser is on another one, it ends on a page that can't be found: copy that page's
address and paste it here.

At Outlook.com and Microsoft 365, login prints an address and a code, which you can
type on any device. --browser logs in as at Gmail.

The provider's refresh token is kept in a file below state_dir that only you can
read. A running daemon finds it and goes on by itself. When the consent ends,
hinged status, the dashboard and a notification tell you; log in again then.`,
		Example: `  $ hinged login
  Open this address in a browser on this machine, and log in as ann@gmail.com:

  https://accounts.google.com/o/oauth2/v2/auth?…

  Or paste the address of the page on which a browser elsewhere ends:
  hinged has your consent, and keeps it in /home/ann/.local/state/hinged/oauth/ann.json.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return login(cmd, account, browser) },
	}
	accountFlag(c, &account)
	c.Flags().BoolVar(&browser, "browser", false, "log in with a browser, not with a code")
	return c
}

func login(cmd *cobra.Command, account string, browser bool) error {
	conf, err := config.Load(configOf(cmd))
	if err != nil {
		return err
	}
	var names []string
	for i := range conf.Accounts {
		if conf.Accounts[i].IMAP.OAuth != nil || conf.Accounts[i].Name == account {
			names = append(names, conf.Accounts[i].Name)
		}
	}
	if len(names) == 0 && account == "" {
		return &cli.ExitError{Code: cli.ExitConfig, Err: errNoOAuth}
	}
	if account, err = desk.Pick(names, account); err != nil {
		return err
	}
	a := &conf.Accounts[slices.IndexFunc(conf.Accounts, func(a config.Account) bool { return a.Name == account })]
	if a.IMAP.OAuth == nil {
		return &cli.ExitError{Code: cli.ExitConfig, Err: errNoOAuth}
	}
	out, ask, client := cmd.ErrOrStderr(), newAsker(cmd.InOrStdin(), cmd.ErrOrStderr()), oauthClient(a)
	if client.DeviceURL != "" && !browser {
		err = client.Device(cmd.Context(), func(page, code string) {
			fmt.Fprintf(out, "Open %s on any device, log in as %s, and type this code:\n\n  %s\n\n", page, a.IMAP.Username, code)
		})
	} else {
		var paste func(context.Context, bool) (string, error)
		if ask != nil {
			paste = func(ctx context.Context, again bool) (string, error) {
				if again {
					fmt.Fprintln(out, "That is not the address of the page to which this login led.")
				}
				return ask.line(ctx, "Or paste the address of the page on which a browser elsewhere ends: ", false)
			}
		}
		err = client.Loopback(cmd.Context(), func(address string) {
			fmt.Fprintf(out, "Open this address in a browser on this machine, and log in as %s:\n\n%s\n\n", a.IMAP.Username, address)
		}, paste)
	}
	if cmd.Context().Err() != nil {
		return errStopped
	}
	if err != nil {
		return fmt.Errorf("login of %s: %w", account, err)
	}
	_, err = fmt.Fprintf(cli.Wrapping(cmd.OutOrStdout()), "hinged has your consent, and keeps it in %s. `hinged check` tests it; a running daemon goes on by itself.\n", client.File)
	return err
}
