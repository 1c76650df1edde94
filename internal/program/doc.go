// SPDX-License-Identifier: Apache-2.0

// Package program is the top floor: what is started. Each folder puts the floors below together
// for one purpose.
//
//   - daemon runs accounts and answers the desk
//   - bootstrap learns from the mail that an account has
//   - setup finds a server, and writes and checks a configuration
//   - demo shows all of it on a mailbox of its own
//
// Only cmd imports from here.
package program
