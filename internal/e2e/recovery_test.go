// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// tokens are the OAuth tokens that a Dovecot takes: JSON Web Tokens (RFC 7519), which it
// checks by itself, with the time until which they are good.
type tokens struct{ dir string }

var tokenKey = []byte("a key that only this test's servers know")

// newTokens writes the files that Dovecot checks tokens with, where its own users get to.
func newTokens(t *testing.T) *tokens {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hinged-tokens-") //nolint:usetesting // Dovecot's own users do not get to t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	k := &tokens{dir: dir}
	for path, text := range map[string]string{
		"keys/default/HS256/default": base64.StdEncoding.EncodeToString(tokenKey),
		"oauth.conf":                 fmt.Sprintf("introspection_mode = local\nlocal_validation_key_dict = fs:posix:prefix=%s/keys/\nusername_attribute = email\n", dir),
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, path, text)
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, 0o755))
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// dovecot is what Dovecot has to know.
func (k *tokens) dovecot() string {
	return fmt.Sprintf("auth_mechanisms = plain oauthbearer xoauth2\npassdb {\n  driver = oauth2\n  mechanisms = oauthbearer xoauth2\n  args = %s/oauth.conf\n}\n", k.dir)
}

// until returns a token for a user.
func (k *tokens) until(user string, end time.Time) string {
	claims, err := json.Marshal(map[string]any{"sub": user, "email": user, "iat": time.Now().Add(-time.Hour).Unix(), "exp": end.Unix()})
	if err != nil {
		panic(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := hmac.New(sha256.New, tokenKey)
	sum.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// TestR10ItComesBackAfterEveryFault: a connection that is half-open, one that the server
// ends with BYE, a token that has expired, a server that restarts. Each time status tells of
// the trouble, the daemon comes back by itself, with pauses no longer than its limits, reads
// what came meanwhile and marks it, and status tells that all is well.
func TestR10ItComesBackAfterEveryFault(t *testing.T) {
	k := newTokens(t)
	onEveryServer(t, func(o *resident) { comesBack(o, k) }, k.dovecot())
}

func comesBack(o *resident, k *tokens) {
	mechanism := "oauthbearer"
	if o.condstore {
		mechanism = "xoauth2"
	}
	s := o.daemon(quick, fmt.Sprintf("auth = %q", mechanism))
	secret := filepath.Join(s.dir, "password")
	testkit.Write(o, secret, k.until(o.user, time.Now().Add(time.Hour)))
	s.start() // makes the store
	messages, _ := teach(s, o.Owner)
	s.end()
	s.hurried = true
	s.start()

	well := func(a desk.AccountStatus) bool { return a.Connected && a.Problem == "" && !a.ConsentNeeded }
	reconnects := s.until("the connections", well).Reconnects
	for _, fault := range []struct {
		name    string
		begin   func()
		trouble string // that status tells of
		consent bool
		end     func()
	}{
		{"half-open", o.wire.Freeze, "the server did not respond", false, o.wire.Thaw},
		{"BYE", func() { o.wire.Bye("Autologout; idle for too long") }, "", false, func() {}},
		{"expired token", func() {
			testkit.Write(o, secret, k.until(o.user, time.Now().Add(-time.Minute)))
			o.wire.Bye("Session invalidated - AccessTokenExpired")
		}, "the server refused the login", true, func() {
			testkit.Write(o, secret, k.until(o.user, time.Now().Add(time.Hour)))
		}},
		{"restart", o.imap.Stop, "the server closed the connection", false, o.imap.Start},
	} {
		fault.begin()
		// BYE has an end of its own before anybody may have looked.
		st := s.until(fault.name, func(a desk.AccountStatus) bool {
			return fault.trouble == "" && a.Reconnects > reconnects || !a.Connected && fault.trouble != "" && strings.Contains(a.Problem, fault.trouble)
		})
		if fault.consent != st.ConsentNeeded {
			o.Errorf("%s: consent is needed: %v, want %v", fault.name, st.ConsentNeeded, fault.consent)
		}
		fault.end()
		if fault.name == "restart" {
			o.Owner = o.imap.Owner(o.T)
		}
		uid := o.urgent("INBOX")
		messages++
		st = s.until("its end: "+fault.name, func(a desk.AccountStatus) bool {
			return well(a) && a.Messages == messages && a.MarksIntended == 0 && a.Pending == 0
		})
		if !o.isMarked(uid) {
			o.Errorf("%s: what came meanwhile is not marked", fault.name)
		}
		if st.Reconnects <= reconnects {
			o.Errorf("%s: %d reconnects were counted, and %d before", fault.name, st.Reconnects, reconnects)
		}
		o.Logf("%s: %d connections made again", fault.name, st.Reconnects-reconnects)
		reconnects = st.Reconnects
	}
	if out, err := s.hinged("status", "--config", s.config, "--json"); err != nil || !strings.Contains(out, fmt.Sprintf(`"reconnects": %d`, reconnects)) {
		o.Errorf("status: %v\n%s\nwant %d reconnects", err, out, reconnects)
	}
	s.end()
	s.wantReplay("at the end")
	wantShortPauses(s)
}

// wantShortPauses demands that the daemon never paused for longer than a site in a hurry may
// (a second, and 30 % more by chance) before it connected again.
func wantShortPauses(s *site) {
	s.t.Helper()
	all := regexp.MustCompile(` wait=([0-9a-zµ.]+)|the next attempt is in ([0-9a-zµ.]+)`).FindAllStringSubmatch(s.log.String(), -1)
	longest := time.Duration(0)
	for _, m := range all {
		d, err := time.ParseDuration(m[1] + m[2])
		if err != nil {
			s.t.Fatalf("the log tells of %q: %v", m[0], err)
		}
		longest = max(longest, d)
	}
	if len(all) < 4 || longest > 1300*time.Millisecond {
		s.t.Errorf("%d pauses, the longest %v, want 4 or more and none above 1.3s", len(all), longest)
	}
	s.t.Logf("%d pauses, the longest %v", len(all), longest)
}
