// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/hinged/hinged/internal/testkit"
)

// clientOf returns a client as cmd/hinged makes it.
func clientOf(t *testing.T, o *testkit.OAuth) *Client {
	t.Helper()
	c := &Client{
		Config: oauth2.Config{
			ClientID: o.ID, Scopes: strings.Fields(o.Scope), RedirectURL: "http://localhost",
			Endpoint: oauth2.Endpoint{AuthURL: o.URL + "/authorize", TokenURL: o.URL + "/token"},
		},
		Secret: func() (string, error) { return o.Secret, nil },
		File:   filepath.Join(t.TempDir(), "oauth", "me.json"), Login: "hinged login --account me",
	}
	if o.Google {
		c.Config.RedirectURL, c.Asking = "http://127.0.0.1", []oauth2.AuthCodeOption{oauth2.AccessTypeOffline}
	}
	return c
}

// another is the same client in another process.
func another(c *Client) *Client {
	return &Client{Config: c.Config, Secret: c.Secret, Asking: c.Asking, File: c.File, Login: c.Login}
}

// logIn logs in with a browser on this machine.
func logIn(t *testing.T, c *Client, o *testkit.OAuth) error {
	t.Helper()
	return c.Consent(t.Context(), strings.NewReader(""), func(address string) {
		go func() {
			if _, err := o.Browse(address); err != nil {
				t.Error(err)
			}
		}()
	})
}

// leadsTo returns where a browser would go on to from an address.
func leadsTo(t *testing.T, address string) string {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer answer.Body.Close()
	return answer.Header.Get("Location")
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

func TestALoginLeadsToTokens(t *testing.T) {
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
		})
	}
}

// TestTheAddressMayBeTyped after that of another login.
func TestTheAddressMayBeTyped(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, true, nil)
	c := clientOf(t, o)
	typed, owner := io.Pipe()
	defer typed.Close()
	err := c.Consent(t.Context(), typed, func(address string) {
		go func() {
			redirect := leadsTo(t, address)
			_, _ = io.WriteString(owner, "http://127.0.0.1:1/?code=4/stolen&state=another\n "+redirect+" \n")
		}()
	})
	if err != nil {
		t.Fatal(err)
	}
	wantToken(t, c)
}

// TestNoForeignAnswerIsTaken comes to the port with another state, and with none.
func TestNoForeignAnswerIsTaken(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, true, nil)
	c := clientOf(t, o)
	err := c.Consent(t.Context(), strings.NewReader(""), func(address string) {
		go func() {
			redirect := leadsTo(t, address)
			port, _, _ := strings.Cut(redirect, "?")
			for _, query := range []string{"?code=4/stolen&state=x", "?code=4/stolen", "?error=access_denied", "favicon.ico"} {
				if page, err := o.Browse(port + "/" + query); err != nil || !strings.Contains(page, "does not wait") {
					t.Errorf("%s: the page is %q (%v)", query, page, err)
				}
			}
			if page, err := o.Browse(redirect); err != nil || !strings.Contains(page, "hinged has the answer") {
				t.Errorf("the page is %q (%v)", page, err)
			}
		}()
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Change(func() { o.Declines = true })
	wantError(t, logIn(t, c, o), false, false, "answered access_denied")
	wantToken(t, c) // what was there stays
}

func TestTooLittleConsentIsNotKept(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, true, nil)
	c := clientOf(t, o)
	o.Change(func() { o.Given = "openid email" })
	wantError(t, logIn(t, c, o), false, false, "lacks https://mail.google.com/")
	o.Change(func() { o.Given = "" })
	c.Asking = nil
	wantError(t, logIn(t, c, o), false, false, "no refresh token")
	if _, err := os.Stat(c.File); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was kept: %v", err)
	}
}

// TestTokensAreRenewedInTime goes by what the file says, as if time had passed. One whose end
// was not told is good until it is refused.
func TestTokensAreRenewedInTime(t *testing.T) {
	t.Parallel()
	o := testkit.StartOAuth(t, false, nil)
	c := clientOf(t, o)
	mustLogIn(t, c, o)
	for left, renews := range map[time.Duration]bool{-time.Hour: true, margin - time.Second: true, margin + time.Hour: false} {
		first, before := wantToken(t, c), expire(t, c, left)
		if renewed := wantToken(t, c) != first; renewed != renews {
			t.Errorf("%v before its end a token is renewed: %v", left, renewed)
		}
		if after := expire(t, c, time.Hour); renews && after.RefreshToken == before.RefreshToken {
			t.Error("the refresh token that came in the place of the old one was not kept")
		}
	}
	first, untold := wantToken(t, c), expire(t, c, 0)
	untold.Expiry = time.Time{}
	write(t, c, untold)
	if wantToken(t, c) != first {
		t.Error("a token whose end was not told was renewed")
	}
}

// expire has the access token in the file end so long from now.
func expire(t *testing.T, c *Client, left time.Duration) (token oauth2.Token) {
	t.Helper()
	if err := json.Unmarshal(testkit.Read(t, c.File), &token); err != nil {
		t.Fatal(err)
	}
	token.Expiry = time.Now().Add(left)
	write(t, c, token)
	return token
}

func write(t *testing.T, c *Client, token oauth2.Token) {
	t.Helper()
	text, err := json.Marshal(token)
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
	expire(t, c, 0)
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
	if n := o.Requests; n != 2 { // one is of the login
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
	o.Change(func() { o.Refresh = "" })
	for range 3 {
		_, err := c.Renew(t.Context(), first)
		wantError(t, err, true, false, "run `hinged login --account me`")
	}
	if n := o.Requests; n != 2 { // one is of the login
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
		"500":  {t.Context(), func(w http.ResponseWriter, r *http.Request) { echo(w, r, 500, "text/html") }, true, "(status 500) answered with something else than OAuth"},
		"HTML": {t.Context(), func(w http.ResponseWriter, r *http.Request) { echo(w, r, 200, "text/html") }, true, "something else than OAuth"},
		"text": {t.Context(), func(w http.ResponseWriter, r *http.Request) { echo(w, r, 200, "text/plain") }, true, "something else than OAuth"},
		"a captive net": {t.Context(), func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, o.URL+"/elsewhere", http.StatusTemporaryRedirect)
		}, true, "(status 307)"},
		"slow": {slow, func(_ http.ResponseWriter, r *http.Request) { _ = r.ParseForm(); <-r.Context().Done() }, true, "can't ask the provider: "},
		"own words": {t.Context(), func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "bad " + r.PostForm.Get("refresh_token")})
		}, true, "(status 400)"},
		"later": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error":"temporarily_unavailable"}`))
		}, true, "temporarily_unavailable"},
		"the client": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
		}, false, "answered invalid_client"},
	} {
		o.Change(func() { o.Trouble = c2.trouble })
		_, err := c.Renew(c2.ctx, first)
		t.Logf("%s: %v", name, err)
		wantError(t, err, false, c2.passes, c2.words)
	}
	o.Change(func() { o.Trouble = nil })
	if _, err := c.Renew(t.Context(), first); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	c.Config.Endpoint.TokenURL = "http://127.0.0.1:1/token"
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
	} {
		if err := os.Chmod(p.path, p.mode); err != nil {
			t.Fatal(err)
		}
		_, err := c.Token(t.Context())
		wantError(t, err, false, false, p.words)
		if err := os.Chmod(p.path, p.was); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Write(t, c.File, "{")
	_, err := c.Token(t.Context())
	wantError(t, err, true, false, "is damaged")
}
