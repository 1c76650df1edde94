// SPDX-License-Identifier: Apache-2.0

// Package dashboard shows the accounts in a browser, and carries the HTTP API and the
// metrics behind the same authentication:
//
//	browser ─▶ headers, host, origin ─▶ session or token ─▶ route ─▶ desk.Verb.Do(host)
//	daemon  ─▶ Show ─▶ hub ─▶ browsers that watch, which load their page again
//
// A page is a face of verbs of package desk: it asks them and renders what they answer
// (render.go). It knows no store. Everything works without JavaScript: what changes
// something is a form, answered by a redirect. With it, an open
// page is told by server-sent events that something was done (live.go), and loads itself
// again, in place.
//
// Who looks is a viewer: the owner of some accounts, or an operator, who sees figures of
// all accounts and words of nobody's mail but their own. Where no user has a password, links
// sign in that the control socket gives (links.go). Without users the server listens on a
// loopback address only.
//
// Sessions outlive a restart: a file has them, with hashes of their tokens (session.go).
package dashboard
