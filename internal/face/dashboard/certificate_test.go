// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pair "github.com/hinged/hinged/internal/host/loopback"
	"github.com/hinged/hinged/internal/testkit"
)

// A certificate is renewed every few weeks by another program, perhaps not at once.
func TestARenewedCertificateIsUsedWithoutARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	changed := time.Now().Add(-time.Hour)
	write := func(cert, key []byte) {
		t.Helper()
		changed = changed.Add(time.Minute)
		for name, content := range map[string][]byte{certFile: cert, keyFile: key} {
			testkit.Write(t, name, content)
			if err := os.Chtimes(name, changed, changed); err != nil {
				t.Fatal(err)
			}
		}
	}
	renew := func() {
		t.Helper()
		cert, key, err := pair.Certificate()
		if err != nil {
			t.Fatal(err)
		}
		write(cert, key)
	}
	renew()
	var said testkit.Transcript
	s := serving(t, Options{CertFile: certFile, KeyFile: keyFile, Users: people(t), Log: slog.New(slog.NewTextHandler(&said, nil))})
	if !strings.HasPrefix(s.URL(), "https://127.0.0.1:") {
		t.Errorf("it is at %s", s.URL())
	}
	shown := func() (sum string) {
		t.Helper()
		conn, err := tls.Dial("tcp", s.listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return fmt.Sprintf("%x", sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw))
	}
	first := shown()
	if again := shown(); again != first {
		t.Errorf("without a change it shows %s, then %s", first, again)
	}
	renew()
	second := shown()
	if second == first {
		t.Error("the renewed one is not used")
	}
	write([]byte("half a file"), nil)
	for range 2 {
		if got := shown(); got != second {
			t.Errorf("with files that are broken it shows %s", got)
		}
	}
	if n := strings.Count(said.String(), "can't be read anew"); n != 1 {
		t.Errorf("that was logged %d times:\n%s", n, said.String())
	}
	renew()
	if third := shown(); third == second {
		t.Error("once they are whole again, they are not used")
	}
}

func TestWatchingGoesThroughTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, err := pair.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	for name, content := range map[string][]byte{certFile: cert, keyFile: key} {
		testkit.Write(t, name, content)
	}
	s := serving(t, Options{CertFile: certFile, KeyFile: keyFile})
	b := browse(t, s)
	b.http.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	if got := b.get(strings.TrimPrefix(s.Link().URL, b.base)); got.header.Get("Strict-Transport-Security") == "" || !strings.Contains(got.header.Get("Set-Cookie"), "__Host-") {
		t.Errorf("got %v", got.header)
	}
	st := b.listen("/a/ann/live")
	s.Show(arrival)
	st.until("news")
}
