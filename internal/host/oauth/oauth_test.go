// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// clientOf returns a client as cmd/hinged makes it.
func clientOf(t *testing.T, o *testkit.OAuth) *Client {
	t.Helper()
	c := &Client{
		ID: o.ID, Secret: func(context.Context) (string, error) { return o.Secret, nil }, Scopes: strings.Fields(o.Scope),
		AuthURL: o.URL + "/authorize", TokenURL: o.URL + "/token", RedirectHost: "127.0.0.1",
		Asking: map[string]string{"access_type": "offline"}, File: filepath.Join(t.TempDir(), "oauth", "me.json"), Login: "hinged login --account me",
	}
	if !o.Google {
		c.DeviceURL, c.RedirectHost = o.URL+"/devicecode", "localhost"
	}
	return c
}

// another is the same client in another process.
func another(c *Client) *Client {
	return &Client{ID: c.ID, Secret: c.Secret, Scopes: c.Scopes, AuthURL: c.AuthURL, TokenURL: c.TokenURL, DeviceURL: c.DeviceURL, RedirectHost: c.RedirectHost, Asking: c.Asking, File: c.File, Login: c.Login}
}

// logIn logs in with a browser on this machine.
func logIn(t *testing.T, c *Client, o *testkit.OAuth) error {
	t.Helper()
	return c.Loopback(t.Context(), func(address string) {
		go func() {
			if _, err := o.Consent(address, true); err != nil {
				t.Error(err)
			}
		}()
	}, nil)
}

func mustLogIn(t *testing.T, c *Client, o *testkit.OAuth) {
	t.Helper()
	if err := logIn(t, c, o); err != nil {
		t.Fatal(err)
	}
}

func wantToken(t *testing.T, c *Client) string {
	t.Helper()
	token, err := c.Token(t.Context())
	if err != nil || !strings.HasPrefix(token, "ya29.") {
		t.Fatalf("got %q, %v", token, err)
	}
	return token
}

// wantError demands an error in words, and of its kinds, without secrets.
func wantError(t *testing.T, err error, consent, passes bool, words string) {
	t.Helper()
	var e *Error
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want %q", err, words)
		return
	}
	if is := errors.As(err, &e); (consent || passes) && !is || is && (e.ConsentNeeded() != consent || e.Passes() != passes) {
		t.Errorf("%v: its kinds are %+v, want consent %v, passes %v", err, e, consent, passes)
	}
	for _, secret := range []string{"ya29", "refresh-token", "code-0", "4/code", "client secret", "Trace ID"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%v has a secret in it", err)
		}
	}
}

func TestBothFlowsLeadToTokens(t *testing.T) {
	t.Parallel()
	for name, google := range map[string]bool{"Google": true, "Microsoft": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testkit.StartOAuth(t, google, nil)
			c := clientOf(t, o)
			_, err := c.Token(t.Context())
			wantError(t, err, true, false, "nobody has logged in yet; run `hinged login --account me`")
			mustLogIn(t, c, o)
			first := wantToken(t, c)
			if info, err := os.Stat(c.File); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file is %v (%v)", info.Mode(), err)
			}
			if again := wantToken(t, another(c)); again != first {
				t.Error("a token that is good was renewed")
			}
			if google {
				c.DeviceURL = o.URL + "/devicecode"
				wantError(t, c.Device(t.Context(), nil), false, false, "invalid_scope")
				return
			}
			o.Pending("authorization_pending")
			err = c.Device(t.Context(), func(page, code string) {
				if page != "https://microsoft.com/devicelogin" || code != o.UserCode {
					t.Errorf("shown were %s and %s", page, code)
				}
			})
			if err != nil || wantToken(t, c) == first {
				t.Errorf("the device flow: %v", err)
			}
		})
	}
}

// TestTheDeviceFlowIsPatient waits as it is told, over a server that fails meanwhile.
func TestTheDeviceFlowIsPatient(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, false, nil)
	c := clientOf(t, o)
	o.Pending("temporarily_unavailable", "authorization_pending", "slow_down")
	began := time.Now()
	if err := c.Device(t.Context(), func(string, string) {}); err != nil {
		t.Fatal(err)
	}
	// RFC 8628, section 3.5: five seconds more after slow_down.
	if took := time.Since(began); took < 8*time.Second {
		t.Errorf("it took %v, want an interval that grew by 5 seconds", took)
	}
	for _, code := range []string{"expired_token", "authorization_declined", "access_denied"} {
		o.Pending(code)
		err := another(c).Device(t.Context(), func(string, string) {})
		wantError(t, err, false, false, map[string]string{"expired_token": "in time"}[code])
	}
}

