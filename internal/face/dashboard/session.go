// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/hinged/hinged/internal/host/atomicfile"
)

// maxSessions bounds how many sessions there are at once; the one that would end first
// makes room for another.
const maxSessions = 4096

// writeEvery is how often the file of sessions is written at most for requests that only
// move the end of one.
const writeEvery = time.Minute

// Keys of a session.
const (
	keyUser  = "user"
	keyLink  = "link"  // there is no user: a link signed in
	keyEra   = "era"   // of the user's sessions: signing out everywhere begins another
	keyProof = "proof" // of the user's password and token: another one ends the session
)

func newSessions(s *Server, cookie string) *scs.SessionManager {
	// scs.New starts a goroutine that cleans up a store of its own, and waits for nobody.
	m := &scs.SessionManager{Store: s.store, Codec: scs.GobCodec{}, Lifetime: 12 * time.Hour, IdleTimeout: 2 * time.Hour, HashTokenInStore: true}
	if s.opts.Session > 0 {
		m.Lifetime = s.opts.Session
	}
	if s.opts.SessionIdle > 0 {
		m.IdleTimeout = s.opts.SessionIdle
	}
	if s.byLink() {
		m.Lifetime, m.IdleTimeout = linkSession, 0
	}
	m.IdleTimeout = min(m.IdleTimeout, m.Lifetime)
	m.Cookie = scs.SessionCookie{Name: cookie, Path: "/", HttpOnly: true, Secure: s.secure(), SameSite: http.SameSiteLaxMode, Persist: true}
	m.ErrorFunc = func(w http.ResponseWriter, _ *http.Request, err error) {
		s.log.Error("a session could not be kept", "error", err)
		http.Error(w, "Something went wrong with your session. Sign in again.", http.StatusInternalServerError)
	}
	return m
}

// sessionStore keeps sessions (scs.Store) in memory, and in a file if it has one. It knows
// hashes of tokens, never a token: a copy of the file signs nobody in. It is safe for
// concurrent use.
type sessionStore struct {
	now  func() time.Time
	path string // "": no file
	log  *slog.Logger

	mu   sync.Mutex
	kept map[string]keptSession // by the hash of the token
	// eras count by user how often they signed out everywhere.
	eras    map[string]int
	stale   bool // the file lacks ends that have moved
	written time.Time
}

// keptSession is one session. One without content has ended, and does not come back: a
// request that was under way when its user signed out would save it again.
type keptSession struct {
	Content []byte    `json:"content"`
	Expiry  time.Time `json:"expiry"`
}

type sessionFile struct {
	Version  int                    `json:"version"`
	Eras     map[string]int         `json:"eras"`
	Sessions map[string]keptSession `json:"sessions"`
}

const sessionFileVersion = 1

// openSessionStore reads the sessions of the file at path. Where that can't be read, everybody
// has to sign in again.
func openSessionStore(path string, log *slog.Logger, now func() time.Time) *sessionStore {
	t := &sessionStore{now: now, path: path, log: log, kept: map[string]keptSession{}, eras: map[string]int{}}
	if path == "" {
		return t
	}
	f, err := readSessions(path)
	if err != nil {
		log.Warn("the sessions of the dashboard can't be read, so everybody has to sign in again", "file", path, "error", err)
		return t
	}
	maps.Copy(t.eras, f.Eras)
	maps.Copy(t.kept, f.Sessions)
	maps.DeleteFunc(t.kept, func(_ string, k keptSession) bool { return k.Content == nil || !now().Before(k.Expiry) })
	return t
}

func readSessions(path string) (f sessionFile, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && (f.Version != sessionFileVersion || len(f.Sessions) > maxSessions) {
		err = fmt.Errorf("version %d with %d sessions", f.Version, len(f.Sessions))
	}
	return f, err
}

