// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

const (
	// linkLife is for how long a link can be opened.
	linkLife = 10 * time.Minute
	// linkMemory is for how long after that the page can say what became of it.
	linkMemory = time.Hour
	// maxLinks bounds how many links are remembered; the oldest makes room for another.
	maxLinks = 64
	// linkSession is for how long a link signs a browser in.
	linkSession = 30 * 24 * time.Hour
)

// links are those that were handed out. Only hashes of them are kept. It is safe for
// concurrent use.
type links struct {
	now func() time.Time

	mu   sync.Mutex
	kept map[[sha256.Size]byte]*keptLink
}

type keptLink struct {
	until time.Time
	used  bool
}

type linkState int

const (
	linkUnknown linkState = iota
	linkOld
	linkUsed
	linkGood
)

// add returns the secret of a new link, and until when it is good.
func (l *links) add() (secret string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	maps.DeleteFunc(l.kept, func(_ [sha256.Size]byte, k *keptLink) bool { return now.Sub(k.until) > linkMemory })
	if len(l.kept) >= maxLinks {
		delete(l.kept, slices.MinFunc(slices.Collect(maps.Keys(l.kept)), func(a, b [sha256.Size]byte) int {
			return l.kept[a].until.Compare(l.kept[b].until)
		}))
	}
	secret, until = rand.Text(), now.Add(linkLife)
	l.kept[sha256.Sum256([]byte(secret))] = &keptLink{until: until}
	return secret, until
}

// use says what a link is good for, and uses it up.
func (l *links) use(secret string) linkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A table of hashes takes no longer for a secret that is almost right.
	k := l.kept[sha256.Sum256([]byte(secret))]
	switch {
	case k == nil:
		return linkUnknown
	case k.used:
		return linkUsed
	case l.now().After(k.until):
		return linkOld
	}
	k.used = true
	return linkGood
}

// byLink reports whether links sign in here. Where users have passwords, those do.
func (s *Server) byLink() bool {
	for range s.passwords() {
		return false
	}
	return true
}

// Link returns a link that signs one browser in as the owner of all accounts, or, where
// users have passwords, the page to sign in. Give it only to somebody who may do with all
// accounts what they like. Safe for concurrent use.
func (s *Server) Link() desk.DashboardLink {
	if !s.byLink() {
		return desk.DashboardLink{URL: s.URL()}
	}
	secret, until := s.links.add()
	return desk.DashboardLink{URL: s.URL() + "link/" + secret, ValidUntil: &until}
}

// openLink signs a browser in by the link that it opens.
func (s *Server) openLink(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // HEAD, of a program that looks at links
		return
	}
	s.redeem(w, r, r.PathValue("secret"))
}

// pasteLink signs a browser in by the link that was put into the form for that, for those
// who reach the server by another address.
func (s *Server) pasteLink(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !s.proven(w, r) {
		s.showLogin(w, r, http.StatusForbidden, loginView{Problem: "This page was too old. Try again."})
		return
	}
	s.redeem(w, r, path.Base(strings.TrimSpace(r.PostFormValue("link"))))
}

// redeem uses a link up. A browser that is signed in needs none: it may load one anew.
func (s *Server) redeem(w http.ResponseWriter, r *http.Request, secret string) {
	state := linkUnknown
	if s.byLink() {
		state = s.links.use(strings.ToUpper(secret))
	}
	switch {
	case state == linkGood:
		if err := s.begin(r, nil); err != nil {
			s.log.Error("a session could not begin", "error", err)
			http.Error(w, "Something went wrong. Try again.", http.StatusInternalServerError)
			return
		}
		_ = back(w, r, "/", "/")
	case viewerOf(r).session != "":
		_ = back(w, r, "/", "/")
	default:
		if state == linkUsed {
			s.log.Warn("a link to the dashboard that had been used was opened again", "client", s.client(r))
		}
		s.showLogin(w, r, http.StatusForbidden, loginView{Problem: cmp.Or(linkProblems[state], linkProblems[linkUnknown])})
	}
}

var linkProblems = map[linkState]string{
	linkUnknown: "hinged doesn’t know this link: perhaps it was cut short, or hinged was restarted.",
	linkOld:     "This link is too old.",
	linkUsed:    "This link was used already. If that wasn’t you, get a new one, open it, and choose “Sign out everywhere”.",
}
