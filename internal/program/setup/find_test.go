// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/testkit"
)

// names is a resolver of SRV records, "imaps example.org" to targets.
type names map[string][]*net.SRV

func (n names) LookupSRV(_ context.Context, service, _, name string) (string, []*net.SRV, error) {
	if r := n[service+" "+name]; r != nil {
		return name, r, nil
	}
	return "", nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

// network dials the places that there are, and notes every place asked for.
type network struct {
	there map[string]string // host:port to the server behind it
	asked []string
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.asked = append(n.asked, address)
	to, ok := n.there[address]
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return new(net.Dialer).DialContext(ctx, "tcp", to)
}

func TestServerIsFoundWhereItShouldBe(t *testing.T) {
	t.Parallel()
	secure := testkit.StartDovecot(t, testkit.DovecotOptions{TLS: true})
	upgrade := testkit.StartDovecot(t, testkit.DovecotOptions{StartTLS: true})
	plain := testkit.StartDovecot(t, testkit.DovecotOptions{})
	// Whatever the name, the certificates here are localhost's.
	trustSecure, trustUpgrade := secure.TLSConfig.Clone(), upgrade.TLSConfig.Clone()
	trustSecure.ServerName, trustUpgrade.ServerName = "localhost", "localhost"
	for _, tt := range []struct {
		name  string
		srv   names
		there map[string]string
		want  Server
		w     Wanted
		trust string // the foreign server that the owner confirms
	}{
		{
			"by SRV record", names{"imaps example.org": {{Target: "mx1.example.org.", Port: 1993}}},
			map[string]string{"mx1.example.org:1993": secure.Addr, "imap.example.org:993": upgrade.Addr},
			Server{"mx1.example.org:1993", imap.TLSImplicit, "from the SRV record of example.org"}, Wanted{TLSRoots: trustSecure}, "",
		},
		{
			"by the SRV record for STARTTLS, since the other says that there is none",
			names{"imaps example.org": {{Target: ".", Port: 0}}, "imap example.org": {{Target: "mx.example.org", Port: 143}}},
			map[string]string{"mx.example.org:143": upgrade.Addr},
			Server{"mx.example.org:143", imap.TLSStart, "from the SRV record of example.org"}, Wanted{TLSRoots: trustUpgrade}, "",
		},
		{
			"by SRV record in another domain, confirmed", names{"imaps example.org": {{Target: "imap.provider.example.", Port: 993}}},
			map[string]string{"imap.provider.example:993": secure.Addr},
			Server{"imap.provider.example:993", imap.TLSImplicit, "from the SRV record of example.org"}, Wanted{TLSRoots: trustSecure}, "imap.provider.example:993",
		},
		{
			"not in another domain when that is not confirmed", names{"imaps example.org": {{Target: "evil-example.org.", Port: 993}}},
			map[string]string{"evil-example.org:993": secure.Addr, "mail.example.org:993": secure.Addr},
			Server{"mail.example.org:993", imap.TLSImplicit, "found by its usual name"}, Wanted{TLSRoots: trustSecure}, "",
		},
		{
			"by its usual name, before the unprotected port", nil,
			map[string]string{"imap.example.org:143": upgrade.Addr, "mail.example.org:993": secure.Addr},
			Server{"mail.example.org:993", imap.TLSImplicit, "found by its usual name"}, Wanted{TLSRoots: trustSecure}, "",
		},
		{
			"STARTTLS when asked for", nil,
			map[string]string{"imap.example.org:143": upgrade.Addr, "mail.example.org:993": secure.Addr},
			Server{"imap.example.org:143", imap.TLSStart, "found by its usual name"}, Wanted{TLSRoots: trustUpgrade, TLS: imap.TLSStart}, "",
		},
		{
			"on this machine, in the clear", nil, map[string]string{"localhost:143": plain.Addr},
			Server{"localhost:143", imap.TLSNone, "on this machine"}, Wanted{}, "",
		},
		{
			"named", names{"imaps example.org": {{Target: "mx1.example.org.", Port: 1993}}}, map[string]string{"here.example:993": secure.Addr},
			Server{"here.example:993", imap.TLSImplicit, "as you asked"}, Wanted{Server: "here.example", TLSRoots: trustSecure}, "",
		},
		{
			"named with an odd port", nil, map[string]string{"here.example:1143": upgrade.Addr},
			Server{"here.example:1143", imap.TLSStart, "as you asked"}, Wanted{Server: "here.example:1143", TLSRoots: trustUpgrade}, "",
		},
		{
			"named by its IPv6 address", nil, map[string]string{"[::1]:143": plain.Addr},
			Server{"[::1]:143", imap.TLSNone, "as you asked"}, Wanted{Server: "[::1]"}, "",
		},
		{
			"named and in the clear, when asked for", nil, map[string]string{"here.example:143": plain.Addr},
			Server{"here.example:143", imap.TLSNone, "as you asked"}, Wanted{Server: "here.example", TLS: imap.TLSNone}, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := &network{there: tt.there}
			var asked []string
			f := Finder{Resolver: tt.srv, Dial: n.dial, Trust: func(host string) bool {
				asked = append(asked, host)
				return host == tt.trust
			}}
			tt.w.Address = "owner@example.org"
			got, err := f.Find(t.Context(), tt.w)
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
			if foreign := strings.Contains(tt.name, "another domain"); foreign != (len(asked) == 1) {
				t.Errorf("asked to confirm %q", asked)
			}
		})
	}
}

