// SPDX-License-Identifier: Apache-2.0

// Package lab reads what the laboratory verbs work on: labelled vectors in
// svmlight's form, and linear inequalities as people write them. It knows nothing
// of mail.
//
// Every reader is strict: what it does not understand is an error that names the
// line, never skipped. Values are kept as they are: nothing is lifted or
// normalised here.
package lab
