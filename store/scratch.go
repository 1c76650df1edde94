// SPDX-License-Identifier: Apache-2.0

package store

// Scratch returns a copy of what learning and deciding need: the account row, what was
// learnt, and the windows of scores, without messages, senders and marks. It is for work
// that is never committed.
func (s *State) Scratch() *State {
	out := NewState()
	out.Account, out.Weights = s.Account, s.Weights.Clone()
	s.Labelled.copyTo(out.Labelled)
	s.Recent.copyTo(out.Recent)
	s.Supports.copyTo(out.Supports)
	s.Window.copyTo(out.Window)
	s.Prior.copyTo(out.Prior)
	out.at.Detached = true
	return out
}
