// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
)

// GetDigests gives the digests of all accounts.
var GetDigests = offer(Verb[None, []Digest]{Name: "digests", Slow: true, do: getDigests})

func getDigests(ctx context.Context, h Host, _ string, _ None) ([]Digest, error) {
	out := []Digest{}
	err := h.Each(ctx, func(d *Desk) error {
		out = append(out, digestOf(d.Account, d.Filter))
		return nil
	})
	return out, err
}

// Digest is what `hinged verify` prints for one account.
type Digest struct {
	Account string `json:"account"` // name of the account
	Model   string `json:"model"`   // digest of the weights, in hexadecimal
	State   string `json:"state"`   // digest of the whole state, in hexadecimal
	// InSnapshot reports whether the account's state is still in the snapshot from which
	// its partition was taken over. The digests are empty then.
	InSnapshot bool `json:"in_snapshot,omitempty"`
}

// StillInSnapshot says what that means and what ends it.
const StillInSnapshot = "still in the snapshot from which its partition was taken over; `hinged run` loads it"

func digestOf(account string, f *filter.Filter) Digest {
	d := Digest{Account: account, InSnapshot: f == nil}
	if f != nil {
		d.Model, d.State = store.Digest(f.State())
	}
	return d
}