func TestTheAddressMayBePasted(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, true, nil)
	c := clientOf(t, o)
	address := make(chan string, 1)
	tries := 0
	err := c.Loopback(t.Context(), func(a string) { address <- a }, func(_ context.Context, again bool) (string, error) {
		if tries++; tries == 1 {
			return "http://127.0.0.1:1/?code=4/stolen&state=another", nil
		}
		if again != (tries > 1) {
			t.Errorf("a foreign address gives %v", again)
		}
		return o.Consent(<-address, false)
	})
	if err != nil || tries != 2 {
		t.Fatalf("%v after %d tries", err, tries)
	}
	wantToken(t, c)
	stopped := errors.New("Ctrl-C")
	if err := c.Loopback(t.Context(), func(string) {}, func(context.Context, bool) (string, error) { return "", stopped }); !errors.Is(err, stopped) {
		t.Errorf("after Ctrl-C: %v", err)
	}
}

// TestNoForeignAnswerIsTaken comes to the port with another state, and with none.
func TestNoForeignAnswerIsTaken(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, true, nil)
	c := clientOf(t, o)
	err := c.Loopback(t.Context(), func(address string) {
		go func() {
			redirect, err := o.Consent(address, false)
			if err != nil {
				t.Error(err)
			}
			port, _, _ := strings.Cut(redirect, "?")
			for _, query := range []string{"?code=4/stolen&state=x", "?code=4/stolen", "?error=access_denied", "favicon.ico"} {
				if page, err := o.Consent(port+"/"+query, true); err != nil || !strings.Contains(page, "does not wait") {
					t.Errorf("%s: the page is %q (%v)", query, page, err)
				}
			}
			if page, err := o.Consent(redirect, true); err != nil || !strings.Contains(page, "hinged has the answer") {
				t.Errorf("the page is %q (%v)", page, err)
			}
		}()
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Declines(true)
	wantError(t, logIn(t, c, o), false, false, "declined (access_denied)")
	wantToken(t, c) // what was there stays
}

func TestTooLittleConsentIsNotKept(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, true, nil)
	c := clientOf(t, o)
	o.Gives("openid email")
	wantError(t, logIn(t, c, o), false, false, "lacks https://mail.google.com/")
	o.Gives("")
	c.Asking = nil
	wantError(t, logIn(t, c, o), false, false, "no refresh token")
	if _, err := os.Stat(c.File); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was kept: %v", err)
	}
}

// TestTokensAreRenewedInTime goes by what the file says, as if time had passed.
func TestTokensAreRenewedInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	g := grant{Access: "a", At: now, Until: now.Add(time.Hour)}
	for after, want := range map[time.Duration]bool{
		-time.Second: false, // the clock was set back
		0:            true, 54 * time.Minute: true, 55 * time.Minute: false, 2 * time.Hour: false,
	} {
		if g.fresh(now.Add(after)) != want {
			t.Errorf("after %v it is fresh: %v", after, !want)
		}
	}
	o := testkit.StartOAuth(t, false, nil)
	for _, seconds := range []int{2, 0} { // good for a second; untold
		o.Lives(seconds)
		c := clientOf(t, o)
		mustLogIn(t, c, o)
		first, g := wantToken(t, c), read(t, c)
		if seconds == 0 {
			g.Until = time.Now() // an hour later
			write(t, c, g)
		}
		testkit.Until(t, func() bool { return wantToken(t, c) != first }, "the token was never renewed")
		if next := read(t, c); next.Refresh == g.Refresh {
			t.Error("the refresh token that came in the place of the old one was not kept")
		}
	}
}

func read(t *testing.T, c *Client) (g grant) {
	t.Helper()
	if err := json.Unmarshal(testkit.Read(t, c.File), &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func write(t *testing.T, c *Client, g grant) {
	t.Helper()
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, c.File, string(text))
}

// TestARefusedTokenIsRenewedThoughItLooksGood: the clock is wrong. Whoever comes second with
// the same one gets what the first got.
func TestARefusedTokenIsRenewedThoughItLooksGood(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, false, nil)
	c := clientOf(t, o)
	mustLogIn(t, c, o)
	first := wantToken(t, c)
	second, err := c.Renew(t.Context(), first)
	if err != nil || second == first {
		t.Fatalf("got %q, %v", second, err)
	}
	if third, err := another(c).Renew(t.Context(), first); err != nil || third != second {
		t.Errorf("the second process got %q, %v, want %q", third, err, second)
	}
}

