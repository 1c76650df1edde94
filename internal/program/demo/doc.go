// SPDX-License-Identifier: Apache-2.0

// Package demo shows the whole of hinged at work on one machine: a mail server
// on loopback, a made-up owner with a made-up mailbox, and the daemon itself.
//
// Nothing about the daemon is staged. It is built from a configuration file, it
// sees the mailbox over IMAP only, and what the demo says of its decisions comes
// from the answers that every other verb gets. Made up are the mail ([NewPlan])
// and the owner's patience, who acts in seconds where a person takes hours.
//
// Data flow: Plan → postman → IMAP server → daemon → marks → owner → IMAP server
// → daemon; beside it desk asks the daemon and shows.
//
// Known limits: the embedded server keeps no MODSEQ, since its library knows
// none, so the daemon compares flags as it does with any server without
// CONDSTORE.
package demo
