// SPDX-License-Identifier: Apache-2.0

package featurize

import "fmt"

// Group is a field group. The features of one group share a set part of the
// vector's norm, so that a long body does not drown the sender.
type Group uint8

// The groups.
const (
	Misc    Group = iota // header names and words, structure, quoted text, signatures
	Social               // who wrote to whom, where in the thread, and what is remembered of them
	Subject              // the subject, and the paths that a patch touches
	Body                 // the writer's own text, its opening once more, and patches
	groups

	// Constant is the group of the affine coordinate in a listing of features.
	Constant = groups
)

func (g Group) String() string {
	switch g {
	case Misc:
		return "misc"
	case Social:
		return "social"
	case Subject:
		return "subject"
	case Body:
		return "body"
	case Constant:
		return "constant"
	default:
		return fmt.Sprintf("group(%d)", uint8(g))
	}
}
