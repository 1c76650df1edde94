// SPDX-License-Identifier: Apache-2.0

// Package e2e holds the tests that drive the real binary against a real
// Dovecot, and other mail servers, kill it, starve it and compare what is left. It has
// no code of its own.
package e2e
