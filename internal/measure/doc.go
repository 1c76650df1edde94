// SPDX-License-Identifier: Apache-2.0

// Package measure is the floor of figures: how good decisions are, and how good they could be.
//
//   - evaluate plays archives of mail and counts mistakes
//   - whatif plays the past of an account again, under other settings
//   - ceiling proves how many mistakes an account can have made at most
//
// It imports the account's floor, and run for the journal. What is measured here changes nothing.
package measure
