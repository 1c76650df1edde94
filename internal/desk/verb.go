// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"io"
	"net/http"
)

// Verb is one thing that can be asked. It is the only definition of it: server,
// client and command line are made from it.
type Verb[Q, A any] struct {
	Name   string // the last part of its path on the socket
	Method string // GET if it changes nothing and its request is None, else POST

	do func(ctx context.Context, h Host, account string, q Q) (A, error)
}

// Do carries the verb out. account is "" for the only one, and for verbs that are
// about all accounts.
func (v Verb[Q, A]) Do(ctx context.Context, h Host, account string, q Q) (A, error) {
	return v.do(ctx, h, account, q)
}

// None is the request of a verb that asks for nothing in particular.
type None struct{}

// Raw is a request that crosses the socket as the bytes that it is, not as JSON.
type Raw interface{ Raw() *[]byte }

// Copy is a verb that answers with a file.
type Copy struct {
	Name string // as in Verb; the method is GET

	do func(ctx context.Context, h Host, account string, w io.Writer) error
}

// Do writes the file to w. What was written before an error is of no use.
func (c Copy) Do(ctx context.Context, h Host, account string, w io.Writer) error {
	return c.do(ctx, h, account, w)
}

// looking is a verb that changes nothing and asks for nothing in particular.
func looking[A any](name string, do func(context.Context, Host) (A, error)) Verb[None, A] {
	return Verb[None, A]{name, http.MethodGet, func(ctx context.Context, h Host, _ string, _ None) (A, error) { return do(ctx, h) }}
}

// ofAccount is a verb about one account.
func ofAccount[Q, A any](name, method string, do func(context.Context, Account, Q) (A, error)) Verb[Q, A] {
	return Verb[Q, A]{name, method, func(ctx context.Context, h Host, account string, q Q) (out A, err error) {
		a, err := h.Account(ctx, account)
		if err != nil {
			return out, err
		}
		return do(ctx, a, q)
	}}
}

// see is a verb that only looks at one account, at nothing but the Desk.
func see[Q, A any](name string, do func(*Desk, Q) (A, error)) Verb[Q, A] {
	return ofAccount(name, http.MethodPost, func(ctx context.Context, a Account, q Q) (out A, err error) {
		err = a.Look(ctx, func(d *Desk) error { out, err = do(d, q); return err })
		return out, err
	})
}
