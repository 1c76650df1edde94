// SPDX-License-Identifier: Apache-2.0

// Package whatif replays what an account's store keeps of its past with other settings,
// beside today's, and says what would have been different:
//
//	Base (saved state) + journal ─▶ past.Rerun ─▶ a record for each decision ─▶ Run
//
// Nothing of the live account is touched: all it does is read committed data, in short
// transactions of their own. The filter decides and learns by the same code as live; what
// exactly is the same as live, and what is not, is said at past.Rerun and in
// docs/whatif.md.
package whatif
