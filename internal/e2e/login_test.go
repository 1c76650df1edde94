// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/notify"
	"github.com/hinged/hinged/internal/testkit"
)

// consenting is a site whose owner logs in with OAuth.
type consenting struct {
	*site
	p     *testkit.Provider
	o     *testkit.OAuth
	token string // the newest access token
}

func newConsenting(t *testing.T, google bool) *consenting {
	t.Helper()
	w := &consenting{}
	provider, start := "microsoft", testkit.StartOutlook
	if google {
		provider, start = "google", testkit.StartGmail
	}
	w.p = start(t)
	w.o = testkit.StartOAuth(t, google, func(access string) { w.p.Takes(access); w.token = access })
	dir := t.TempDir()
	connection := fmt.Sprintf("tls = \"none\"\npoll_interval = \"200ms\"\n[account.imap.oauth]\nprovider = %q\nclient_id = %q\nauth_url = \"%[3]s/authorize\"\ntoken_url = \"%[3]s/token\"\nscopes = [%[4]s]\n",
		provider, w.o.ID, w.o.URL, `"`+strings.ReplaceAll(w.o.Scope, " ", `", "`)+`"`)
	if google {
		testkit.Write(t, filepath.Join(dir, "client-secret"), w.o.Secret+"\n")
		connection += "client_secret_file = \"client-secret\"\n"
	}
	told := fmt.Sprintf("\n[[account.notify]]\ncommand = [\"sh\", \"-c\", \"cat >> \\\"$1\\\"\", \"sh\", %q]\n", filepath.Join(dir, "told"))
	w.site = siteFor(t, w.p.Login, dir, "debug", "mark = ['\\Flagged']\n"+quick, connection+told)
	text := strings.Replace(string(testkit.Read(t, w.config)), fmt.Sprintf("password_file = %q\n", filepath.Join(dir, "password")), "", 1)
	testkit.Write(t, w.config, text)
	return w
}

// login logs in as the owner does who reads what is printed.
func (w *consenting) login() string {
	w.t.Helper()
	out := new(testkit.Transcript)
	cmd := exec.Command(program(w.t), "login", "--config", w.config)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	address := regexp.MustCompile(`http://\S+authorize\?\S+`)
	testkit.Until(w.t, func() bool { return address.MatchString(out.String()) }, "no address was printed")
	if page, err := w.o.Browse(address.FindString(out.String())); err != nil || !strings.Contains(page, "hinged has the answer") {
		w.t.Errorf("the browser ended at %q (%v)", page, err)
	}
	if err := cmd.Wait(); err != nil {
		w.t.Fatalf("login: %v\n%s", err, out)
	}
	return out.String()
}

// asked is how often the provider was asked for tokens.
func (w *consenting) asked() (n int) {
	w.o.Change(func() { n = w.o.Requests })
	return n
}

// told are the notifications so far.
func (w *consenting) told() (all []notify.Notification) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "told"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var n notify.Notification
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			w.t.Fatalf("%v in %q", err, line)
		}
		all = append(all, n)
	}
	return all
}

func (w *consenting) arrives(n int, messages uint64) {
	w.t.Helper()
	w.p.Deliver(letter(n, "stranger@example.net", w.p.User, "a matter"), time.Now(), "", "INBOX")
	w.until("a letter", func(a desk.AccountStatus) bool { return a.Connected && a.Messages == messages && !a.ConsentNeeded })
}

// ends makes the token void and ends the sessions, which last for a second at least: shorter
// ones count as logins of no use, whose number hinged limits.
func (w *consenting) ends() {
	w.t.Helper()
	w.until("connections", func(a desk.AccountStatus) bool { return a.Connected })
	time.Sleep(1500 * time.Millisecond)
	w.p.Expire("another", "* BYE Session expired, please login again.")
}

// TestLoginIsAllThatAnOwnerDoes: no consent yet; login; the daemon reads mail; its token ends
// and is renewed, also one that a wrong clock takes for good; the provider is down and comes
// back; the consent is taken back, which status and one notification say, over a restart; and
// the next login is noticed by the daemon that runs.
func TestLoginIsAllThatAnOwnerDoes(t *testing.T) {
	t.Parallel()
	for name, google := range map[string]bool{"Gmail": true, "Outlook": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newConsenting(t, google)
			out, err := w.hinged("check", "--config", w.config)
			if err == nil || !strings.Contains(out, "nobody has logged in yet") || !strings.Contains(out, "Fix: hinged login --account me") {
				t.Errorf("check before the login: %v\n%s", err, out)
			}
			t.Logf("login:\n%s", w.login())
			if out, err = w.hinged("check", "--config", w.config); err != nil || !strings.Contains(out, "OK    me: login: as ") {
				t.Errorf("check: %v\n%s", err, out)
			}
			w.start()
			w.arrives(1, 1)

			w.ends() // long before the clock says so
			asked := w.asked()
			w.until("a renewed token", func(a desk.AccountStatus) bool { return a.Connected && a.Reconnects >= 2 })
			if n := w.asked() - asked; n != 1 {
				t.Errorf("the provider was asked %d times", n)
			}
			w.arrives(2, 2)

			w.o.Change(func() {
				w.o.Trouble = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }
			})
			w.ends()
			st := w.until("a provider that is down", func(a desk.AccountStatus) bool {
				return !a.Connected && strings.Contains(a.Problem, "temporarily no token")
			})
			if st.ConsentNeeded || st.LoginRefused {
				t.Errorf("trouble that passes is %+v", st)
			}
			w.o.Change(func() { w.o.Trouble = nil })
			w.arrives(3, 3)

			w.o.Change(func() { w.o.Refresh = "" })
			w.ends()
			st = w.until("consent needed", func(a desk.AccountStatus) bool { return a.ConsentNeeded })
			if want := "CONSENT NEEDED: run `hinged login --account me`; hinged then continues by itself"; st.Doing != want {
				t.Errorf("it says %q, want %q", st.Doing, want)
			}
			testkit.Until(t, func() bool { return len(w.told()) == 1 }, "nobody was told")
			asked = w.asked()
			w.end()
			w.start() // the owner was told
			w.until("consent needed", func(a desk.AccountStatus) bool { return a.ConsentNeeded })
			t.Logf("login:\n%s", w.login())
			w.arrives(4, 4)
			told := w.told()
			if len(told) != 1 || told[0].Kind != notify.KindConsent || !strings.Contains(told[0].Text, "run `hinged login --account me`") {
				t.Errorf("told were %+v", told)
			}
			t.Logf("told: %+v", told)
			if n := w.asked() - asked; n > 8 {
				t.Errorf("the provider was asked %d times", n)
			}
			w.end()
			log := w.log.String() + out
			for _, secret := range []string{"ya29.access", "1//refresh", "client secret 1", "4/code"} {
				if strings.Contains(log, secret) {
					t.Errorf("the log has %q in it", secret)
				}
			}
		})
	}
}
