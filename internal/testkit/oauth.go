// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// OAuth is a scripted authorization server (RFC 6749) that behaves as Google's or as
// Microsoft's: see StartOAuth. Its methods are safe for concurrent use.
type OAuth struct {
	URL      string
	ID       string // of its one client
	Secret   string // "" for a public client
	Scope    string // that has to be asked for
	Rotates  bool   // each refresh token is good once, as Microsoft's may be
	Google   bool   // access_type=offline is needed for a refresh token, and there is no device flow
	UserCode string

	mu       sync.Mutex // guards all below
	lifetime int        // expires_in of access tokens; 0: it is not told
	given    string     // scopes that are given; "": Scope
	decides  string     // what the owner decides at the page: agree, decline
	trouble  func(w http.ResponseWriter, r *http.Request) bool
	issued   func(access string)
	codes    map[string]url.Values // authorization requests by code
	devices  map[string][]string   // errors that are still to be answered, by device code
	pending  []string              // those of the next device code
	refresh  map[string]bool       // valid refresh tokens
	n        int
	requests []string // grant types, and errors that were answered
}

// StartOAuth starts one with a Google client, which has a secret, or a Microsoft client, which
// has none. issued is told each access token.
func StartOAuth(tb testing.TB, google bool, issued func(access string)) *OAuth {
	tb.Helper()
	o := &OAuth{
		ID: "client-1", Scope: "https://mail.google.com/", Google: google, Rotates: !google, UserCode: "BCDF-GHJK",
		lifetime: 3600, decides: "agree", issued: issued,
		codes: map[string]url.Values{}, devices: map[string][]string{}, refresh: map[string]bool{},
	}
	if o.Secret = "client secret 1"; !google {
		o.Secret, o.Scope = "", "https://outlook.office.com/IMAP.AccessAsUser.All offline_access"
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", o.authorize)
	mux.HandleFunc("POST /token", o.token)
	mux.HandleFunc("POST /devicecode", o.device)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		trouble := o.trouble
		o.mu.Unlock()
		if trouble == nil || !trouble(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	tb.Cleanup(server.Close)
	o.URL = server.URL
	return o
}

// Troubled has every request go through do first; nil ends it.
func (o *OAuth) Troubled(do func(w http.ResponseWriter, r *http.Request) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trouble = do
}

// Lives has access tokens live for so many seconds; 0: it is not told how long.
func (o *OAuth) Lives(seconds int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lifetime = seconds
}

// Gives has the owner give these scopes; "" for all that are asked for.
func (o *OAuth) Gives(scopes string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.given = scopes
}

// Declines has the owner decline at the page, until another call.
func (o *OAuth) Declines(yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.decides = map[bool]string{false: "agree", true: "decline"}[yes]
}

// Pending has the polls for the next device code answered with these errors first.
func (o *OAuth) Pending(errors ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending = errors
}

// Revoke makes all refresh tokens void, as when the owner takes the consent back.
func (o *OAuth) Revoke() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.refresh)
}

// Requests returns the grant types that were asked for and the errors that were answered.
func (o *OAuth) Requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.requests)
}

// Consent opens an address of the login as a browser does, with a cookie-less owner who agrees,
// and returns the last page. browse false: where the browser would go on to, and nothing else.
func (o *OAuth) Consent(address string, browse bool) (page string, err error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		if browse {
			return nil
		}
		return http.ErrUseLastResponse
	}}
	answer, err := client.Get(address) //nolint:noctx // a browser
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if !browse {
		return answer.Header.Get("Location"), nil
	}
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

