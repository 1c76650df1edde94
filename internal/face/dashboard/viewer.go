// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"net/http"
	"slices"
)

// User may sign in.
type User struct {
	Name string
	// PasswordHash is a PHC string of argon2id, as `hinged init --user` prints it; "": the user
	// has only a token.
	PasswordHash string
	// Token lets programs use the API and read the metrics; "": none.
	Token string
	// Accounts are those whose mail is the user's.
	Accounts []string
	// Operator: the user sees the figures of all accounts, and of those that are not in
	// Accounts no words.
	Operator bool
}

// viewer is whoever sent a request. The zero value is somebody unknown, who may see nothing.
type viewer struct {
	user *User
	// local: it opened a link that the control socket gave, and so is the owner of every
	// account.
	local bool
	// session is the token of the browser's session, "" for a program.
	session string
}

type viewerKey struct{}

func viewerOf(r *http.Request) viewer {
	v, _ := r.Context().Value(viewerKey{}).(viewer)
	return v
}

func withViewer(r *http.Request, v viewer) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), viewerKey{}, v))
}

// known reports whether v may see anything at all.
func (v viewer) known() bool { return v.local || v.user != nil }

// operator reports whether v sees the figures of all accounts.
func (v viewer) operator() bool { return v.local || v.user != nil && v.user.Operator }

// may reports whether v sees an account's figures.
func (v viewer) may(account string) bool { return v.operator() || v.owns(account) }

// owns reports whether the mail of an account is v's own, words and all.
func (v viewer) owns(account string) bool {
	return v.local || v.user != nil && slices.Contains(v.user.Accounts, account)
}

// name is how v signed in, "" by a link.
func (v viewer) name() string {
	if v.user == nil {
		return ""
	}
	return v.user.Name
}

// AccountsOf returns the names of the accounts whose mail belongs to whoever sent r, a request
// that came through a Server. all: every account there is does.
func AccountsOf(r *http.Request) (names []string, all bool) {
	switch v := viewerOf(r); {
	case v.local:
		return nil, true
	case v.user != nil:
		return slices.Clone(v.user.Accounts), false
	}
	return nil, false
}

// MayUse reports whether whoever sent r, a request that came through a Server, may read and
// change the account; "": whether they may see the figures of every account.
func MayUse(r *http.Request, account string) bool {
	if account == "" {
		return viewerOf(r).operator()
	}
	return viewerOf(r).owns(account)
}
