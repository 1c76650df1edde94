// SPDX-License-Identifier: Apache-2.0

// Package daemon is the one place where everything meets: sources report what
// happens on the servers, the filter of each account decides and learns, the
// store makes it durable, and only then are marks requested and answers given.
//
// Each account has one writer goroutine, which alone owns its filter and state:
//
//	source ─emit─▶ featurize (all cores, in order) ─▶ writer ─▶ filter.Apply …
//	   ▲                                                 │ one commit for a batch
//	   └───────────────── mark requests ◀────────────────┘
//
// The queue between source and writer is bounded in messages and bytes: a disk
// or a filter that cannot keep up makes the source wait, not memory grow.
//
// Every goroutine has an owner that waits for it: Run waits for the accounts
// and the control socket, an account for its source, its pipeline and its
// writer.
package daemon
