// SPDX-License-Identifier: Apache-2.0

// Package ledger keeps account of one account's marks: which were set, are to be set or to be
// taken back, which messages must never be marked again, and whose a mark is that is seen on a
// message. It alone writes the tables Ledger, Refusals and Places of the state, and the
// account's numbers that count marks.
//
// It leaves to its caller, package filter, which messages are marked, what the owner says with
// a change of flags, and when time goes on. It leaves to the source how a mark is set: it hands
// over requests (Requests), and hears of each attempt (Settle).
//
// The one hard idea: at no moment may a mark of ours be taken for the owner's word, or the other
// way round, whatever crashes in between. So each step of a mark is committed before the next
// begins:
//
//	            ┌─ conflict ─┐
//	            ▼            │
//	enter ─▶ intended ───────┴─▶ confirmed ──▶ refused    the owner took it off: never set again
//	            │                  │    ▲
//	            │ can't be set,    │    │ a mark that turns up, or can't be taken back
//	            │ or the owner     ▼    │
//	            │ was first      undoing ───▶ undone      we took it back
//	            ▼                  ▲
//	        abandoned              └── TakeBack: the owner asked for it
//
// After a crash between intent and confirmation the source is asked again: a mark that is there
// is ours. One that is absent is set if nobody has changed the message since; else the owner may
// have taken it off, and it is never set again.
//
// A copy in another mailbox (copies.go) and a letter (refusals.go) have entries, too.
//
// Read entries.go first, then mark.go, whose.go, undo.go. A Ledger is not safe for concurrent use.
package ledger
