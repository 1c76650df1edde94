// SPDX-License-Identifier: Apache-2.0

// Package past goes over what an account has learnt and decided: it takes lessons back (an undo,
// a word of the owner's taken back, something forgotten), replays a journal, and tries other
// settings on it.
//
// It leaves to package filter what an event does, to the store what is kept and for how long, and
// to its callers when to commit. How far back something reaches is a row of the state
// (Account.Reach), never the store's business.
//
// The one hard idea: a lesson can't be subtracted, since each later step was taken at weights that
// had it. So taking back is learning all else once more, from the state at Reach, beside the
// account; only when that has succeeded is the account changed, at once:
//
//	Rewrite:  plan ──▶ which lessons go ──▶ reach? ──▶ relearn beside ──▶ finish ──▶ store.Rewrite
//	            │                             │             │
//	            └─ nothing: unchanged         └─ TooEarlyError, error: unchanged
//
//	Rerun:    journal entry ──▶ Filter, as it was recorded ──▶ decided, learnt ──▶ each Trial
//
// A replay and the recorded run of a Rerun are the live one once more: the state at the end has
// the digest of the live state. A Trial follows the same filter with a Learning of its own: it
// hears each decision and each lesson at its turn, and decides and learns by the code that does
// so live.
//
// Nothing here has a clock, randomness or the order of a Go map in a result.
package past
