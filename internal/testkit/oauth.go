// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/oauth2"
)

// OAuth is a scripted authorization server (RFC 6749) that behaves as Google's or as
// Microsoft's, with one client and one owner: see StartOAuth.
type OAuth struct {
	URL, ID, Secret, Scope string // fixed, as is Google; Secret is "" for a public client
	Google                 bool   // access_type=offline is needed for a refresh token, which stays; others are good once

	mu       sync.Mutex // guards all below, and is held by all that is asked
	Given    string     // scopes that are given
	Declines bool       // what the owner does at the page
	Refresh  string     // the refresh token that is good; "" once consent is taken back
	Requests int        // for tokens
	Trouble  http.HandlerFunc
	asked    url.Values // the last authorization request
}

// StartOAuth starts one with a Google client, which has a secret, or a Microsoft client, which
// has none. issued is told each access token.
func StartOAuth(tb testing.TB, google bool, issued func(access string)) *OAuth {
	tb.Helper()
	o := &OAuth{ID: "client-1", Google: google, Scope: "https://outlook.office.com/IMAP.AccessAsUser.All offline_access"}
	if google {
		o.Secret, o.Scope = "client secret 1", "https://mail.google.com/"
	}
	o.Given = strings.TrimSuffix(o.Scope, " offline_access")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		switch {
		case o.Trouble != nil:
			o.Trouble(w, r)
		case r.URL.Path == "/authorize":
			o.authorize(w, r)
		default:
			o.token(w, r, issued)
		}
	}))
	tb.Cleanup(server.Close)
	o.URL = server.URL
	return o
}

// Change calls do, which may change what is not fixed.
func (o *OAuth) Change(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
}

// Browse opens an address as a browser does, and returns the last page.
func (o *OAuth) Browse(address string) (page string, err error) {
	answer, err := http.Get(address) //nolint:noctx,gosec // a browser
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

func (o *OAuth) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Scheme != "http" || back.Hostname() != map[bool]string{true: "127.0.0.1", false: "localhost"}[o.Google] || back.Port() == "" ||
		q.Get("client_id") != o.ID || q.Get("response_type") != "code" || q.Get("scope") != o.Scope || q.Get("code_challenge_method") != "S256" || len(q.Get("state")) < 20 {
		http.Error(w, "Error 400: invalid_request", http.StatusBadRequest)
		return
	}
	o.asked = q
	out := url.Values{"state": {q.Get("state")}, "code": {"4/code-1"}}
	if o.Declines {
		out = url.Values{"state": {q.Get("state")}, "error": {"access_denied"}}
	}
	back.Host = net.JoinHostPort("127.0.0.1", back.Port()) // localhost may be ::1 to this machine's resolver
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound) //nolint:gosec // to the loopback address checked above
}

func (o *OAuth) token(w http.ResponseWriter, r *http.Request, issued func(string)) {
	get := r.PostFormValue
	kind, wrong := get("grant_type"), ""
	o.Requests++
	lasting := kind == "refresh_token" && !o.Google || kind == "authorization_code" && (!o.Google || o.asked.Get("access_type") == "offline")
	switch {
	case get("client_id") != o.ID || get("client_secret") != o.Secret:
		wrong = "invalid_client"
	case kind == "refresh_token" && (o.Refresh == "" || get("refresh_token") != o.Refresh),
		kind != "refresh_token" && (get("code") != "4/code-1" || get("redirect_uri") != o.asked.Get("redirect_uri") || oauth2.S256ChallengeFromVerifier(get("code_verifier")) != o.asked.Get("code_challenge")):
		wrong = "invalid_grant"
	}
	out := map[string]any{"token_type": "Bearer", "access_token": fmt.Sprintf("ya29.access-token-%04d", o.Requests), "scope": o.Given, "expires_in": 3600}
	if lasting && wrong == "" {
		o.Refresh = fmt.Sprintf("1//refresh-token-%04d", o.Requests)
		out["refresh_token"] = o.Refresh
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if wrong != "" {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]any{"error": wrong, "error_description": "AADSTS50173: The provided grant has expired due to it being revoked. Trace ID: b8d1"}
	} else if issued != nil {
		issued(fmt.Sprint(out["access_token"]))
	}
	_ = json.NewEncoder(w).Encode(out) //nolint:errchkjson // strings and a number
}
