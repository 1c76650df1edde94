// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/hinged/hinged/config"
)

// TestWhatInitSaysToWriteForOAuthLoads, for addresses that need quoting, too.
func TestWhatInitSaysToWriteForOAuthLoads(t *testing.T) {
	t.Parallel()
	for host, provider := range oauthHosts {
		text := oauthSection(provider, host+":993", "Ann.O'Hara@example.org")
		c, err := config.Parse(strings.NewReader(strings.Replace(text, "…", "1234", 1)), "hinged.toml")
		if err != nil {
			t.Errorf("%s: %v in\n%s", host, err, text)
			continue
		}
		a := c.Accounts[0]
		if client := oauthClient(&a); client.Config.ClientID != "1234" || client.Config.Endpoint.TokenURL == "" || a.IMAP.Username != "ann.o'hara@example.org" || a.IMAP.Auth != "xoauth2" {
			t.Errorf("%s: got %+v", host, a.IMAP)
		}
	}
}
