// SPDX-License-Identifier: Apache-2.0

package testkit

import "golang.org/x/text/width"

// Columns returns how many columns of a terminal a line takes, character by character: two
// for each that is wide in East Asia (UAX 11). It is the slow twin of what the program
// measures with.
func Columns(line string) (columns int) {
	for _, r := range line {
		columns++
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			columns++
		}
	}
	return columns
}
