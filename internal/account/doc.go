// SPDX-License-Identifier: Apache-2.0

// Package account is the floor of one account's state machine. It has no clock, no randomness, no
// I/O and no map order: its state is a function of the events in their order.
//
//   - filter decides, learns, and keeps the threshold; read its doc.go first
//   - ledger knows each mark: whose it is, and what has become of it
//   - past takes back, forgets, and plays the journal again
//   - words says of decisions and features what a person can read
//   - prior is what a new account begins with
//
// It imports model, featurize, store and ingest. The floors above may import from here.
package account
