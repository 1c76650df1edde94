// SPDX-License-Identifier: Apache-2.0

//go:build race

package testkit

// underRace: this is a build with the race detector.
const underRace = true
