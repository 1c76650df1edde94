// SPDX-License-Identifier: Apache-2.0

// Package snapshot cuts the accounts of a partition of a topic into chunks that are
// named by their content, and brings them into another store.
//
// Data flow: Dump reads a partition out of a store → chunks and a Manifest, which the
// caller writes somewhere → BeginRestore notes in another store where each account
// comes from → RestoreState and RestoreLogs bring it in when it is wanted,
//
//	state    checkpoint, redo, the vectors it needs  before the next decision
//	logs     bases, journal, lessons, features, names  before they are read
//
// while commits go on. A log is cut into blocks at round numbers, so that what
// was dumped once is not put again when the log grows at its end or loses its
// beginning; an account without a commit since the dump before is not read.
//
// It leaves to others where chunks and manifests are kept, and when to make them.
package snapshot
