// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/desk"
)

// ownCertificate returns the certificate that a connection shows to the server, nil if it
// has none to show.
func ownCertificate(conf *tls.Config) (*x509.Certificate, error) {
	if conf == nil || conf.GetClientCertificate == nil {
		return nil, nil
	}
	pair, err := conf.GetClientCertificate(&tls.CertificateRequestInfo{})
	if err != nil {
		return nil, err
	}
	return pair.Leaf, nil
}

// own tests the certificate that shows the server who connects.
func (c *Checker) own(a *config.Account, cert *x509.Certificate) {
	if cert == nil {
		return
	}
	if level, mend, text := Readers(a.IMAP.KeyFile); level != OK {
		c.add(level, a.Name, "certificate", mend, "%s %s", a.IMAP.KeyFile, text)
	}
	left := cert.NotAfter.Sub(c.Now())
	switch {
	case left <= 0:
		c.add(Fail, a.Name, "certificate", "renew it; hinged then uses the new one", "%s has expired", described(cert))
	case left < certificateWarning:
		c.add(Warn, a.Name, "certificate", "renew it; hinged then uses the new one", "%s expires in %d days", described(cert), int(left.Hours()/24))
	default:
		c.add(OK, a.Name, "certificate", "", "%s", described(cert))
	}
}

// described says of a certificate of ours what a server's log will say of it.
func described(cert *x509.Certificate) string {
	return fmt.Sprintf("cert_file, for %s by %s, good until %s,", holderOf(cert), issuerOf(cert), cert.NotAfter.UTC().Format(time.DateOnly))
}

func holderOf(cert *x509.Certificate) string {
	if cert == nil {
		return "not known"
	}
	if cert.Subject.CommonName != "" {
		return desk.OneLine(cert.Subject.CommonName, mostShown)
	}
	return nameOf(cert)
}

// mendOwn says what to do about a server that does not accept our certificate.
func mendOwn(cert *x509.Certificate) string {
	if cert == nil {
		return "set cert_file and key_file to a certificate that the server accepts, and its key"
	}
	return fmt.Sprintf("set cert_file to a certificate that the server accepts: it may be too old, or by an authority (%s) that the server does not trust", issuerOf(cert))
}

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

func unencrypted(d *config.Dashboard) bool {
	host, _, err := net.SplitHostPort(d.Listen)
	return err == nil && !config.IsLoopback(host) && d.CertFile == "" && !strings.HasPrefix(d.PublicURL, "https:")
}

func free(ctx context.Context, address string) bool {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// vouch compares authserv_id with what recent mail in the open mailbox has.
func (c *Checker) vouch(a *config.Account, p *imap.Probe) {
	v, err := p.Verifiers(c.Now().AddDate(-1, 0, 0), maxRead)
	id := a.Featurize.AuthservID
	switch {
	case err != nil:
		c.add(Fail, a.Name, "vouch", mendWire(err), "%v", err)
	case v.Messages < minVerified:
		// Too little to tell.
	case id == "" && ownVerifier(v):
		c.add(Warn, a.Name, "vouch", fmt.Sprintf("in [account.featurize], authserv_id = %q, if that is your provider's server", v.Server),
			"anybody can write a known From; %s vouches for senders in %d of the newest %d messages, and is not believed", v.Server, v.Named, v.Messages)
	case id == "":
	case strings.EqualFold(id, v.Server) && v.Named*2 >= v.Messages:
		c.add(OK, a.Name, "vouch", "", "%s vouches for senders in %d of the newest %d messages", v.Server, v.Named, v.Messages)
	default:
		found := "no other server vouches for most of it"
		if v.Server != "" && !strings.EqualFold(id, v.Server) {
			found = fmt.Sprintf("in %d of them it is %s", v.Named, v.Server)
		}
		c.add(Warn, a.Name, "vouch", "correct authserv_id, the first word of the topmost Authentication-Results, or leave it out",
			"most of the newest %d messages have no results of %s, so their senders count as unknown; %s", v.Messages, id, found)
	}
}

// Telling is one of an account's ways to tell the owner of important mail.
type Telling struct {
	Way string // for people, without what must not be known
	// Test sends a notification that says that it is a test.
	Test func(ctx context.Context) error
}

func (c *Checker) notify(ctx context.Context, a *config.Account) {
	for i, way := range c.Tellings(a) {
		n := &a.Notify[i]
		if n.Secret() {
			if _, err := n.ReadToken(ctx); err != nil {
				c.add(Fail, a.Name, "notify", "see that hinged can read the token", "%s: %v", way.Way, err)
				continue
			}
		}
		if len(n.Program) > 0 {
			if _, err := exec.LookPath(n.Program[0]); err != nil {
				c.add(Fail, a.Name, "notify", "correct the command, or install it", "%s: %v", way.Way, err)
				continue
			}
		}
		switch {
		case c.AgreeToTell == nil:
			c.add(OK, a.Name, "notify", "", "important mail is told by %s; --notify sends a test", way.Way)
		case !c.AgreeToTell(ctx, a.Name, way.Way):
			c.add(Warn, a.Name, "notify", "", "%s: not tried", way.Way)
		default:
			if err := way.Test(ctx); err != nil {
				c.add(Fail, a.Name, "notify", "correct [[account.notify]], or what receives it", "%s: %v", way.Way, err)
				continue
			}
			c.add(OK, a.Name, "notify", "", "%s took the test notification; see that it arrived", way.Way)
		}
	}
}

// digest tests that the mailbox for the digest mail is there.
func (c *Checker) digest(a *config.Account, p *imap.Probe) {
	if a.Digest == nil {
		return
	}
	if _, err := p.Open(a.Digest.Mailbox, true); err != nil {
		c.add(Fail, a.Name, "digest", "make that mailbox, or correct mailbox in [account.digest]", "%v", err)
		return
	}
	c.add(OK, a.Name, "digest", "", "each %s at %s, hinged puts a mail into %s", a.Digest.Every, a.Digest.At, a.Digest.Mailbox)
}
