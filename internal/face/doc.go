// SPDX-License-Identifier: Apache-2.0

// Package face is the floor where people and programs ask, and are answered.
//
//   - desk has a file for each verb: request, answer, help, and what it does
//   - control brings verbs over the socket and the HTTP API; cli has what command lines share
//   - dashboard, metrics, notify and letter show and tell; naming finds the message that is meant
//
// It imports the floors below. Who answers, the daemon or a store without one, is behind desk's
// interfaces: nothing here knows the daemon.
package face