// TestOneOfManyRenews has processes come at once; each refresh token is good once.
func TestOneOfManyRenews(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, false, nil)
	c := clientOf(t, o)
	mustLogIn(t, c, o)
	g := read(t, c)
	g.Until = time.Now()
	write(t, c, g)
	var all sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for range 8 {
		all.Go(func() {
			token, err := another(c).Token(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[token]++
		})
	}
	all.Wait()
	if len(got) != 1 {
		t.Errorf("they got %v", got)
	}
	if n := strings.Count(strings.Join(o.Requests(), " "), "refresh_token"); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
}

// TestConsentThatEndsIsAskedForOnce does not hammer the provider, and goes on with the next
// login.
func TestConsentThatEndsIsAskedForOnce(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, false, nil)
	c := clientOf(t, o)
	mustLogIn(t, c, o)
	first := wantToken(t, c)
	o.Revoke()
	for range 3 {
		_, err := c.Renew(t.Context(), first)
		wantError(t, err, true, false, "run `hinged login --account me`")
	}
	if n := strings.Count(strings.Join(o.Requests(), " "), "refresh_token"); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	if c.News() {
		t.Error("there are news of a file that nobody changed")
	}
	mustLogIn(t, another(c), o)
	if !c.News() {
		t.Error("the login is not noticed")
	}
	if wantToken(t, c) == first || c.News() {
		t.Error("the next login changed nothing")
	}
}

// TestTheProvidersTroublePasses keeps the token over each, and tells no secret.
func TestTheProvidersTroublePasses(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, true, nil)
	c := clientOf(t, o)
	mustLogIn(t, c, o)
	first := wantToken(t, c)
	slow, hurry := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer hurry()
	echo := func(w http.ResponseWriter, r *http.Request, status int, kind string) {
		_ = r.ParseForm()
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte("<html>" + r.PostForm.Encode() + r.PostForm.Get("refresh_token") + "</html>"))
	}
	for name, c2 := range map[string]struct {
		ctx     context.Context
		trouble http.HandlerFunc
		passes  bool
		words   string
	}{
		"500":  {t.Context(), func(w http.ResponseWriter, r *http.Request) { echo(w, r, 500, "text/html") }, true, "Internal Server Error"},
		"HTML": {t.Context(), func(w http.ResponseWriter, r *http.Request) { echo(w, r, 200, "text/html") }, true, "something else than OAuth"},
		"text": {t.Context(), func(w http.ResponseWriter, r *http.Request) { echo(w, r, 200, "text/plain") }, true, "something else than OAuth"},
		"a captive net": {t.Context(), func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, o.URL+"/elsewhere", http.StatusTemporaryRedirect)
		}, true, "Temporary Redirect"},
		"slow": {slow, func(_ http.ResponseWriter, r *http.Request) { _ = r.ParseForm(); <-r.Context().Done() }, true, "can't ask 127.0.0.1"},
		"own words": {t.Context(), func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "bad " + r.PostForm.Get("refresh_token")})
		}, true, "Bad Request"},
		"later": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error":"temporarily_unavailable"}`))
		}, true, "temporarily_unavailable"},
		"the client": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
		}, false, "client_id or client_secret"},
	} {
		o.Troubled(func(w http.ResponseWriter, r *http.Request) bool { c2.trouble(w, r); return true })
		_, err := c.Renew(c2.ctx, first)
		t.Logf("%s: %v", name, err)
		wantError(t, err, false, c2.passes, c2.words)
	}
	o.Troubled(nil)
	if _, err := c.Renew(t.Context(), first); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	c.TokenURL = "http://127.0.0.1:1/token"
	_, err := another(c).Renew(t.Context(), wantToken(t, c))
	wantError(t, err, false, true, "connection refused")
}

// TestAFileThatOthersCanGetAtIsRefused in words that say what to do.
func TestAFileThatOthersCanGetAtIsRefused(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, true, nil)
	c := clientOf(t, o)
	mustLogIn(t, c, o)
	for _, p := range []struct {
		path      string
		mode, was os.FileMode
		words     string
	}{
		{c.File, 0o640, 0o600, "chmod 600 " + c.File}, {c.File, 0o604, 0o600, "(mode 0604)"},
		{filepath.Dir(c.File), 0o770, 0o700, "chmod go-w " + filepath.Dir(c.File)},
	} {
		if err := os.Chmod(p.path, p.mode); err != nil {
			t.Fatal(err)
		}
		_, err := c.Token(t.Context())
		wantError(t, err, false, false, p.words)
		if err := os.Chmod(p.path, p.was); err != nil {
			t.Fatal(err)
		}
		if p.path == c.File && !c.News() {
			t.Error("that it was mended is not noticed")
		}
	}
	testkit.Write(t, c.File, "{")
	_, err := c.Token(t.Context())
	wantError(t, err, true, false, "is damaged")
}
