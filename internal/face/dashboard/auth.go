// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/hinged/hinged/internal/face/control"
)

const (
	// minToken is how long a token is at least, in bytes: a token is guessed against no
	// slow hash.
	minToken = 16
	// maxPassword is how long a password may be, in bytes.
	maxPassword = 1024
	// minMemory and maxMemory bound the memory of one password's hash, in KiB, and
	// maxWork its passes over memory, in KiB together.
	minMemory, maxMemory = 8 << 10, 1 << 20
	maxWork              = 8 << 20
	// hashing is how many passwords are hashed at once; each takes tens of MB.
	hashing = 2
	// queueing is how many more may wait for that.
	queueing = 16
)

// hashParams are how `hinged init --user` hashes: the second choice of RFC 9106, section 4,
// for where memory is scarce.
var hashParams = argon2id.Params{Memory: 64 << 10, Iterations: 3, Parallelism: 4, SaltLength: 16, KeyLength: 32}

// HashPassword returns what User.PasswordHash takes.
func HashPassword(password string) (string, error) {
	if err := CheckPassword(password); err != nil {
		return "", err
	}
	return argon2id.CreateHash(password, &hashParams)
}

// CheckPassword says what is wrong with a new password.
func CheckPassword(password string) error {
	switch {
	case len([]rune(password)) < 8:
		return errors.New("a password has 8 characters at least")
	case len(password) > maxPassword:
		return fmt.Errorf("a password has %d bytes at most", maxPassword)
	}
	return nil
}

// CheckUsers says what is wrong with those who may sign in.
func CheckUsers(users []User) error {
	names := map[string]bool{}
	for i := range users {
		u := &users[i]
		if err := u.check(); err != nil {
			return fmt.Errorf("user %s: %w", u.Name, err)
		}
		if names[u.Name] {
			return fmt.Errorf("user %s is there twice", u.Name)
		}
		names[u.Name] = true
	}
	return nil
}

func (u *User) check() error {
	if u.Name == "" {
		return errors.New("it has no name")
	}
	if u.PasswordHash == "" && u.Token == "" {
		return errors.New("neither a password nor a token")
	}
	if u.PasswordHash != "" {
		if err := CheckHash(u.PasswordHash); err != nil {
			return err
		}
	}
	if u.Token != "" && len(u.Token) < minToken {
		return fmt.Errorf("the token has %d bytes; it needs %d at least, such as what `openssl rand -hex 32` prints", len(u.Token), minToken)
	}
	return nil
}

// CheckHash says what is wrong with the hash of a password.
func CheckHash(hash string) error {
	const want = "`hinged init --user` prints one"
	p, _, key, err := argon2id.DecodeHash(hash)
	switch {
	case err != nil:
		return fmt.Errorf("the password's hash is none of argon2id; %s", want)
	case p.Parallelism < 1:
		return fmt.Errorf("the password's hash can't be computed (p=0 threads); %s", want)
	case p.Memory < minMemory || len(key) < 16 || p.Iterations < 1:
		return fmt.Errorf("the password's hash is too easy to guess against (memory %d KiB, %d passes); %s", p.Memory, p.Iterations, want)
	case p.Memory > maxMemory || uint64(p.Memory)*uint64(p.Iterations) > maxWork:
		return fmt.Errorf("the password's hash takes too much to compute (memory %d KiB, %d passes); %s", p.Memory, p.Iterations, want)
	}
	return nil
}

// passwords are the hashes of all users that have one.
func (s *Server) passwords() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range s.opts.Users {
			if h := s.opts.Users[i].PasswordHash; h != "" && !yield(h) {
				return
			}
		}
	}
}

