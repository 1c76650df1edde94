// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/hinged/hinged/internal/face/desk"
)

// Bounds of a request's body, in bytes. The largest are those to learn from whole
// messages, whose content takes four thirds of its size on the way. A message sent as
// it is has more than any account reads of one (max_bytes in the configuration is
// 64 MiB at most).
const (
	maxBody = 256 << 20
	maxMail = 64<<20 + 4096
)

// route is one path below APIPath: on the socket and, if it is public, of the HTTP API.
type route struct {
	name  string
	verb  *desk.Offer // nil: its answer is no JSON, and serve answers
	serve func(*api, http.ResponseWriter, *http.Request)
}

// aliveRoute answers with nothing: that it does is the answer.
const aliveRoute = "alive"

// routes is what the socket and the HTTP API offer: the verbs of the desk, two files, the
// message of a mail filter, and a sign of life.
//
// In the HTTP API is what an account's owner does every day and can take back. What goes
// over the past (unlearn, forget), switches off (pause), is about the whole store, is heavy,
// or fetches from the mail server (headings) stays with the socket and the pages.
var routes = allRoutes()

func allRoutes() []route {
	out := []route{
		file(desk.Backup),
		file(desk.Export),
		{name: "filter", serve: (*api).filter},
		{name: aliveRoute, serve: func(*api, http.ResponseWriter, *http.Request) {}},
	}
	for _, o := range desk.Offers() {
		out = append(out, route{name: o.Name, verb: &o})
	}
	slices.SortFunc(out, func(a, b route) int { return strings.Compare(a.name, b.name) })
	return out
}

// public returns what the HTTP API makes of the route; nil: it does not have it.
func (r route) public() *desk.API {
	if r.verb == nil {
		return nil
	}
	return r.verb.API
}

// limit is the most bytes that the HTTP API takes as a body.
func (r route) limit() int64 {
	switch {
	case r.isMail():
		return maxMail
	case r.public().Whole:
		return maxPublic
	}
	return maxSmall
}

// errStopping is the answer to a request for something slow.
var errStopping = errors.New("the daemon is stopping; what was done by now counts")

// read reads what a request of the socket asks for into q, which points to it.
func read(r *http.Request, q any) (err error) {
	if raw, ok := q.(desk.Raw); ok {
		*raw.Raw(), err = io.ReadAll(http.MaxBytesReader(nil, r.Body, maxMail))
	} else {
		err = json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody)).Decode(q)
	}
	if err != nil {
		err = fmt.Errorf("reading the request: %w", err)
	}
	return err
}

func named(r *http.Request) string { return r.URL.Query().Get("account") }
