// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
)

// Pause switches accounts off, durably: no connection, no mark, no lesson. When it
// returns, their connections are closed. Resume ends that; an account catches up as after
// having been away. One that fails stops none of the others.
var (
	Pause = offer(Verb[SwitchRequest, []Switch]{
		Name: "pause",
		Help: &Help{
			Group: ToCorrect,
			Use:   "pause",
			Short: "Switch an account off until `hinged resume`",
			Long: `Switch an account off. When this command returns, its connections are closed.
Until ` + "`hinged resume`" + `, hinged connects to nothing, decides nothing, sets no mark
and learns nothing for it, even after a restart. Earlier marks and lessons stay.
` + "`hinged undo --marks`" + ` works during a pause; it connects for that alone. The
daemon need not run.`,
			Example: `  $ hinged pause
  me is paused; ` + "`hinged resume`" + ` ends it`,
		},
		Text: printSwitched, do: switching(true),
	})
	Resume = offer(Verb[SwitchRequest, []Switch]{
		Name: "resume",
		Help: &Help{
			Group: ToCorrect,
			Use:   "resume",
			Short: "Switch a paused account on again",
			Long: `End a pause. The account connects again and catches up as after any absence:
hinged decides the mail that arrived, and learns from what you did with your
mail.`,
			Example: `  $ hinged resume
  Resumed account me (paused since 2026-03-02 09:00:00 UTC)`,
		},
		Text: printSwitched, do: switching(false),
	})
)

// SwitchRequest says whether every account is meant.
type SwitchRequest struct {
	All bool `json:"all,omitempty" flag:"all" usage:"every account"`
}

// Switch is what `hinged pause` and `hinged resume` did to one account.
type Switch struct {
	Account string     `json:"account"`                // Account is the account that was paused or resumed.
	Paused  bool       `json:"paused"`                 // Paused reports whether the account is paused now.
	Changed bool       `json:"changed"`                // Changed is false if the account was already in that state.
	Since   *time.Time `json:"paused_since,omitempty"` // Since is when the pause began. After resume, it is about the pause that ended.
}

// Words say what happened.
func (s *Switch) Words() string {
	switch {
	case s.Paused && s.Changed:
		return s.Account + " is paused; `hinged resume` ends it"
	case s.Paused:
		return fmt.Sprintf("%s was paused before, since %s; `hinged resume` ends it", s.Account, Moment(s.Since))
	case s.Changed:
		return fmt.Sprintf("Resumed account %s (paused since %s)", s.Account, Moment(s.Since))
	default:
		return s.Account + " was not paused"
	}
}

func printSwitched(w io.Writer, all []Switch) (err error) {
	say := lines(w, &err)
	for i := range all {
		say("%s", all[i].Words())
	}
	return err
}

func switching(on bool) func(context.Context, Host, string, SwitchRequest) ([]Switch, error) {
	return func(ctx context.Context, h Host, account string, q SwitchRequest) ([]Switch, error) {
		names := []string{account}
		switch {
		case q.All && account != "":
			return nil, errors.New("--all and --account exclude each other")
		case q.All:
			s, err := h.Status(ctx)
			if err != nil {
				return nil, err
			}
			names = nil
			for i := range s.Accounts {
				names = append(names, s.Accounts[i].Account)
			}
		}
		out := []Switch{}
		var errs error
		for _, name := range names {
			s, err := switchOne(ctx, h, name, on)
			if errs = errors.Join(errs, err); err == nil {
				out = append(out, s)
			}
		}
		return out, errs
	}
}

func switchOne(ctx context.Context, h Host, account string, on bool) (s Switch, err error) {
	a, err := h.Account(ctx, account)
	if err != nil {
		return s, err
	}
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
