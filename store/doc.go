// SPDX-License-Identifier: Apache-2.0

// Package store has the state of an account: rows in tables, weights, the numbers
// that its logs have reached, and the digests of all that. It links no database.
//
// Data flow: the filter changes a State in memory → package boltfile commits what
// changed (Changes) → after a restart it gives the State back (Apply).
//
// The packages below it keep states:
//
//	boltfile  the file, a bbolt database: commits, logs, checkpoints, verification
//	snapshot  the accounts of a partition of a topic as chunks, and their take-over
//	copies    backups of the file and exports of one account
//
// # What it leaves to others
//
// What the journal's entries and the features contain; when to commit; the caps
// on the tables of a State.
package store
