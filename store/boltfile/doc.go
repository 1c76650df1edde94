// SPDX-License-Identifier: Apache-2.0

// Package boltfile keeps the states of accounts in a file, which is a bbolt database, so
// that after a crash at any moment each account is what its last commit left. It is
// the only package that knows the layout of this file.
//
// Data flow: the filter changes a store.State in memory → Commit writes what changed
// → after a restart Load gives the State back.
//
// # Why not one key per row
//
// A lesson touches some 300 weights out of a million, scattered at random. In a
// B+tree each of them rewrites a page of 4 KiB: over a megabyte for a few
// kilobytes of news. So the State lives in memory, and the file holds
//
//   - a checkpoint: the whole state at some commit, in sorted rows, cut into
//     chunks of at most 32 KiB;
//   - a redo log: one record per commit since, with the new values of the rows that
//     the commit changed and, of the weights, the learner's steps: which frozen vector
//     was added, times what. The result is exact to the bit;
//   - the journal (the inputs, in order), the lessons (the labels learnt, in
//     order), the features (the frozen vector of each message) and their names
//     (the words behind it, which only people need).
//
// Load reads the checkpoint and applies the redo log, with the vectors of its steps. Once
// that takes long, or after some thousands of commits, one transaction writes a new checkpoint and
// empties the redo log.
//
// The library below, bbolt, gives atomic transactions, but has no checksums on
// data. Every value here is therefore framed with a CRC32C over what it is, its
// key and its content, and a saved state's manifest counts its rows, so that what
// is missing is noticed too. A value is checked whenever it is read; Open reads a small file
// through, Verify any. Both also check what no checksum covers: keys, which pages are whose,
// that no number is missing, and whose bucket that of an account is. Damage ends the use of the file. Open moves a damaged file aside and says
// so, and never goes on with half of one.
//
// # Trimming the journal
//
// A replay must start from a state, so the journal can only be cut where a
// state is kept. The file keeps up to three saved states, each with the numbers it
// stands at; they share storage when they are the same one:
//
//	base ──── journal ────▶ next base ──── journal ────▶ checkpoint ── redo ──▶ now
//
// The base is the state before the oldest entry kept; at first it is the empty
// state, and the first checkpoint becomes the next base. When a checkpoint is made depends on
// commits, and nothing that an account does may. So the account itself says from which entry on
// something can be taken back (store.Account.Reach), which moves with its events. Once that is
// beyond the next base, the next base becomes the base, and the last checkpoint that will do so
// when it moves on again becomes the next base. What lies between the base and that entry is
// replayed when it is needed.
//
// What lies before a new base is invisible at once, and is deleted right after the checkpoint, in
// transactions of a bounded number of records. Journal entries and lessons go by number. The features of a message go
// if it arrived before the base and the base has no row for it: whatever comes
// later can teach only messages that have a row, or that arrive anew. So
// wherever a State has a message, its features can be read, in the live run and
// in every replay from the base alike.
//
// The names of features go earlier: each commit deletes those that are older than
// Batch.NamesFor on the account's clock, and all but the last Options.NamesCap, a
// bounded number at a time. Features that go take their names with them.
//
// # Taking back
//
// Rewrite is how something is taken out of what an account remembers. The state
// without it becomes checkpoint, base and next base at once, and the journal begins
// anew behind it: every entry and every state from before could tell of what was
// taken out. The lessons that stay are kept with what was learnt before them, so
// that the next Rewrite reaches back as far as this one did:
//
//	learner ──── lessons ────▶ base = next base = checkpoint ── redo ──▶ now
//
// When the base moves on for the first time after that, the learner is dropped and
// lessons and journal begin at one state again.
//
// # Copies
//
// Backup copies the file, out of one read transaction, and CopyAccount one account, which is a
// store, too; Compact writes the file anew and goes on with the new one. Replace puts a backup in
// the place of the store, AddAccount brings an account into it. An account that came in so is
// Restored until its first commit, since its mailbox may have moved on without it.
//
// Every new file is written under another name, checked, brought to the disk, and then gets its
// name (Place). What a process that was killed left of it, the next Open deletes.
//
// # Partitions
//
// A file may be that of a partition of a topic. Then all of its accounts are committed together
// with the offset up to which the partition was read, so that what was learnt and what was read
// are never apart. ReadPartition shows all of it to whoever writes it elsewhere. BeginTakeOver
// notes, for a partition that was elsewhere before, where each account comes from; TakeOver
// brings one in when it is wanted, while commits go on. Which files there are is none of the
// store's business: a Store is one file and knows no other.
package boltfile
