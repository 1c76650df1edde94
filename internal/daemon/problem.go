// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"

	"github.com/hinged/hinged/internal/desk"
)

func (a *account) stoppedError() error {
	return fmt.Errorf("account %s: %w: %s", a.opts.Name, desk.ErrStopped, a.currentProblem())
}

func (a *account) setProblem(err error) { s := err.Error(); a.problem.Store(&s) }
func (a *account) clearProblem()        { a.problem.Store(nil) }
func (a *account) currentProblem() string {
	if p := a.problem.Load(); p != nil {
		return *p
	}
	return ""
}
