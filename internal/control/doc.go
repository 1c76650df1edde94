// SPDX-License-Identifier: Apache-2.0

// Package control carries the verbs of package desk over a Unix socket, as HTTP:
//
//	Ask ─▶ Client ─▶ socket ─▶ Server ─▶ routes ─▶ desk.Verb.Do(host)
//
// Ask is the way in for the command line, be it that a daemon answers or a host of
// the own process. A verb crosses as /v1/NAME?account=ACCOUNT, with its request as
// JSON in the body, and its answer or a failure as JSON. Errors keep their kind.
package control
