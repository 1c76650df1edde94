// SPDX-License-Identifier: Apache-2.0

// Package reason says in a few words why a message is important to its owner or not: the
// strongest of what a person understands, each true of the message.
//
// A reason stands for all parts of a score that are about one thing, such as the sender or
// the thread, and is given for the side that their sum is on. Flow: the parts of a score,
// taken apart by internal/filter, and the message's features → reasons for and against.
// It reads names only, so a message whose words are not kept has no reasons.
package reason
