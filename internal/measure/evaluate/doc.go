// SPDX-License-Identifier: Apache-2.0

// Package evaluate plays archives through the filter and judges what it
// decided, progressively: decide, judge the decision, then learn the label, then
// the next message. So every figure is about messages that nothing had been
// learnt of.
//
// The player feeds the same events to the same filter as the daemon does; what
// it adds is where the labels come from (the owner's replies, two folders, a
// file, or the flags in the archive) and the figures.
//
// Data flow: archives by date → featurize, on all cores → filter, in
// order → judged examples → Result.
//
// It opens no network connection and writes nothing but temporary files of package archive.
package evaluate
