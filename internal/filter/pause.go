// SPDX-License-Identifier: Apache-2.0

package filter

// While an account is paused, off means off: nothing is decided, learnt or
// intended, and time brings nothing about. What a source had reported and was not
// yet applied is dropped, as at a crash; the positions stand where they were, so
// that it is all reported again after the pause. Only marks are taken back, if the
// owner asks for that.

// allowedInPause reports whether a paused account takes an event: only what its
// owner says of the account itself, and what becomes of marks to be taken back.
func allowedInPause(e Event) bool {
	switch e := e.(type) {
	case *Configured, *Primed, *Paused, *Resumed, *Restored:
		return true
	case *UndoRequested:
		return e.Alone
	case *Settled:
		return e.Cleared != nil
	default:
		return false
	}
}

// apply switches the account off. What had settled before is learnt first;
// what is still settling waits for the end of the pause.
func (e *Paused) apply(f *Filter, r *Result) error {
	if f.st.Account.Paused {
		return nil
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	f.st.Account.Paused, f.st.Account.PausedSince = true, f.st.Account.Clock
	return nil
}

// apply switches the account on again. What settled meanwhile is learnt
// by the next tick, as after a restart.
func (e *Resumed) apply(f *Filter, r *Result) error {
	a := &f.st.Account
	if !a.Paused {
		return nil
	}
	r.Changed = true
	a.Clock = max(a.Clock, e.At)
	a.Paused, a.PausedSince = false, 0
	return nil
}
