// SPDX-License-Identifier: Apache-2.0

// Package control carries the verbs of package desk as JSON over HTTP, on a Unix socket and
// as the public HTTP API:
//
//	Ask ─▶ At ─▶ socket ─▶ api ─▶ routes ─▶ desk.Verb.Do(host)
//	program ─▶ the dashboard's authentication ─▶ api
//
// Ask is the way in for the command line, be it that a daemon answers or a host of
// the own process. On the socket a verb is POST /api/v1/NAME?account=ACCOUNT, with its
// request as JSON in the body: the mode of the socket's file says who may ask. The API has
// the public verbs, whose requests are checked with the OpenAPI document. Errors of both
// are a Problem, and keep their kind (desk.KindOf).
package control
