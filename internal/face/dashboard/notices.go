// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"maps"
	"sync"
	"time"
)

// noticed is what came of a change, for the page that the browser is led back to.
type noticed struct {
	Text    string
	Message string // the key of the message that it is about; "": of none
	// Problem says what was wrong with a form, for its page to show beside it. Then there is no
	// Text.
	Problem string

	until time.Time
	on    string // the page that has told it, "" before that
}

// notices keep what is to be told, by browser and account, until it is told. The zero
// value is empty. It is safe for concurrent use.
type notices struct {
	mu   sync.Mutex
	kept map[string]noticed
}

const (
	// noticeLife is for how long a browser may take to ask for the next page.
	noticeLife  = 5 * time.Minute
	mostNotices = 4096
	// retold is for how long a page that loads itself anew (live.js) shows it again: what
	// was done is told to open pages, too, which then look what it changed.
	retold = 30 * time.Second
)

// tell keeps a notice for the next page of the account that the browser gets.
func (s *Server) tell(p *page, n noticed) {
	t := &s.notices
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) >= mostNotices {
		maps.DeleteFunc(t.kept, func(_ string, n noticed) bool { return s.now().After(n.until) })
	}
	if len(t.kept) >= mostNotices || t.kept == nil {
		t.kept = map[string]noticed{} // what is lost is a sentence
	}
	n.until = s.now().Add(noticeLife)
	t.kept[p.CSRF+" "+p.Account] = n
}

// told takes what is to be told on a page, and shows it at the page's top unless it is
// about a message that has a row there.
func (s *Server) told(p *page, hasRow func(key string) bool) noticed {
	p.told = true
	t := &s.notices
	t.mu.Lock()
	defer t.mu.Unlock()
	key := p.CSRF + " " + p.Account
	n, ok := t.kept[key]
	if !ok || s.now().After(n.until) || p.reload != (n.on != "") || p.reload && n.on != p.path {
		if !p.reload {
			delete(t.kept, key)
		}
		return noticed{}
	}
	if !p.reload {
		n.on, n.until = p.path, s.now().Add(retold)
		t.kept[key] = n
	}
	if n.Message == "" || hasRow == nil || !hasRow(n.Message) {
		p.Notice = n.Text
	}
	return n
}
