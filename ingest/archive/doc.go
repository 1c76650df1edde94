// SPDX-License-Identifier: Apache-2.0

// Package archive reads mail that lies in files: mbox (RFC 4155, in the mboxrd
// or mboxo dialect; plain, gzip or zstd), Maildir, folders of messages, single
// messages and standard input.
//
// It gives messages one after the other and holds one at a time, whatever the
// size of the archive. It decides nothing about them and never refuses one:
// what can't be read is an error of the file, with its name and offset, behind
// the messages that could be.
//
// Data flow: paths → entries in order → stream (decompressed, read ahead) →
// splitter → Message.
//
// Limits: a folder's order is found from a list of its file names, so that
// memory grows with their number; with ByDate, so does the time before the
// first message, since each file's header is read for its date.
package archive
