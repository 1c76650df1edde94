// SPDX-License-Identifier: Apache-2.0

package dashboard

import "github.com/hinged/hinged/internal/desk"

// stateWords says in plain words what became of a mark, from the name of its state in the
// ledger.
func stateWords(state string) string {
	switch state {
	case "intended":
		return "is on its way"
	case "confirmed":
		return "stands"
	case "refused":
		return "you took it off"
	case "abandoned":
		return "was not set"
	case "undoing":
		return "is being taken back"
	case "undone":
		return "was taken back"
	case "gone":
		return "you deleted or moved the copy"
	case "sending":
		return "is being put there"
	case "sent":
		return "was put there"
	case "unsent":
		return "could not be put there"
	}
	return state
}

// digestStates are those of an entry about a letter, which is no mark.
var digestStates = []string{"sending", "sent", "unsent"}

// markWords says what became of one entry of the ledger.
func markWords(e *desk.LedgerEntry) string {
	switch {
	case !e.Ours:
		return "you took a mark off that hinged had not set"
	case e.Copy != "" && e.State == "gone":
		return stateWords(e.State) + " in " + e.Copy
	case e.Copy != "":
		return "a copy in " + e.Copy + " " + stateWords(e.State)
	case e.State == "refused":
		return e.Keyword + ": " + stateWords(e.State)
	}
	return "the mark " + e.Keyword + " " + stateWords(e.State)
}

// standing reports whether a mark in a state can be taken back.
func standing(state string) bool { return state == "confirmed" || state == "intended" }
