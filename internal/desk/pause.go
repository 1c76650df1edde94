// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"net/http"
	"time"

	"github.com/hinged/hinged/internal/filter"
)

// Pause switches an account off, durably: no connection, no mark, no lesson. When it
// returns, the account's connections are closed. Resume ends that; the account
// catches up as after having been away.
var (
	Pause  = ofAccount("pause", http.MethodPost, switching(true))
	Resume = ofAccount("resume", http.MethodPost, switching(false))
)

// Switch is what `hinged pause` and `hinged resume` did.
type Switch struct {
	Account string     `json:"account"`                // Account is the account that was paused or resumed.
	Paused  bool       `json:"paused"`                 // Paused reports whether the account is paused now.
	Changed bool       `json:"changed"`                // Changed is false if the account was already in that state.
	Since   *time.Time `json:"paused_since,omitempty"` // Since is when the pause began. After resume, it is about the pause that ended.
}

func switching(on bool) func(context.Context, Account, None) (Switch, error) {
	return func(ctx context.Context, a Account, _ None) (s Switch, err error) {
		err = a.Change(ctx, func(d *Desk) error {
			before := d.Filter.State().Account
			s = Switch{Account: d.Account, Paused: on, Changed: before.Paused != on, Since: TimeOf(before.PausedSince)}
			if !s.Changed {
				return nil
			}
			var e filter.Event = &filter.Resumed{At: d.Now()}
			if on {
				e = &filter.Paused{At: d.Now()}
			}
			if _, err := d.Apply(e); err != nil {
				return err
			}
			if on {
				s.Since = TimeOf(d.Filter.State().Account.PausedSince)
			}
			return nil
		})
		return s, err
	}
}
