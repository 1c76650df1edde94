// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/hinged/hinged/config"
)

// pages tests that the dashboard can be opened.
func (c *Checker) pages(ctx context.Context) {
	d := c.Config.Dashboard
	if d == nil || c.Dashboard == nil {
		return
	}
	const name = "dashboard"
	if err := c.Dashboard(ctx, d); err != nil {
		c.add(Fail, "", name, "correct it in [dashboard]; docs/dashboard.md shows how", "%v", err)
		return
	}
	switch {
	case c.status != nil && c.status.Dashboard == "":
		c.add(Warn, "", name, "`hinged status` or the log may say why; else restart hinged", "the daemon that runs has none")
		return
	case c.status == nil && !free(ctx, d.Listen):
		c.add(Warn, "", name, "choose another port in listen, or end what uses this one", "another program listens on %s", d.Listen)
		return
	case unencrypted(d):
		c.add(Warn, "", name, "set cert_file and key_file, or public_url if a reverse proxy is in front of it", "passwords cross the network unencrypted to %s", d.Listen)
		return
	}
	at := "listens on " + d.Listen
	if c.status != nil {
		at = "is at " + c.status.Dashboard
	}
	who := "`hinged dashboard` prints a link that opens it"
	var names []string
	for i := range d.Users {
		if u := &d.Users[i]; u.PasswordHash != "" || u.PasswordHashFile != "" {
			names = append(names, u.Name)
		}
	}
	if len(names) > 0 {
		who = strings.Join(names, ", ") + " may sign in"
	}
	c.add(OK, "", name, "", "it %s; %s", at, who)
}

// unencrypted reports whether passwords would cross a network as they are.
func unencrypted(d *config.Dashboard) bool {
	host, _, err := net.SplitHostPort(d.Listen)
	ip, notIP := netip.ParseAddr(host)
	here := notIP == nil && ip.Unmap().IsLoopback() || host == "localhost"
	return err == nil && !here && d.CertFile == "" && !strings.HasPrefix(d.PublicURL, "https:")
}

// free reports whether an address can be listened on.
func free(ctx context.Context, address string) bool {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return l.Close() == nil
}
