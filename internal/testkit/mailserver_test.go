// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// scripts/setup.sh runs these with HINGED_FETCH=1, to have the servers fetched
// before any test waits for them, and to know whether they can be.
func TestGreenMailIsFetched(t *testing.T) {
	isFetched(t, greenmailJar, "")
}

func TestMaddyIsBuilt(t *testing.T) { isFetched(t, maddyBinary, "") }

func TestCyrusAndCourierAreFetched(t *testing.T) {
	isFetched(t, debianRoot, "usr/lib/cyrus/bin/imapd", "usr/bin/imapd")
}

func isFetched(t *testing.T, fetch func() (string, error), files ...string) {
	t.Helper()
	path, err := fetch()
	if err != nil && os.Getenv("HINGED_FETCH") == "1" {
		t.Fatal(err)
	}
	Need(t, err)
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(path, file)); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryServerKeepsMailFlagsAndFolders(t *testing.T) {
	for _, c := range []struct {
		name    string
		start   func(*testing.T) *MailServer
		keyword bool
	}{
		{"Dovecot", func(t *testing.T) *MailServer { return StartDovecot(t, DovecotOptions{}).MailServer() }, true},
		{"Dovecot with mbox", func(t *testing.T) *MailServer {
			return StartDovecot(t, DovecotOptions{Format: "mbox"}).MailServer()
		}, true},
		{"Cyrus", func(t *testing.T) *MailServer { return StartCyrus(t, CyrusOptions{}) }, true},
		{"Cyrus below INBOX", func(t *testing.T) *MailServer { return StartCyrus(t, CyrusOptions{Below: true}) }, true},
		{"Courier", func(t *testing.T) *MailServer { return StartCourier(t, CourierOptions{}) }, true},
		{"Courier without keywords", func(t *testing.T) *MailServer { return StartCourier(t, CourierOptions{NoKeywords: true}) }, false},
		{"GreenMail", func(t *testing.T) *MailServer { return StartGreenMail(t) }, true},
		{"maddy", func(t *testing.T) *MailServer { return StartMaddy(t) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			m := c.start(t)
			t.Logf("started in %v", time.Since(began))
			o := m.Owner(t)
			raw := []byte("Subject: hello\r\nMessage-ID: <a@example.org>\r\n\r\nHello.\r\n")
			uid := o.Append("INBOX", raw, time.Now(), `\Seen`)
			o.Set("INBOX", uid, `\Flagged`)
			want := []string{`\flagged`, `\seen`}
			if c.keyword {
				o.Set("INBOX", uid, "$Important")
				want = append(want, "$important")
			}
			if flags, there := o.Flags("INBOX", uid); !there || !sameFlags(flags, want) {
				t.Errorf("flags are %q, there: %v; want %q", flags, there, want)
			}
			for _, name := range mailboxNames {
				o.Select(m.Folder(name))
			}
			there := o.Move("INBOX", uid, m.Folder("Archive"))
			all := o.All(m.Folder("Archive"))
			if len(all) != 1 || all[0].UID != there || !bytes.Equal(all[0].Raw, raw) {
				t.Errorf("after the move: UID %d, %+v", there, all)
			}
			if left := o.All("INBOX"); len(left) != 0 {
				t.Errorf("left behind: %+v", left)
			}
			if t.Failed() {
				t.Log(m.Log())
			}
		})
	}
}

// sameFlags compares flags without regard to \Recent, which the server sets.
func sameFlags(got, want []string) bool {
	got = slices.DeleteFunc(slices.Clone(got), func(f string) bool { return f == `\recent` })
	slices.Sort(got)
	return slices.Equal(got, slices.Sorted(slices.Values(want)))
}

func TestPrometheusIsFetched(t *testing.T) {
	isFetched(t, Prometheus, "bin/prometheus", "bin/promtool")
}

func TestProxiesAreFetched(t *testing.T) {
	isFetched(t, Proxies, "bin/caddy", "bin/nginx")
}

func TestSchemathesisIsFetched(t *testing.T) {
	isFetched(t, Schemathesis, "schemathesis/__init__.py")
}

// scripts/setup.sh runs this one with HINGED_FETCH=1, to have it fetched before
// any test waits for it, and to know whether it can be.
func TestKafkaIsFetched(t *testing.T) {
	jars, err := kafkaJars()
	if err != nil && os.Getenv("HINGED_FETCH") == "1" {
		t.Fatal(err)
	}
	if err != nil {
		NeedKafka(t)
	}
	found, err := filepath.Glob(filepath.Join(jars, "kafka_*.jar"))
	if err != nil || len(found) != 1 {
		t.Errorf("got %q, %v in %s, want Kafka's jar", found, err, jars)
	}
}

func TestABrokerKeepsItsPortsOverKillAndPause(t *testing.T) {
	began := time.Now()
	k := StartKafka(t, KafkaOptions{})
	t.Logf("started in %v", time.Since(began))
	addrs := k.Addrs()
	k.Pause(0)
	k.Continue(0)
	k.Kill(0)
	if conn, err := net.Dial("tcp", addrs[0]); err == nil {
		conn.Close()
		t.Error("it answers though it was killed")
	}
	began = time.Now()
	k.Start(0)
	t.Logf("started again in %v", time.Since(began))
	for _, addr := range [][]string{addrs, k.LoginAddrs(), k.TLSAddrs(), k.SecureAddrs()} {
		conn, err := net.Dial("tcp", addr[0])
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	began = time.Now()
	k.Stop(0)
	t.Logf("stopped in %v", time.Since(began))
}
