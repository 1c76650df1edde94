// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"

	"github.com/hinged/hinged/internal/measure/whatif"
)

// WhatIfQuery names a run of an account.
type WhatIfQuery struct {
	ID string `json:"id,omitempty"` // as StartWhatIf gave it; "": the last one
}

// StartWhatIf begins to replay what is kept of an account's past with other settings, and
// returns at once. GetWhatIf then tells how far it is.
var StartWhatIf = offer(Verb[whatif.Settings, whatif.Run]{Name: "whatif", do: func(ctx context.Context, h Host, account string, q whatif.Settings) (run whatif.Run, err error) {
	a, err := h.Account(ctx, account)
	if err != nil {
		return run, err
	}
	var now whatif.Account
	err = a.Look(ctx, func(d *Desk) error {
		now = whatif.Of(d.Past.Store, d.Past.Account, d.Filter)
		return nil
	})
	if err != nil {
		return run, err
	}
	return h.WhatIfs().Start(now, q)
}})

// GetWhatIf returns how far a what-if is, with the figures so far, or what came of it.
var GetWhatIf = offer(Verb[WhatIfQuery, whatif.Run]{Name: "whatif-run", do: func(ctx context.Context, h Host, account string, q WhatIfQuery) (run whatif.Run, err error) {
	if _, err := h.Account(ctx, account); err != nil {
		return run, err
	}
	return h.WhatIfs().Get(account, q.ID)
}})

// StopWhatIf ends a what-if. One that has ended stays as it is.
var StopWhatIf = offer(Verb[WhatIfQuery, whatif.Run]{Name: "whatif-stop", do: func(ctx context.Context, h Host, account string, q WhatIfQuery) (run whatif.Run, err error) {
	if _, err := h.Account(ctx, account); err != nil {
		return run, err
	}
	return h.WhatIfs().Stop(ctx, account, q.ID)
}})
