// SPDX-License-Identifier: Apache-2.0

// Package setup is what happens before the daemon runs: it finds the owner's
// mail server and looks at what it can do and what is in the mailbox (hinged
// init), and tests that a configuration works (hinged check).
//
// Data flow: what the owner said → server → Found → configuration file;
// configuration → Findings.
//
// It writes nothing to a mailbox, but for the one keyword on one message that
// Check sets and takes off again. Secrets are in none of its results and errors.
package setup
