// SPDX-License-Identifier: Apache-2.0

package featurize

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
	return [...]string{"misc", "social", "subject", "body", "constant"}[g]
}
