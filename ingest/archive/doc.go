// SPDX-License-Identifier: Apache-2.0

// Package archive reads mail that lies in files: mbox (RFC 4155, in the dialects mboxrd,
// mboxo, mboxcl and mboxcl2; plain, gzip or zstd; also as Thunderbird, Apple Mail, Google
// Takeout, public-inbox, git and pipermail write it), Maildir, MH folders, Apple Mail's
// .emlx, folders of messages, single messages and standard input.
//
// It gives messages one after the other and holds one at a time, whatever the
// size of the archive. It decides nothing about them and never refuses one:
// what can't be read is an error of the file, with its name and offset, behind
// the messages that could be. Files of other programs that hold no message are refused
// when they are named, and passed over in folders.
//
// Data flow: paths → entries → steps in order → stream (decompressed) →
// splitter → Message.
//
// Limits: a folder's order is found from a list of its file names, so that memory grows
// with their number, and by date with that of all messages: some 64 bytes for each. By
// date, each file's header is read, and each mbox from beginning to end, before the first
// message; one that is not in order, or lies in time with others, is then read message by
// message where these lie, and a compressed one from a temporary file with its content. A
// compressed mbox that is damaged stays in its own order.
package archive
