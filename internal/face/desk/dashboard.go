// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"time"
)

// OpenDashboard asks for a link that opens the dashboard. Anyone who may use the control
// socket may do with every account what they like, so they get in without a password. It
// is no public verb: a token for the HTTP API must not become a session.
var OpenDashboard = offer(Verb[None, DashboardLink]{
	Name: "dashboard", do: func(ctx context.Context, h Host, _ string, _ None) (DashboardLink, error) { return h.Dashboard(ctx) },
})

// DashboardLink is what `hinged dashboard` prints, also with --json.
type DashboardLink struct {
	URL        string     `json:"url"`                   // URL opens the dashboard: a link that signs one browser in or, where users have passwords, the page to sign in.
	ValidUntil *time.Time `json:"valid_until,omitempty"` // ValidUntil is until when the link can be opened, once; absent where users sign in with their passwords.
}

// ErrNoDashboard is wrapped where no pages are served.
var ErrNoDashboard = errors.New("there is no dashboard")
