// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"

	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
)

// answerer is a *control.At or a host.
type answerer interface{ Close() error }

func do[Q, A any](ctx context.Context, at answerer, v desk.Verb[Q, A], account string, q Q) (A, error) {
	if at, ok := at.(*control.At); ok {
		return control.Ask(ctx, at, v, account, q)
	}
	return v.Do(ctx, at.(desk.Host), account, q)
}

// digestsOf returns the digests of all accounts.
func digestsOf(ctx context.Context, b answerer) ([]desk.Digest, error) {
	v, err := do(ctx, b, desk.Verify, "", desk.VerifyRequest{})
	return v.Digests(), err
}
