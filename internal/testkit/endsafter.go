// SPDX-License-Identifier: Apache-2.0

package testkit

import "context"

// EndsAfter is a context that ends after it was asked Asks times whether it has, so that a
// test can interrupt a task at each place where the task looks. Not safe for concurrent use.
type EndsAfter struct {
	context.Context
	Asks int
}

// Err implements context.Context.
func (c *EndsAfter) Err() error {
	if c.Asks--; c.Asks < 0 {
		return context.Canceled
	}
	return nil
}