// identify finds out who sends a request, by the token or the session that it carries.
func (s *Server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v viewer
		if token, ok := bearer(r); ok {
			// A right token is never counted nor refused, so that a script with a wrong one
			// on the same machine, or behind the same proxy, blinds nobody.
			if v.user = s.holder(token); v.user == nil {
				address := s.client(r)
				if _, wait := s.guard.narrow.take("token "+address, s.now()); wait > 0 {
					w.Header().Set("Retry-After", retryIn(wait))
					control.Refuse(w, http.StatusTooManyRequests, "", "too many wrong tokens from this address")
					return
				}
				s.log.Warn("a request with an unknown token", "client", address)
			}
		} else if u, local := s.signedIn(r); u != nil || local {
			v = viewer{user: u, local: local, session: s.sessions.Token(r.Context())}
		}
		if v.known() {
			welcome(r)
		}
		next.ServeHTTP(w, withViewer(r, v))
	})
}

func bearer(r *http.Request) (token string, ok bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// holder returns whose token it is, nil: nobody's. It takes as long for any token.
func (s *Server) holder(token string) (found *User) {
	got := sha256.Sum256([]byte(token))
	for i := range s.opts.Users {
		u := &s.opts.Users[i]
		want := sha256.Sum256([]byte(u.Token))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 && u.Token != "" {
			found = u
		}
	}
	return found
}

// serveMachine has h answer a program that may ask it.
func (s *Server) serveMachine(w http.ResponseWriter, r *http.Request, h http.Handler, may bool) {
	switch v := viewerOf(r); {
	case h == nil:
		http.NotFound(w, r)
	case may:
		if v.session == "" {
			_ = http.NewResponseController(w).SetWriteDeadline(s.now().Add(machinePatience)) // of a test's recorder there is none
		}
		h.ServeHTTP(w, r)
	case v.known():
		control.Refuse(w, http.StatusForbidden, "forbidden", v.name()+" may not read this: it is for operators")
	default:
		w.Header().Set("WWW-Authenticate", `Bearer realm="hinged"`)
		words := "send a user's token, as in Authorization: Bearer …"
		if len(s.users) == 0 {
			words += " (a [[dashboard.user]] with a token makes one: docs/api.md)"
		}
		control.Refuse(w, http.StatusUnauthorized, "unauthorized", words)
	}
}

// machinePatience bounds answers of the API: a copy of the store may take its time.
const machinePatience = 10 * time.Minute

func retryIn(wait time.Duration) string { return strconv.Itoa(int(wait.Seconds()) + 1) }

// errBusy: too many sign in at once.
var errBusy = errors.New("too many sign in at once")

// guard checks passwords, few at once, and bounds how often somebody tries.
type guard struct {
	now          func() time.Time
	narrow, wide *limits
	hashing      chan struct{}
	waiting      chan struct{}
	decoy        string // a hash that no password has
}

func newGuard(hashes []string, now func() time.Time) *guard {
	g := &guard{
		now: now, narrow: newLimits(narrowTries, narrowEvery), wide: newLimits(wideTries, wideEvery),
		hashing: make(chan struct{}, hashing), waiting: make(chan struct{}, hashing+queueing),
	}
	// It takes as much to compute as that of the first user.
	p := hashParams
	if len(hashes) > 0 {
		if of, _, _, err := argon2id.DecodeHash(hashes[0]); err == nil {
			p = *of
		}
	}
	g.decoy = fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", p.Memory, p.Iterations, p.Parallelism, randomBase64(p.SaltLength), randomBase64(p.KeyLength))
	return g
}

func randomBase64(n uint32) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (Go 1.24)
	return base64.RawStdEncoding.EncodeToString(b)
}

// matches reports whether a password is that of a hash. "": of nobody, which takes as long.
// errBusy. Who comes from a browser that is known waits longer, and is not told that.
func (g *guard) matches(ctx context.Context, password, hash string, known bool) (bool, error) {
	select {
	case g.waiting <- struct{}{}:
		defer func() { <-g.waiting }()
	default:
		if !known {
			return false, errBusy
		}
	}
	select {
	case g.hashing <- struct{}{}:
		defer func() { <-g.hashing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	of := hash
	if hash == "" {
		of = g.decoy
	}
	ok, err := argon2id.ComparePasswordAndHash(password, of)
	return ok && hash != "", err
}