func (o *OAuth) authorize(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case err != nil || back.Scheme != "http" || back.Hostname() != map[bool]string{true: "127.0.0.1", false: "localhost"}[o.Google] || back.Port() == "":
		http.Error(w, "Error 400: redirect_uri_mismatch", http.StatusBadRequest)
		return
	case q.Get("client_id") != o.ID || q.Get("response_type") != "code" || q.Get("scope") != o.Scope ||
		q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || len(q.Get("state")) < 20:
		http.Error(w, "Error 400: invalid_request", http.StatusBadRequest)
		return
	}
	out := url.Values{"state": {q.Get("state")}}
	if o.decides == "decline" {
		out.Set("error", "access_denied")
	} else {
		o.n++
		code := fmt.Sprintf("4/code-%d", o.n)
		o.codes[code] = q
		out.Set("code", code)
	}
	// Microsoft's localhost may be ::1 in this machine's resolver.
	back.Host = net.JoinHostPort("127.0.0.1", back.Port())
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound) //nolint:gosec // to the loopback address checked above
}

// refuse answers with an error (RFC 6749, section 5.2).
func (o *OAuth) refuse(w http.ResponseWriter, status int, code string) {
	o.requests = append(o.requests, code)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	description := "Token has been expired or revoked."
	if !o.Google {
		description = "AADSTS50173: The provided grant has expired due to it being revoked. Trace ID: b8d1"
	}
	fmt.Fprintf(w, `{"error": %q, "error_description": %q}`, code, description)
}

func (o *OAuth) token(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		o.refuse(w, http.StatusBadRequest, "invalid_request")
		return
	}
	q := r.PostForm
	kind := q.Get("grant_type")
	o.requests = append(o.requests, strings.TrimPrefix(kind, "urn:ietf:params:oauth:grant-type:"))
	if q.Get("client_id") != o.ID || q.Get("client_secret") != o.Secret {
		o.refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	lasting := true
	switch kind {
	case "authorization_code":
		asked, ok := o.codes[q.Get("code")]
		delete(o.codes, q.Get("code"))
		sum := sha256.Sum256([]byte(q.Get("code_verifier")))
		if !ok || asked.Get("redirect_uri") != q.Get("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") {
			o.refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
		lasting = !o.Google || asked.Get("access_type") == "offline"
	case "refresh_token":
		old := q.Get("refresh_token")
		if !o.refresh[old] {
			o.refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
		if lasting = o.Rotates; lasting {
			delete(o.refresh, old)
		}
	case "urn:ietf:params:oauth:grant-type:device_code":
		todo, ok := o.devices[q.Get("device_code")]
		if ok && len(todo) > 0 {
			o.devices[q.Get("device_code")] = todo[1:]
			o.refuse(w, http.StatusBadRequest, todo[0])
			return
		}
		delete(o.devices, q.Get("device_code"))
		if !ok {
			o.refuse(w, http.StatusBadRequest, "expired_token")
			return
		}
	default:
		o.refuse(w, http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	o.issue(w, lasting)
}

// issue answers with tokens (RFC 6749, section 5.1), as Microsoft does without offline_access.
func (o *OAuth) issue(w http.ResponseWriter, lasting bool) {
	o.n++
	out := map[string]any{"token_type": "Bearer", "access_token": fmt.Sprintf("ya29.access-token-%04d", o.n)}
	if o.lifetime > 0 {
		out["expires_in"] = o.lifetime
	}
	out["scope"] = strings.TrimSuffix(o.Scope, " offline_access")
	if o.given != "" {
		out["scope"] = o.given
	}
	if lasting {
		refresh := fmt.Sprintf("1//refresh-token-%04d", o.n)
		o.refresh[refresh] = true
		out["refresh_token"] = refresh
	}
	if o.issued != nil {
		o.issued(out["access_token"].(string)) //nolint:forcetypeassert // it was made above
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(err)
	}
}

func (o *OAuth) device(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := r.ParseForm(); err != nil || o.Google || r.PostForm.Get("client_id") != o.ID || r.PostForm.Get("scope") != o.Scope {
		o.refuse(w, http.StatusBadRequest, "invalid_scope")
		return
	}
	o.n++
	code := fmt.Sprintf("device-code-%04d", o.n)
	o.devices[code] = append([]string{}, o.pending...)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprintf(w, `{"device_code": %q, "user_code": %q, "verification_uri": "https://microsoft.com/devicelogin", "interval": 1, "expires_in": 900}`,
		code, o.UserCode)
}
