// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	testkit.Write(t, path, content)
	return path
}

func TestReadPasswordFromEachPlace(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HINGED_TEST_PASSWORD", "tulip")
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	path := writeFile(t, dir, "secret", "tulip\n")
	for _, tt := range []struct {
		name string
		p    Password
	}{
		{"file", Password{File: path}},
		{"command", Password{Command: []string{"cat", path}}},
		{"environment", Password{Env: "HINGED_TEST_PASSWORD"}},
		{"credential", Password{Credential: "secret"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.p.ReadPassword(t.Context())
			if err != nil || got != "tulip" {
				t.Errorf("got %q, %v, want tulip", got, err)
			}
		})
	}
	t.Run("anew at each call", func(t *testing.T) {
		p := Password{File: path}
		writeFile(t, dir, "secret", "rose")
		if got, err := p.ReadPassword(t.Context()); err != nil || got != "rose" {
			t.Errorf("got %q, %v, want rose", got, err)
		}
	})
}

func TestReadPasswordDropsOneLineEnd(t *testing.T) {
	for content, want := range map[string]string{
		"tulip": "tulip", "tulip\n": "tulip", "tulip\r\n": "tulip", " tulip ": " tulip ", "tulip\r": "", "tulip\n\n": "", "\n": "", "": "",
		"a\x00b":                                "",
		strings.Repeat("x", maxSecretBytes):     strings.Repeat("x", maxSecretBytes),
		strings.Repeat("x", maxSecretBytes+1):   "",
		strings.Repeat("x", 2*maxSecretBytes):   "",
		"first line tulip\nsecond line tulip\n": "",
	} {
		p := Password{File: writeFile(t, t.TempDir(), "p", content)}
		got, err := p.ReadPassword(t.Context())
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%.20q: got %.20q, %v, want %.20q", content, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "tulip") {
			t.Errorf("the secret is in the error: %v", err)
		}
	}
}

func TestReadPasswordErrorsNameTheKeyAndNotTheSecret(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	for _, tt := range []struct {
		name string
		p    Password
		want string
	}{
		{"no file", Password{File: "/nonexistent/p"}, "password_file: open /nonexistent/p"},
		{"no variable", Password{Env: "HINGED_TEST_UNSET"}, "password_env: the environment has no HINGED_TEST_UNSET"},
		{"no credentials directory", Password{Credential: "c"}, "password_credential: CREDENTIALS_DIRECTORY is not set"},
		{"no such program", Password{Command: []string{"/nonexistent/pass"}}, "password_command: run /nonexistent/pass"},
		{"program fails", Password{Command: []string{"sh", "-c", "echo tulip; echo tulip >&2; exit 3"}}, "password_command: sh ended with exit status 3; run it by hand"},
		{"no token is given", Password{Command: []string{"sh", "-c", `echo 'tulip {"error": "invalid_grant"}' >&2; exit 1`}}, "password_command: sh ended with exit status 1 over invalid_grant; run it by hand"},
		{"program prints without end", Password{Command: []string{"sh", "-c", "head -c 10000000 /dev/zero"}}, "longer than 65536 bytes"},
		{"nothing configured", Password{}, "no password is configured"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.p.ReadPassword(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "tulip") {
				t.Errorf("got %v, want %q and no secret", err, tt.want)
			}
		})
	}
}

func TestReadPasswordStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	// The shell's child keeps the pipe open after the shell is killed, for as long
	// as the test lasts.
	p := Password{Command: []string{"sh", "-c", `sh -c 'while [ -e "$0" ]; do sleep 0.1; done' "$0"; true`, t.TempDir()}}
	_, err := p.ReadPassword(ctx)
	if err == nil || !strings.Contains(err.Error(), "did not end in time") {
		t.Errorf("got %v", err)
	}
}

// TestConsentNeededIsSaidOfTheCodesOfOAuthAlone is what package imap asks of an error.
func TestConsentNeededIsSaidOfTheCodesOfOAuthAlone(t *testing.T) {
	for code, want := range map[string]bool{
		"invalid_grant": true, "unauthorized_client": true, "interaction_required": true, "login_required": true, "consent_required": true,
		"invalid_client": false, "my_invalid_grants": false, "temporarily_unavailable": false,
	} {
		p := Password{Command: []string{"sh", "-c", "echo " + code + " >&2; exit 1"}}
		_, err := p.ReadPassword(t.Context())
		var e interface{ ConsentNeeded() bool }
		if !errors.As(err, &e) || e.ConsentNeeded() != want {
			t.Errorf("%s: %v; want %v", code, err, want)
		}
	}
}
