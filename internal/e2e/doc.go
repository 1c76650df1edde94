// Package e2e holds the tests that drive the real binary against a real
// Dovecot, kill it, starve it and compare what is left. It has no code of its
// own.
package e2e
