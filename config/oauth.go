// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/oauth2/endpoints"
)

// OAuth says how hinged gets access tokens by itself, once the owner has consented with
// `hinged login` (RFC 6749). After Parse everything but ClientSecretFile is filled in.
type OAuth struct {
	Provider         string `toml:"provider"` // google, microsoft or other
	ClientID         string `toml:"client_id"`
	ClientSecretFile string `toml:"client_secret_file,omitempty"` // "": the client has none
	// RefreshTokenFile is where hinged keeps what the provider gave it.
	RefreshTokenFile string   `toml:"refresh_token_file,omitempty"`
	Scopes           []string `toml:"scopes,omitempty"`
	AuthURL          string   `toml:"auth_url,omitempty"`
	TokenURL         string   `toml:"token_url,omitempty"`
}

// ReadClientSecret fetches it as ReadPassword does a password; "" where there is none.
func (o *OAuth) ReadClientSecret() (string, error) {
	if o.ClientSecretFile == "" {
		return "", nil
	}
	p := Password{File: o.ClientSecretFile}
	return p.read(context.Background(), "client_secret")
}

var oauthProviders = []string{"google", "microsoft", "other"}

// oauth checks the section, and fills in what the provider is known for.
func (t table) oauth(o *OAuth, account, stateDir string) {
	if o.Provider == "" {
		t.required("provider", oneOf(oauthProviders))
	} else {
		t.choice("provider", o.Provider, oauthProviders)
	}
	if o.ClientID == "" {
		t.required("client_id", "the id of a client that you registered with the provider (docs/oauth.md)")
	}
	t.check(!strings.ContainsFunc(o.ClientID, notInToken), "client_id", "not a client id", o.ClientID, "it as the provider shows it")
	o.RefreshTokenFile = cmp.Or(o.RefreshTokenFile, filepath.Join(stateDir, "oauth", account+".json"))
	for key, path := range map[string]*string{"client_secret_file": &o.ClientSecretFile, "refresh_token_file": &o.RefreshTokenFile} {
		t.cleanPath(key, *path)
		*path = t.env.path(*path)
	}
	known, scopes := endpoints.Google, []string{"https://mail.google.com/"}
	switch o.Provider {
	case "microsoft":
		known, scopes = endpoints.AzureAD("common"), []string{"https://outlook.office.com/IMAP.AccessAsUser.All", "offline_access"}
	case "other":
		known.AuthURL, known.TokenURL, scopes = "", "", nil
	}
	if len(o.Scopes) == 0 {
		o.Scopes = scopes
	}
	bad := slices.ContainsFunc(o.Scopes, func(s string) bool { return s == "" || strings.ContainsFunc(s, notInToken) })
	t.check(!bad, "scopes", "not scopes of OAuth", o.Scopes, `a list such as ["https://mail.google.com/"]`)
	o.AuthURL, o.TokenURL = cmp.Or(o.AuthURL, known.AuthURL), cmp.Or(o.TokenURL, known.TokenURL)
	for _, e := range []struct{ key, url string }{{"auth_url", o.AuthURL}, {"token_url", o.TokenURL}} {
		const want = `the provider's URL, such as "https://id.example.org/token"`
		if e.url == "" {
			t.required(e.key, want)
		}
		t.webAddress(e.key, e.url, true, want) // with a secret, as what is sent there always has
	}
}

// notInToken are the characters that neither a scope nor a client id has (RFC 6749, appendix A).
func notInToken(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }
