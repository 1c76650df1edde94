// SPDX-License-Identifier: Apache-2.0

// Package filter is the state machine of one account: an event comes in, the state changes,
// decisions, lessons and marks come out. It is the only writer of its account's state.
//
// It leaves to package ledger whose a mark is and what becomes of it, and to package past what
// goes over the past: undo, forget, replay, other settings. It leaves to its caller where events
// come from, and when a Result is committed.
//
//	Event ─▶ Filter.Apply ─▶ Result, which is committed with the state's changed rows and the event
//	           │             before anything of it is done or shown
//	           ▼
//	Teacher    moves the clock, and learns what has settled (Waits)
//	Arrivals   a message: its features are frozen, it is decided (Learning, Line), its mark intended
//	Voice      what the owner says with flags and words; moves: by moving mail, and with letters
//	People     the history of senders and threads, from which features come
//	Messages   which messages are remembered, and which may be asked about
//	Status     how good the decisions are; Explainer: why a score is what it is
//
// What the owner says of a message goes through these states:
//
//	          ┌──────── said the contrary, or took it back within the settle window ───────┐
//	          ▼                                                                             │
//	no label ───── said ────▶ pending ──── stood for the settle window ────▶ learnt ────────┤
//	   │                                                                       ▲   │        │
//	   ├── silent for hours ──▶ provisional no, taken back by whatever is said ┘   │        │
//	   └── silent for days ───▶ final no ──────────────────────────────────────────┘        │
//	                                      taken back later: Pending.Back ─▶ past.Rewrite ────┘
//
// The one hard idea: state is a function of the events in their order and of nothing else. There
// is no clock here (time comes with the events), no randomness, no I/O beyond looking up a stored
// vector, and no order of a Go map in any result. So a replay of the journal gives the same state,
// bit for bit, and live, replay and evaluation are one piece of code.
//
// A Filter is not safe for concurrent use; one goroutine owns it.
package filter
