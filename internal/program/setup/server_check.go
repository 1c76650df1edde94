// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/desk"
)

// mostShown is how much is shown of what a server or a certificate says, in characters.
const mostShown = 200

// certificateWarning is how long before its end a certificate is worth a word:
// those that renew themselves do so a month before.
const certificateWarning = 14 * 24 * time.Hour

func (c *Checker) name(ctx context.Context, a *config.Account, address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		c.add(Fail, a.Name, "dns", "correct address", "%v", err)
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true // nothing to look up
	}
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	found, err := c.lookup(ctx, "ip", host)
	var dns *net.DNSError
	switch {
	case err == nil:
		c.add(OK, a.Name, "dns", "", "%s has %s", host, fmt.Sprintf("%d %s", len(found), map[bool]string{true: "address", false: "addresses"}[len(found) == 1]))
		return true
	case errors.As(err, &dns) && dns.IsNotFound:
		c.add(Fail, a.Name, "dns", "correct the host in address", "there is no host %s", host)
	default:
		c.add(Fail, a.Name, "dns", "look at this machine's network and resolver", "%s cannot be looked up: %v", host, err)
	}
	return false
}

func (c *Checker) connect(ctx context.Context, a *config.Account, o imap.Options) (*imap.Probe, bool) {
	p, err := imap.Reach(ctx, o)
	if err != nil {
		c.unreached(a, o, err)
		return nil, false
	}
	c.add(OK, a.Name, "connect", "", "%s greets", o.Address)
	state := p.TLS()
	if state == nil {
		host, _, _ := net.SplitHostPort(o.Address)
		if config.IsLoopback(host) {
			c.add(OK, a.Name, "tls", "", "no TLS; the connection stays on this machine")
		} else {
			c.add(Warn, a.Name, "tls", `tls = "tls", or "starttls"`, "no TLS: the password and the mail cross the network unencrypted")
		}
		return p, true
	}
	cert := state.PeerCertificates[0]
	left := cert.NotAfter.Sub(c.Now())
	text := fmt.Sprintf("%s, certificate for %s by %s, good until %s", tls.VersionName(state.Version),
		nameOf(cert), issuerOf(cert), cert.NotAfter.UTC().Format(time.DateOnly))
	if left < certificateWarning {
		c.add(Warn, a.Name, "tls", "renew it; hinged needs nothing else", "%s, in %d days", text, int(left.Hours()/24))
	} else {
		c.add(OK, a.Name, "tls", "", "%s", text)
	}
	return p, true
}

func nameOf(cert *x509.Certificate) string {
	names := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		names = []string{cert.Subject.CommonName}
	}
	return desk.OneLine(shorten(names), mostShown)
}

func issuerOf(cert *x509.Certificate) string {
	for _, s := range append(cert.Issuer.Organization, cert.Issuer.CommonName) {
		if s != "" {
			return desk.OneLine(s, mostShown)
		}
	}
	return "nobody named"
}

func (c *Checker) unreached(a *config.Account, o imap.Options, err error) {
	var stage *imap.StageError
	if !errors.As(err, &stage) {
		c.add(Fail, a.Name, "connect", "correct [account.imap]", "%v", err)
		return
	}
	if stage.Stage == imap.StageConnect {
		c.add(Fail, a.Name, "connect", "correct address, or the firewall in between; 993 is the usual port for tls, 143 for starttls", "%s cannot be reached: %v", o.Address, stage)
		return
	}
	c.add(OK, a.Name, "connect", "", "%s can be reached", o.Address)
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &cert) && len(cert.UnverifiedCertificates) > 0:
		mend := mendCertificate(cert, o)
		leaf := cert.UnverifiedCertificates[0]
		c.add(Fail, a.Name, "tls", mend, "the certificate, for %s by %s, good until %s, is not accepted: %v",
			nameOf(leaf), issuerOf(leaf), leaf.NotAfter.UTC().Format(time.DateOnly), cert.Err)
	case errors.Is(err, imap.ErrCertificate):
		own, _ := ownCertificate(o.TLSConfig)
		c.add(Fail, a.Name, "tls", mendOwn(own), "%v", stage)
	case errors.As(err, &record):
		c.add(Fail, a.Name, "tls", `tls = "starttls", or the port 993`, "the server does not speak TLS from the first byte on this port")
	case stage.Stage == imap.StageTLS && o.TLS == imap.TLSStart && !errors.Is(err, imap.ErrMute):
		c.add(Fail, a.Name, "tls", `tls = "tls" with the port 993`, "the server does not upgrade to TLS: %v", stage)
	case stage.Stage == imap.StageTLS:
		c.add(Fail, a.Name, "tls", mendWire(err), "%v", stage)
	default:
		mend := mendWire(err)
		if o.TLS == imap.TLSNone || o.TLS == imap.TLSStart {
			mend = "see that an IMAP server listens there; it may want TLS from the first byte: tls = \"tls\""
		}
		c.add(Fail, a.Name, "connect", mend, "%v", stage)
	}
}

