// SPDX-License-Identifier: Apache-2.0

package store

// Learner returns a copy of s as far as learning and deciding are concerned: the account
// row, what was learnt, and the windows of scores, with no message, sender or mark. It is
// to be worked on and never committed.
func (s *State) Learner() *State {
	out := NewState()
	out.Account, out.Weights = s.Account, s.Weights.Clone()
	s.Labelled.copyTo(out.Labelled)
	s.Recent.copyTo(out.Recent)
	s.Supports.copyTo(out.Supports)
	s.Coefficients.copyTo(out.Coefficients)
	s.Window.copyTo(out.Window)
	s.Prior.copyTo(out.Prior)
	out.at.Detached = true
	return out
}