func TestNoServerTellsWhatWasTriedAndNeverGoesIntoTheClear(t *testing.T) {
	t.Parallel()
	plain := testkit.StartDovecot(t, testkit.DovecotOptions{})
	n := &network{there: map[string]string{"imap.example.org:143": plain.Addr, "imap.example.org:993": plain.Addr}}
	f := Finder{Resolver: names{"imaps example.org": {{Target: "imap.elsewhere.example", Port: 993}}}, Dial: n.dial}
	_, err := f.Find(t.Context(), Wanted{Address: "owner@example.org"})
	if !errors.Is(err, ErrNoServer) {
		t.Fatalf("got %v, want that there is none", err)
	}
	for _, want := range []string{"imap.elsewhere.example:993: named by the DNS", "imap.example.org:993 (tls)", "imap.example.org:143 (starttls)", "mail.example.org:993 (tls): dial tcp: connection refused"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	for _, server := range []string{"imap.example.org:143", "imap.example.org"} {
		if got, err := f.Find(t.Context(), Wanted{Address: "owner@example.org", Server: server}); err == nil {
			t.Errorf("%s was taken, as %+v", server, got)
		}
	}
	for _, server := range []string{"a b", "https://imap.example.org", "imap.example.org:0", "imap.example.org:70000", ":993", "me@imap.example.org"} {
		if got, err := f.Find(t.Context(), Wanted{Address: "owner@example.org", Server: server}); err == nil || !strings.Contains(err.Error(), "is not a server") {
			t.Errorf("%s: got %+v, %v", server, got, err)
		}
	}
}

func TestFindEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mute := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, _ testkit.FakeCommand) bool {
			cancel() // while it waits for the answer
			c.Mute()
			return true
		}
	})
	if _, err := new(Finder).Find(ctx, Wanted{Address: "owner@example.org", Server: mute.Addr, TLS: imap.TLSStart}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func wanted(d *testkit.Dovecot) Wanted {
	return Wanted{Address: d.User, Password: func(context.Context) (string, error) { return d.Password, nil }}
}

func TestLookingFindsTheMailboxAsItIs(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	mail := testkit.NewMail(1)
	now := time.Now()
	for range 4 {
		owner.Append("INBOX", mail.Next().Raw, now.Add(-time.Hour), "$label1", "NonJunk")
	}
	owner.Append("INBOX", mail.Next().Raw, now, `\Seen`, `\Answered`, `\Flagged`)
	owner.Append("INBOX", mail.Next().Raw, now.AddDate(-2, 0, 0), `\Seen`)
	owner.Append("Sent", mail.Reply(mail.Next()).Raw, now)
	for i, from := range []string{"=?utf-8?q?Ow_Ner?= <Owner@Work.example>", "owner@work.example", "once@example.net", "\"broken <x@y"} {
		owner.Append("Sent", fmt.Appendf(nil, "Subject: x\r\nFrom: %s\r\nMessage-ID: <s%d@example.org>\r\nX-Mailer: %s\r\n\r\nx\r\n", from, i, []string{"iPhone Mail (20A362)", "Something else"}[i/2]), now)
	}
	before := fmt.Sprint(owner.All("INBOX"), owner.All("Sent"))
	f := Finder{}
	server, err := f.Find(t.Context(), Wanted{Address: d.User, Server: d.Addr})
	testkit.OK(t, err)
	got, err := f.Look(t.Context(), server, wanted(d), now)
	testkit.OK(t, err)
	text := strings.Join(got.Lines(), "\n")
	for _, want := range []string{
		"login as owner@example.org", "IDLE, CONDSTORE, MOVE, UIDPLUS, SPECIAL-USE",
		"accepts new ones", "sent is Sent", "junk is Junk", "trash is Trash", "drafts is Drafts", "archive is Archive",
		"5 messages in INBOX; 1 answered, 1 starred, 4 unread", "5 messages in Sent, 1 of them replies", "written from owner@work.example",
		"$label1 (4), NonJunk (4)", "client     Thunderbird, by its keyword $label1", "client     Apple Mail, by its X-Mailer iPhone Mail (20A362); it shows the flag alone", "WARNING    4 unread messages have $label1 already",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if !slices.Equal(got.Suggest.Marks, []string{star}) || got.Username != d.User || got.Sent != 5 || got.Replies != 1 {
		t.Errorf("got %+v", got)
	}
	if after := fmt.Sprint(owner.All("INBOX"), owner.All("Sent")); after != before {
		t.Errorf("the mailbox was\n%s\nand is\n%s", before, after)
	}
}

// TestTheServerThatVouchesIsFound has mailboxes in which a server wrote its results into
// just enough messages, and into one too few.
func TestTheServerThatVouchesIsFound(t *testing.T) {
	t.Parallel()
	const own = "Authentication-Results: MX.example.org (a; comment) 1;\r\n\tdkim=pass header.d=example.net\r\n"
	const forged = "Authentication-Results: mx.example.com; dmarc=pass header.from=example.net\r\n"
	for _, c := range []struct {
		name                string
		own, spf, none, bad int
		want                string
	}{
		{"nearly all", 18, 0, 1, 1, "mx.example.org"},
		{"one too few", 17, 0, 2, 1, ""},
		{"half with DKIM", 10, 10, 0, 0, "mx.example.org"},
		{"less than half", 9, 11, 0, 0, ""},
		{"just enough mail", 10, 0, 0, 0, "mx.example.org"},
		{"too little mail", 9, 0, 0, 0, ""},
		{"no results", 0, 0, 20, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := testkit.StartDovecot(t, testkit.DovecotOptions{})
			owner := d.Owner(t)
			n, now := 0, time.Now()
			put := func(times int, header string) {
				for range times {
					n++
					owner.Append("INBOX", fmt.Appendf(nil, "%sFrom: a@example.net\r\nMessage-ID: <v%d@x>\r\n\r\nx\r\n", header, n), now)
				}
			}
			put(c.own, own+forged) // what came with the message stands below
			put(c.spf, "Authentication-Results: mx.example.org; spf=pass smtp.mailfrom=a@example.net\r\n"+forged)
			put(c.none, "")
			put(c.bad, forged+own)
			got, err := new(Finder).Look(t.Context(), Server{Address: d.Addr, TLS: imap.TLSNone}, wanted(d), now)
			if err != nil || got.AuthServID != c.want || got.VouchedOf != n {
				t.Errorf("got %q from %d messages, %v, want %q from %d", got.AuthServID, got.VouchedOf, err, c.want, n)
			}
			if told := strings.Contains(strings.Join(got.Lines(), "\n"), "mx.example.org"); told != (c.want != "") {
				t.Errorf("it says\n%s", strings.Join(got.Lines(), "\n"))
			}
		})
	}
}

func TestTheNameBeforeTheAtIsTriedAndAWrongPasswordIsSaid(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{Users: []string{"owner"}})
	var asked []string
	f := Finder{Retry: func(refused error, name string) bool {
		asked = append(asked, name)
		return errors.Is(refused, imap.ErrRefused)
	}}
	server := Server{Address: d.Addr, TLS: imap.TLSNone}
	w := wanted(d)
	w.Address = "owner@example.org"
	if got, err := f.Look(t.Context(), server, w, time.Now()); err != nil || got.Username != "owner" {
		t.Errorf("got %+v, %v, want a login as owner", got, err)
	}
	w.Password = func(context.Context) (string, error) { return "Tulips in May", nil }
	_, err := f.Look(t.Context(), server, w, time.Now())
	if !errors.Is(err, imap.ErrRefused) || !strings.Contains(err.Error(), "as owner@example.org") || strings.Contains(err.Error(), "Tulips") {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(asked, []string{"owner", "owner"}) {
		t.Errorf("asked for the names %q", asked)
	}
	if _, err = new(Finder).Look(t.Context(), server, w, time.Now()); !errors.Is(err, imap.ErrRefused) || !strings.Contains(err.Error(), "as owner@example.org") {
		t.Errorf("nobody was asked, and the second name was tried: %v", err)
	}
	w.Username = "nobody"
	if _, err = f.Look(t.Context(), server, w, time.Now()); !errors.Is(err, imap.ErrRefused) || !strings.Contains(err.Error(), "as nobody") {
		t.Errorf("got %v", err)
	}
}

func TestACertificateThatIsNotAcceptedIsExplainedFirst(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{TLS: true})
	other := testkit.StartDovecot(t, testkit.DovecotOptions{TLS: true})
	n := &network{there: map[string]string{"here.example:993": d.Addr}}
	for _, tt := range []struct {
		name  string
		w     Wanted
		wants string
	}{
		{"nobody vouches", Wanted{Server: d.Addr}, "The certificate of " + d.Addr + " is signed by itself"},
		{"somebody else vouches", Wanted{Server: d.Addr, TLSRoots: other.TLSConfig}, "which is not in the --ca-file"},
		{"another name", Wanted{Server: "here.example", TLSRoots: d.TLSConfig}, "The certificate of here.example:993 is for localhost, 127.0.0.1"},
		{"not named", Wanted{TLSRoots: other.TLSConfig}, "The certificate of imap.here.example:993 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.w.Address = "owner@here.example"
			f := Finder{Dial: n.dial, Resolver: names{}}
			n.there = map[string]string{"here.example:993": d.Addr, "imap.here.example:993": d.Addr, d.Addr: d.Addr}
			_, err := f.Find(t.Context(), tt.w)
			var cert *CertificateError
			if !errors.As(err, &cert) {
				t.Fatalf("got %v", err)
			}
			lines := strings.Split(err.Error(), "\n")
			if !strings.HasPrefix(lines[0], "The certificate of ") || !strings.Contains(lines[0], tt.wants) || len(lines) != 2 || !strings.HasPrefix(lines[1], "  x509: ") {
				t.Errorf("got\n%v", err)
			}
		})
	}
}