func mendCertificate(cert *tls.CertificateVerificationError, o imap.Options) string {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(cert.Err, &host):
		return "in address, use a name that is in the certificate: " + nameOf(cert.UnverifiedCertificates[0])
	case errors.As(cert.Err, &invalid) && invalid.Reason == x509.Expired:
		return "renew it, and check this machine's clock"
	case o.TLSConfig != nil:
		return "set ca_file to the certificate of the authority that signed it"
	}
	return "if it is your own server's, set ca_file to the certificate of its authority; else somebody may stand in between"
}

func mendWire(err error) string {
	if errors.Is(err, imap.ErrMute) {
		return "see that an IMAP server listens there and is not overloaded"
	}
	return "look into the server's log"
}

// mendConsent says what to do about a provider that gives or takes no token any more.
func mendConsent(a *config.Account) string {
	if a != nil && a.IMAP.OAuth != nil {
		return "hinged login --account " + a.Name
	}
	return "log in with the provider again, as when password_command was set up, and give the consent that it asks for"
}

// login tests the login. own is the certificate that was shown, or nil.
func (c *Checker) login(ctx context.Context, a *config.Account, own *x509.Certificate, p *imap.Probe) bool {
	offers, err := p.Mechanisms()
	if err == nil {
		err = p.Login(ctx)
	}
	switch {
	case err == nil:
		c.add(OK, a.Name, "login", "", "as %s", a.IMAP.Username)
		return true
	case errors.Is(err, imap.ErrCertificate):
		c.add(Fail, a.Name, "login", mendOwn(own), "as %s: %v", a.IMAP.Username, err)
	case errors.Is(err, imap.ErrConsent):
		c.add(Fail, a.Name, "login", mendConsent(a), "as %s: %v", a.IMAP.Username, err)
	case errors.Is(err, imap.ErrRefused) && a.IMAP.Auth == "external":
		c.add(Fail, a.Name, "login", "set username to the name that the server takes from the certificate, which is "+holderOf(own), "as %s: %v", a.IMAP.Username, err)
	case errors.Is(err, imap.ErrRefused):
		mend := "correct username and password; with two-step login, providers want an app password"
		c.add(Fail, a.Name, "login", mend, "as %s: %v", a.IMAP.Username, err)
	case errors.Is(err, imap.ErrNoMechanism):
		mend := "set auth to one of those"
		if p.TLS() == nil {
			mend = `tls = "tls", or "starttls": without it servers take no password`
		}
		c.add(Fail, a.Name, "login", mend, "%v; it offers %s", err, orNothing(offers))
	case own != nil:
		c.add(Fail, a.Name, "login", mendOwn(own), "%v", err)
	default:
		c.add(Fail, a.Name, "login", mendWire(err), "%v", err)
	}
	return false
}

// markBox returns the mailbox to try marks in: INBOX, or the first that is
// watched where INBOX is not.
func markBox(a *config.Account) string {
	for _, name := range a.IMAP.Mailboxes {
		if strings.EqualFold(name, "INBOX") {
			return "INBOX"
		}
	}
	if len(a.IMAP.Mailboxes) > 0 {
		return a.IMAP.Mailboxes[0]
	}
	return "INBOX"
}

// whole tells which part of the open mailbox the server shows, if not all at once.
func (c *Checker) whole(a *config.Account, p *imap.Probe) {
	parts, limit, err := p.Shown()
	switch {
	case err != nil:
		c.add(Fail, a.Name, "messages", mendWire(err), "%v", err)
	case len(parts) > 0:
		c.add(Warn, a.Name, "messages", "docs/large-mailboxes.md says what your provider may offer", "%s", parts[0])
	case limit > 0:
		c.add(OK, a.Name, "messages", "", "the server answers a command for %d messages at most; hinged reads %s in slices", limit, markBox(a))
	}
}

func (c *Checker) marks(a *config.Account, p *imap.Probe) bool {
	box := markBox(a)
	opened, err := p.Open(box, false)
	if err != nil {
		c.add(Fail, a.Name, "marks", mendWire(err), "%s cannot be opened: %v", box, err)
		return false
	}
	if len(a.Mark) == 0 {
		return true // see copies
	}
	var lost []string
	for _, m := range a.Mark {
		if !opened.Keeps(m) {
			lost = append(lost, m)
		}
	}
	switch {
	case len(lost) == 0 && len(opened.Permanent) == 0 && !opened.Keywords:
		c.add(Warn, a.Name, "marks", "nothing to do; the next test shows it", "%s does not say which flags it keeps", box)
	case len(lost) == 0:
		c.add(OK, a.Name, "marks", "", "%s keeps %s", box, strings.Join(a.Mark, ", "))
	case ingest.HasFlag(opened.Permanent, star):
		c.add(Fail, a.Name, "marks", `mark = ["\\Flagged"], the star, is what it keeps`, "%s does not keep %s: the server takes no new keywords", box, strings.Join(lost, ", "))
	default:
		c.add(Fail, a.Name, "marks", `mark = [] and mark_copy = "Important": a copy into that folder is the mark; or shadow = "on": decide, and mark nothing`, "%s does not keep %s, nor the star", box, strings.Join(lost, ", "))
	}
	return true
}

