// SPDX-License-Identifier: Apache-2.0

// Package snapshot cuts the accounts of a partition of a topic into chunks that are
// named by their content, and brings them into another file.
//
// Data flow: Dump reads the file of a partition → chunks and a Manifest, which the caller
// writes somewhere → Begin notes in an empty file where each account comes from → Restore
// brings one in, as it lay in the file that was dumped, when it is wanted.
//
// A chunk ends where its content says so. What was dumped once is therefore not put again when
// a log grows at its end or loses its beginning, and an account without a commit since the dump
// before is not read.
//
// It leaves to others where chunks and manifests are kept, and when to make them.
package snapshot
