// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

const (
	// maxSecretBytes is above any password and any token of an OAuth provider.
	maxSecretBytes = 64 << 10
	// secretTimeout bounds a password_command, which may wait for a locked agent.
	secretTimeout = 30 * time.Second
)

// Password says where a password or token is. One of the four is set.
type Password struct {
	File       string   `toml:"password_file,omitempty"`
	Command    []string `toml:"password_command,omitempty"` // program and arguments; no shell
	Env        string   `toml:"password_env,omitempty"`
	Credential string   `toml:"password_credential,omitempty"` // a file in $CREDENTIALS_DIRECTORY (systemd.exec(5))
}

// keys returns the keys that are set, in a fixed order. what is password or token, with
// which their names begin.
func (p *Password) keys(what string) []string {
	var set []string
	for _, k := range []struct {
		key string
		set bool
	}{
		{"_file", p.File != ""},
		{"_command", len(p.Command) > 0},
		{"_env", p.Env != ""},
		{"_credential", p.Credential != ""},
	} {
		if k.set {
			set = append(set, what+k.key)
		}
	}
	return set
}

// ReadPassword fetches the secret from where it is, anew at each call: so a
// renewed one is used at the next connection. One line end at its end is
// dropped. Neither the secret nor what a command printed is in any error.
// Safe for concurrent use.
func (p *Password) ReadPassword(ctx context.Context) (string, error) {
	return p.read(ctx, "password")
}

// read is ReadPassword for a password or a token.
func (p *Password) read(ctx context.Context, what string) (string, error) {
	var secret []byte
	var err error
	switch {
	case p.File != "":
		secret, err = readSecretFile(p.File)
	case len(p.Command) > 0:
		secret, err = p.run(ctx)
	case p.Env != "":
		value, ok := os.LookupEnv(p.Env)
		if !ok {
			return "", fmt.Errorf("%s_env: the environment has no %s", what, p.Env)
		}
		secret = []byte(value)
	case p.Credential != "":
		dir := os.Getenv("CREDENTIALS_DIRECTORY")
		if dir == "" {
			return "", fmt.Errorf("%s_credential: CREDENTIALS_DIRECTORY is not set; systemd sets it for a unit with LoadCredential=", what)
		}
		secret, err = readSecretFile(filepath.Join(dir, p.Credential))
	default:
		return "", fmt.Errorf("no %s is configured", what)
	}
	key := p.keys(what)[0]
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	text, err := cleanSecret(secret)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return text, nil
}

// cleanSecret drops one line end and refuses what no server would take.
func cleanSecret(secret []byte) (string, error) {
	if len(secret) > maxSecretBytes {
		return "", fmt.Errorf("the secret is longer than %d bytes", maxSecretBytes)
	}
	if rest, ok := bytes.CutSuffix(secret, []byte("\n")); ok {
		secret = bytes.TrimSuffix(rest, []byte("\r"))
	}
	switch {
	case len(secret) == 0:
		return "", errors.New("the secret is empty")
	case bytes.ContainsAny(secret, "\r\n\x00"):
		return "", errors.New("the secret has more than one line, or a zero byte")
	}
	return string(secret), nil
}

func readSecretFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
}

// run runs the command. What it prints to standard error is thrown away: such
// programs repeat secrets there.
func (p *Password) run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	// A child that inherits the pipe and lives on must not hold us up.
	cmd.WaitDelay = time.Second
	out := &limitedBuffer{room: maxSecretBytes + 1}
	words := &limitedBuffer{room: maxSecretBytes}
	cmd.Stdout, cmd.Stderr = out, words
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not end in time: %w", p.Command[0], ctx.Err())
	case errors.As(err, &exit):
		code := oauthCode.Find(append(words.kept, out.kept...))
		return nil, &commandError{p.Command[0], exit.String(), string(code)}
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", p.Command[0], err)
	}
	return out.kept, nil
}

// commandError says that a password_command ended with an error.
type commandError struct {
	program, state string
	code           string // of OAuth, "" if it printed none
}

func (e *commandError) Error() string {
	why := ""
	if e.code != "" {
		why = " over " + e.code
	}
	return fmt.Sprintf("%s ended with %s%s; run it by hand to see why", e.program, e.state, why)
}

// ConsentNeeded reports whether the authorization server gives no token until the owner
// logs in there.
func (e *commandError) ConsentNeeded() bool { return e.code != "" }

// oauthCode finds why no token was given, where only the owner can help (RFC 6749,
// section 5.2; OpenID Connect Core, section 3.1.2.6). Nothing else of what a program says goes into an error: it may be
// secret.
var oauthCode = regexp.MustCompile(`\b(invalid_grant|unauthorized_client|interaction_required|login_required|consent_required)\b`)

// limitedBuffer keeps the first bytes written and swallows the rest, so that
// the writer need not fail. The buffer is not embedded: its ReadFrom would let
// everything past the limit.
type limitedBuffer struct {
	kept []byte
	room int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), b.room-len(b.kept))]...)
	return len(p), nil
}
