// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/mail"
	"testing"
)

func TestDovecotKeepsMailAndFlagsOverARestart(t *testing.T) {
	for _, format := range []string{"maildir", "mdbox"} {
		t.Run(format, func(t *testing.T) {
			d := StartDovecot(t, DovecotOptions{Format: format})
			msg := NewMail(1).Next()
			uid := d.Owner(t).Append("INBOX", msg.Raw, msg.Date, `\Flagged`, "$Important")
			d.Restart()
			o := d.Owner(t)
			all := o.All("INBOX")
			if len(all) != 1 || all[0].UID != uid || !bytes.Equal(all[0].Raw, msg.Raw) {
				t.Fatalf("got %d messages after the restart, want the one appended", len(all))
			}
			if flags, ok := o.Flags("INBOX", uid); !ok || len(flags) != 2 || flags[0] != "$important" || flags[1] != `\flagged` {
				t.Errorf("got flags %q, want $important and \\flagged", flags)
			}
		})
	}
}

func TestDovecotOffersTLS(t *testing.T) {
	for name, o := range map[string]DovecotOptions{"implicit": {TLS: true}, "STARTTLS": {StartTLS: true}} {
		t.Run(name, func(t *testing.T) {
			d := StartDovecot(t, o)
			if d.Owner(t).Select("Junk") == 0 {
				t.Error("no UIDVALIDITY")
			}
		})
	}
}

func TestMailIsTheSameForTheSameSeedAndCanBeRead(t *testing.T) {
	a, b, other := NewMail(7), NewMail(7), NewMail(8)
	important, replies, different := 0, 0, 0
	ids := map[string]bool{}
	for range 500 {
		x, y := a.Next(), b.Next()
		if !bytes.Equal(x.Raw, y.Raw) {
			t.Fatal("two builders with one seed differ")
		}
		if !bytes.Equal(x.Raw, other.Next().Raw) {
			different++
		}
		m, err := mail.ReadMessage(bytes.NewReader(x.Raw))
		if err != nil {
			t.Fatalf("%v in:\n%s", err, x.Raw)
		}
		if got := m.Header.Get("Message-ID"); got != "<"+x.MessageID+">" || ids[got] {
			t.Fatalf("got Message-ID %s, want a new one, <%s>", got, x.MessageID)
		}
		ids["<"+x.MessageID+">"] = true
		if x.Important {
			important++
		}
		if m.Header.Get("In-Reply-To") != "" {
			replies++
		}
	}
	if important < 50 || important > 250 || replies < 100 || different < 490 {
		t.Errorf("got %d important, %d replies, %d unlike another seed's of 500", important, replies, different)
	}
	first := a.Next()
	reply := a.Reply(first)
	if reply.From != a.Owner || reply.To != first.From || !bytes.Contains(reply.Raw, []byte("<"+first.MessageID+">")) {
		t.Errorf("the reply is from %s to %s and must name %s", reply.From, reply.To, first.MessageID)
	}
}

// TestTheTLSProxyReadsWhatIsSaid, which goes encrypted on both of its sides, and says
// goodbye in the server's name.
func TestTheTLSProxyReadsWhatIsSaid(t *testing.T) {
	d := StartDovecot(t, DovecotOptions{TLS: true})
	p := StartTLSProxy(t, d.Addr, d.TLSConfig)
	login := d.login(d.User)
	login.Addr, login.TLSConfig = p.Addr, &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	login.TLSConfig.RootCAs.AppendCertsFromPEM(p.Certificate)
	o := login.Owner(t)
	o.Select("INBOX")
	if said := p.Commands(); said["LOGIN"] != 1 || said["SELECT"] != 1 || said["STORE"] != 0 {
		t.Errorf("the proxy heard %v, want one LOGIN and one SELECT", said)
	}
	p.Bye("going down")
	<-o.Client().Closed()
	if p.Cuts() != 1 {
		t.Errorf("%d cuts, want 1", p.Cuts())
	}
}
