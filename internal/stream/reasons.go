// SPDX-License-Identifier: Apache-2.0

package stream

import "github.com/hinged/hinged/store"

// DecisionReasons returns what the reason of a decision in the decisions topic can be,
// beside none. The others are for mailboxes: what was there before, was read, or was
// handed over.
func DecisionReasons() []store.Reason {
	return []store.Reason{
		store.ReasonTooFewLabels, store.ReasonBand, store.ReasonShadow, store.ReasonRule, store.ReasonBudget,
		store.ReasonOwner, store.ReasonRefused, store.ReasonDuplicate, store.ReasonClaimed,
	}
}
