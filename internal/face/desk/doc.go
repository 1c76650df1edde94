// SPDX-License-Identifier: Apache-2.0

// Package desk is what can be asked of an account, and what is answered. Each
// verb has a file, with its request, its answer and the one function that gets
// from one to the other:
//
//	Verb.Do(host, account, request) ─▶ Host finds the Account ─▶ Look or Change
//	─▶ a function on the Desk, the account at hand ─▶ answer
//
// A Host says where accounts live: in a running daemon, in a stream, in a store
// without a daemon. The server, its client and the command line are made from the
// Verbs; see package control. The desk knows nothing of how a request gets here.
package desk
