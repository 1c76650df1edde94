// SPDX-License-Identifier: Apache-2.0

// Package dovecot runs a real Dovecot for a while: on loopback, with a few users
// and a password made for it, in a directory that goes away with it. Tests use
// it through internal/testkit.
//
// It needs the dovecot program, 2.3, and neither root nor any set-up.
package dovecot
