// SPDX-License-Identifier: Apache-2.0

// Package packed holds the two forms in which the frozen vector of a message is kept:
// plain, which stands by itself, and dense, which needs the vocabulary of its account.
//
// Data flow: features → Pack → plain form; plain forms → Builder → Vocabulary, with which
// Condense makes a plain form dense and Expand gives the same bytes back. Reader reads
// either.
//
// In plain form a feature takes its hash, some 4 bytes. The mail of an account mostly
// consists of features that were in its mail before, so that a number in a list of them
// is enough: about one byte.
//
// Features with their names have a form without compression, too (DecompressNames), so that
// those of several messages can be compressed together.
//
// The package knows nothing about mail, words or files, and keeps nothing.
package packed
