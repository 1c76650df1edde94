// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
)

// maxSessions bounds how many sessions there are at once; the one that would end first
// makes room for another.
const maxSessions = 4096

// Keys of a session.
const (
	keyUser = "user"
	keyLink = "link" // there is no user: a link signed in
	keyEra  = "era"  // of the user's sessions: signing out everywhere begins another
)

// newSessions says how sessions are kept.
func newSessions(s *Server, cookie string) *scs.SessionManager {
	// scs.New starts a goroutine that cleans up a store of its own, and waits for nobody.
	m := &scs.SessionManager{Store: s.store, Codec: scs.GobCodec{}, Lifetime: 12 * time.Hour, IdleTimeout: 2 * time.Hour}
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

// sessionStore keeps sessions in memory (scs.Store). It is safe for concurrent use.
type sessionStore struct {
	now func() time.Time

	mu   sync.Mutex
	kept map[string]keptSession
	// eras count by user how often they signed out everywhere.
	eras map[string]int
}

// keptSession is one session. One without content has ended, and does not come back: a
// request that was under way when its user signed out would save it again.
type keptSession struct {
	content []byte
	expiry  time.Time
}

func newSessionStore(now func() time.Time) *sessionStore {
	return &sessionStore{now: now, kept: map[string]keptSession{}, eras: map[string]int{}}
}

// Find implements scs.Store.
func (t *sessionStore) Find(token string) ([]byte, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.kept[token]
	if !ok || k.content == nil || !t.now().Before(k.expiry) {
		return nil, false, nil
	}
	return k.content, true, nil
}

// Commit implements scs.Store.
func (t *sessionStore) Commit(token string, content []byte, expiry time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, there := t.kept[token]
	if there && k.content == nil {
		return nil
	}
	if !there && len(t.kept) >= maxSessions {
		t.makeRoom()
	}
	t.kept[token] = keptSession{content, expiry}
	return nil
}

// makeRoom drops what has expired, or else the session that would end first.
func (t *sessionStore) makeRoom() {
	now := t.now()
	maps.DeleteFunc(t.kept, func(_ string, k keptSession) bool { return !now.Before(k.expiry) })
	if len(t.kept) < maxSessions {
		return
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(t.kept)), func(a, b string) int { return t.kept[a].expiry.Compare(t.kept[b].expiry) })
	delete(t.kept, first)
}

// Delete implements scs.Store.
func (t *sessionStore) Delete(token string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k, ok := t.kept[token]; ok {
		k.content = nil
		t.kept[token] = k
	}
	return nil
}

// era is which of a user's sessions are valid: those of the era.
func (t *sessionStore) era(user string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.eras[user]
}

// endAll ends all sessions of a user.
func (t *sessionStore) endAll(user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.eras[user]++
}

// signedIn returns the user of r's session or, local, that a link began it. Neither: there
// is none.
func (s *Server) signedIn(r *http.Request) (u *User, local bool) {
	ctx := r.Context()
	name := s.sessions.GetString(ctx, keyUser)
	u, local = s.users[name], s.sessions.GetBool(ctx, keyLink)
	if s.sessions.GetInt(ctx, keyEra) != s.store.era(name) {
		return nil, false
	}
	return u, local
}

// hadSession reports whether r's browser was signed in once.
func (s *Server) hadSession(r *http.Request) bool {
	c, err := r.Cookie(s.sessions.Cookie.Name)
	return err == nil && c.Value != ""
}
