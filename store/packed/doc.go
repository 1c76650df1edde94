// SPDX-License-Identifier: Apache-2.0

// Package packed writes the frozen vector of a message in few bytes: by itself, or with the
// vocabulary of its account.
//
// Data flow: Vector → Append → bytes → Read or AppendVector; vectors → Builder → Vocabulary.
//
// By itself a feature takes its hash, some 4 bytes. The mail of an account mostly consists of
// features that were in its mail before, so that a number in a list of them is enough: about one
// byte.
//
// The package knows nothing about mail, words or files, and keeps nothing.
package packed
