// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
)

// OAuth says how hinged gets access tokens by itself, once the owner has consented with
// `hinged login` (RFC 6749). After Parse everything but DeviceURL is filled in.
type OAuth struct {
	Provider     string `toml:"provider"` // google, microsoft or other
	ClientID     string `toml:"client_id"`
	ClientSecret        // where it is, if the client has one; its keys are in this same table
	// RefreshTokenFile is where hinged keeps what the provider gave it.
	RefreshTokenFile string   `toml:"refresh_token_file,omitempty"`
	Scopes           []string `toml:"scopes,omitempty"`
	AuthURL          string   `toml:"auth_url,omitempty"`
	TokenURL         string   `toml:"token_url,omitempty"`
	DeviceURL        string   `toml:"device_url,omitempty"` // "": the provider has no device flow for these scopes
}

// ClientSecret says where a client's secret is. One of the four is set, or none.
type ClientSecret struct {
	File       string   `toml:"client_secret_file,omitempty"`
	Command    []string `toml:"client_secret_command,omitempty"` // program and arguments; no shell
	Env        string   `toml:"client_secret_env,omitempty"`
	Credential string   `toml:"client_secret_credential,omitempty"` // as in Password
}

// ReadClientSecret fetches it as ReadPassword does a password; "" where there is none.
func (s *ClientSecret) ReadClientSecret(ctx context.Context) (string, error) {
	p := Password(*s)
	if len(p.keys("client_secret")) == 0 {
		return "", nil
	}
	return p.read(ctx, "client_secret")
}

var oauthProviders = []string{"google", "microsoft", "other"}

// endpoints are what the providers' own pages say: developers.google.com/identity/protocols/oauth2/native-app
// and learn.microsoft.com/exchange/client-developer/legacy-protocols. Google's device flow refuses the scope of mail.
var endpoints = map[string]OAuth{
	"google": { //nolint:gosec // addresses, which anybody may know
		AuthURL: "https://accounts.google.com/o/oauth2/v2/auth", TokenURL: "https://oauth2.googleapis.com/token",
		Scopes: []string{"https://mail.google.com/"},
	},
	"microsoft": { //nolint:gosec // the same
		AuthURL:   "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
		TokenURL:  "https://login.microsoftonline.com/common/oauth2/v2.0/token",
		DeviceURL: "https://login.microsoftonline.com/common/oauth2/v2.0/devicecode",
		Scopes:    []string{"https://outlook.office.com/IMAP.AccessAsUser.All", "offline_access"},
	},
}

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
	if p := (*Password)(&o.ClientSecret); len(p.keys("client_secret")) > 0 {
		t.secret("client_secret", p)
	}
	if o.RefreshTokenFile == "" {
		o.RefreshTokenFile = filepath.Join(stateDir, "oauth", account+".json")
	}
	t.cleanPath("refresh_token_file", o.RefreshTokenFile)
	o.RefreshTokenFile = t.env.path(o.RefreshTokenFile)

	known := endpoints[o.Provider]
	if len(o.Scopes) == 0 {
		o.Scopes = known.Scopes
	}
	bad := slices.ContainsFunc(o.Scopes, func(s string) bool { return s == "" || strings.ContainsFunc(s, notInToken) })
	t.check(!bad, "scopes", "not scopes of OAuth", o.Scopes, `a list such as ["https://mail.google.com/"]`)
	for _, e := range []struct {
		key       string
		to        *string
		known     string
		necessary bool
	}{
		{"auth_url", &o.AuthURL, known.AuthURL, true},
		{"token_url", &o.TokenURL, known.TokenURL, true},
		{"device_url", &o.DeviceURL, known.DeviceURL, false},
	} {
		const want = `the provider's URL, such as "https://id.example.org/token"`
		if *e.to == "" {
			*e.to = e.known
		}
		if *e.to == "" && e.necessary && o.Provider == "other" {
			t.required(e.key, want)
		}
		// With a secret, as what is sent there always has.
		t.webAddress(e.key, *e.to, true, want)
	}
}

// notInToken are the characters that neither a scope nor a client id has (RFC 6749, appendix A).
func notInToken(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }
