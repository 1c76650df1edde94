// SPDX-License-Identifier: Apache-2.0

// Package featurize turns the raw bytes of one message into a sparse vector and
// the words behind it. It reads nothing but those bytes and what the caller
// remembers (History); it does no I/O and looks at no clock.
//
// Data flow, one message from left to right:
//
//	raw → pre-pass (fields, body) → parts (MIME, charsets) → text (HTML, lines)
//	    → words → features of four groups → Freeze(History) → Features
//
// A feature is a string with a field prefix ("subject:flash", "from:a@b.org"),
// named by its 64-bit xxHash. Nothing is ever dropped: whatever can be read of a
// broken, hostile or empty message gives a vector, within the limits that
// Options states; what was wrong is listed in Message.Defects.
//
// Known limits: word breaks are those of Unicode 8.0 (blevesearch/segment);
// encrypted bodies and text inside documents and pictures are not read.
package featurize
