// SPDX-License-Identifier: Apache-2.0

// Package project holds the tests of hinged as a whole, those that no single
// package can make: who imports whom, that nothing which makes state reads a
// clock, that long files say why, that every build on every processor arrives
// at the same state, and that the released program needs nothing but itself.
//
// There is no code in it for others to use.
package project