// write writes the file. Where that fails, no file is better than one in which somebody is
// still signed in who has signed out. The caller holds the lock.
func (t *sessionStore) write() {
	if t.path == "" {
		return
	}
	f := sessionFile{Version: sessionFileVersion, Eras: t.eras, Sessions: maps.Clone(t.kept)}
	maps.DeleteFunc(f.Sessions, func(_ string, k keptSession) bool { return k.Content == nil })
	t.stale, t.written = false, t.now()
	data, err := json.Marshal(f)
	if err == nil {
		err = atomicfile.Write(t.path, data, 0o600)
	}
	if err != nil {
		t.log.Error("the sessions of the dashboard can't be saved; a restart signs everybody out", "file", t.path, "error", errors.Join(err, os.Remove(t.path)))
	}
}

// save writes what the file lacks.
func (t *sessionStore) save() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stale {
		t.write()
	}
}

// Find implements scs.Store.
func (t *sessionStore) Find(token string) ([]byte, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.kept[token]
	if !ok || k.Content == nil || !t.now().Before(k.Expiry) {
		return nil, false, nil
	}
	return k.Content, true, nil
}

// Commit implements scs.Store. What a session says never changes after its beginning.
func (t *sessionStore) Commit(token string, content []byte, expiry time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, there := t.kept[token]
	if there && k.Content == nil {
		return nil
	}
	if !there && len(t.kept) >= maxSessions {
		t.makeRoom()
	}
	t.kept[token] = keptSession{content, expiry}
	if t.stale = true; !there || t.now().Sub(t.written) >= writeEvery {
		t.write()
	}
	return nil
}

// makeRoom drops what has expired, or else the session that would end first.
func (t *sessionStore) makeRoom() {
	now := t.now()
	maps.DeleteFunc(t.kept, func(_ string, k keptSession) bool { return !now.Before(k.Expiry) })
	if len(t.kept) < maxSessions {
		return
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(t.kept)), func(a, b string) int { return t.kept[a].Expiry.Compare(t.kept[b].Expiry) })
	delete(t.kept, first)
}

// Delete implements scs.Store.
func (t *sessionStore) Delete(token string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k, ok := t.kept[token]; ok {
		k.Content = nil
		t.kept[token] = k
		t.write()
	}
	return nil
}

// era is which of a user's sessions are valid: those of the era.
func (t *sessionStore) era(user string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.eras[user]
}

func (t *sessionStore) endAll(user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.eras[user]++
	t.write()
}

// signedIn returns the user of r's session or, local, that a link began it. Neither: there
// is none, or it began under another password, by a link where passwords sign in now, or for
// longer than sessions last by now.
func (s *Server) signedIn(r *http.Request) (u *User, local bool) {
	ctx := r.Context()
	name := s.sessions.GetString(ctx, keyUser)
	u, local = s.users[name], s.sessions.GetBool(ctx, keyLink) && s.byLink()
	if s.sessions.GetInt(ctx, keyEra) != s.store.era(name) || time.Until(s.sessions.Deadline(ctx)) > s.sessions.Lifetime ||
		u != nil && !hmac.Equal(s.sessions.GetBytes(ctx, keyProof), u.proof(s.sessions.Token(ctx))) {
		return nil, false
	}
	return u, local
}

// proof is what the session with a token keeps of a user's password and token. Without the
// session's token, which is kept nowhere, nothing can be guessed from it.
func (u *User) proof(token string) []byte {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(mac, "user %q %q %q", u.Name, u.PasswordHash, u.Token)
	return mac.Sum(nil)
}

// withSession has next answer with the session of a request, which a request of a person
// prolongs. One of a page that is open, and loads itself again, does not.
func (s *Server) withSession(next http.Handler) http.Handler {
	prolonging := s.sessions.LoadAndSave(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Live") == "" {
			prolonging.ServeHTTP(w, r)
			return
		}
		token := ""
		if c, err := r.Cookie(s.sessions.Cookie.Name); err == nil {
			token = c.Value
		}
		ctx, err := s.sessions.Load(r.Context(), token)
		if err != nil {
			s.sessions.ErrorFunc(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (s *Server) hadSession(r *http.Request) bool {
	c, err := r.Cookie(s.sessions.Cookie.Name)
	return err == nil && c.Value != ""
}