// seen says which mail programs show the marks: the server keeps many that nobody sees.
func (c *Checker) seen(a *config.Account) {
	if len(a.Mark) == 0 {
		return // copies alone, which every program shows
	}
	if seen, _, _ := shown(a.Mark); len(seen) > 0 {
		c.add(OK, a.Name, "seen", "", "%s", WhereSeen(a.Mark))
		return
	}
	c.add(Warn, a.Name, "seen", `mark = ["\\Flagged"] is the star, which all of them show; mark = ["$label1"] is Thunderbird's red Important; several are possible`,
		"no mail program that hinged knows shows this mark by itself: %s", WhereSeen(a.Mark))
}

func (c *Checker) copies(ctx context.Context, a *config.Account, p *imap.Probe) {
	if a.MarkCopy == "" {
		return
	}
	mailbox, there, able, err := p.CopyTarget(ctx, a.MarkCopy)
	switch {
	case err != nil:
		c.add(Fail, a.Name, "copies", mendWire(err), "%v", err)
	case !able:
		c.add(Fail, a.Name, "copies", `mark_copy = ""`, "the server has no UIDPLUS, without which hinged could not take a copy back: it makes none")
	case there:
		c.add(OK, a.Name, "copies", "", "copies go to %s", mailbox)
	default:
		c.add(OK, a.Name, "copies", "", "copies go to %s, which is not there and is made with the first", mailbox)
	}
}

// text reads one message, as the daemon would.
func (c *Checker) text(ctx context.Context, a *config.Account, p *imap.Probe) {
	at, size, err := p.ReadNewest(ctx, markBox(a))
	switch {
	case errors.Is(err, imap.ErrEmptyMailbox):
	case err != nil:
		c.add(Fail, a.Name, "text", "hinged can't work with this server as it is: look into the server's log, and report it", "%v", err)
	default:
		c.add(OK, a.Name, "text", "", "%s of UID %d in %s were read", desk.Count(size, "byte"), at.UID, at.Mailbox)
	}
}

// flag sets a keyword of our own on one message and takes it off again.
func (c *Checker) flag(ctx context.Context, a *config.Account, p *imap.Probe) {
	if c.NoWrite || len(a.Mark) == 0 {
		return
	}
	box := markBox(a)
	opened, err := p.Open(box, false)
	if err != nil {
		c.add(Fail, a.Name, "flag", mendWire(err), "%s cannot be opened: %v", box, err)
		return
	}
	if !opened.Keeps(ingest.CheckKeyword) {
		c.add(Warn, a.Name, "flag", "nothing to do; keywords that the server lists still work", "not tried: the server takes no new keywords")
		return
	}
	t, err := p.Try(ctx, box, ingest.CheckKeyword)
	var restore *imap.RestoreError
	at := fmt.Sprintf("UID %d in %s", t.Place.UID, box)
	switch {
	case errors.As(err, &restore):
		c.add(Fail, a.Name, "flag", fmt.Sprintf("take the keyword %s off that message by hand, or check again: that takes it off", ingest.CheckKeyword),
			"%s WAS SET ON %s AND COULD NOT BE TAKEN OFF: %v", ingest.CheckKeyword, at, restore.Err)
	case errors.Is(err, imap.ErrEmptyMailbox):
		c.add(Warn, a.Name, "flag", "check again when there is a message", "not tried: %s is empty", box)
	case err != nil:
		c.add(Fail, a.Name, "flag", mendWire(err), "%v; nothing is left behind", err)
	case t.Kept:
		how := "without a condition"
		if t.Conditional {
			how = "only if unchanged"
		}
		if t.Leftover {
			how += "; one left over from an earlier check is off, too"
		}
		c.add(OK, a.Name, "flag", "", "%s was set on %s (%s), was there, and is off again", ingest.CheckKeyword, at, how)
	default:
		why := "it was gone when the mailbox was opened anew"
		if t.Words != "" {
			why = t.Words
		}
		c.add(Fail, a.Name, "flag", `mark = ["\\Flagged"], the star, is kept by most servers that keep no keywords; Dovecot's Maildir has room for 26 keywords in a folder; mark = [] with mark_copy = "Important" puts a copy into that folder instead, also where a mailbox can only be read`,
			"%s was set on %s and not kept: %s", ingest.CheckKeyword, at, why)
	}
}
