// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"

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

func oauthClient(a *config.Account) *oauth.Client {
	o := a.IMAP.OAuth
	c := &oauth.Client{
		Config: oauth2.Config{ClientID: o.ClientID, Scopes: o.Scopes, Endpoint: oauth2.Endpoint{AuthURL: o.AuthURL, TokenURL: o.TokenURL}, RedirectURL: "http://127.0.0.1"},
		Secret: o.ReadClientSecret, File: o.RefreshTokenFile, Login: loginOf(a),
		Asking: []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("login_hint", a.IMAP.Username)},
	}
	switch o.Provider {
	case "google": // gives a refresh token only so
		c.Asking = append(c.Asking, oauth2.AccessTypeOffline, oauth2.ApprovalForce)
	case "microsoft": // whose clients are registered with http://localhost
		c.Config.RedirectURL = "http://localhost"
	}
	return c
}

func loginCommand() *cobra.Command {
	var account string
	c := &cobra.Command{
		Use:   "login",
		Short: "Give hinged your consent to read mail at Gmail, Outlook.com and others",
		Long: `Log in with your mail provider in a browser, so that it gives hinged access to
your mail (OAuth 2.0), as the section [account.imap.oauth] says. hinged never sees
your password. docs/oauth.md says what has to be set up before.

login prints an address to open in a browser on this machine. If the browser is on
another one, it ends on a page that can't be found: copy that page's address and
paste it here.

The provider's refresh token is kept in a file below state_dir that only you can
read. A running daemon finds it and goes on by itself. When the consent ends,
hinged status, the dashboard and a notification tell you; log in again then.`,
		Example: `  $ hinged login
  Open this address in a browser, and log in as ann@gmail.com:

  https://accounts.google.com/o/oauth2/auth?…

  If the browser is on another machine, it ends on a page that can't be found:
  paste that page's address here, and press Enter.
  hinged has your consent, and keeps it in /home/ann/.local/state/hinged/oauth/ann.json.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return login(cmd, account) },
	}
	accountFlag(c, &account)
	return c
}

func login(cmd *cobra.Command, account string) error {
	conf, err := config.Load(configOf(cmd))
	if err != nil {
		return err
	}
	all := map[string]*config.Account{}
	for i, a := range conf.Accounts {
		if a.IMAP.OAuth != nil {
			all[a.Name] = &conf.Accounts[i]
		}
	}
	if len(all) == 0 {
		return &cli.ExitError{Code: cli.ExitConfig, Err: errors.New("there is no section [account.imap.oauth] that says how to log in (docs/oauth.md)")}
	}
	if account, err = desk.Pick(slices.Sorted(maps.Keys(all)), account); err != nil {
		return err
	}
	client := oauthClient(all[account])
	err = client.Consent(cmd.Context(), cmd.InOrStdin(), func(address string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "Open this address in a browser, and log in as %s:\n\n%s\n\nIf the browser is on another machine, it ends on a page that can't be found:\npaste that page's address here, and press Enter.\n", all[account].IMAP.Username, address)
	})
	if cmd.Context().Err() != nil {
		return errStopped
	}
	if err != nil {
		return fmt.Errorf("login of %s: %w", account, err)
	}
	_, err = fmt.Fprintf(cli.Wrapping(cmd.OutOrStdout()), "hinged has your consent, and keeps it in %s. `hinged check` tests it; a running daemon goes on by itself.\n", client.File)
	return err
}
