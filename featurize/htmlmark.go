// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markOf says what the tag, id, class and style of an element tell of the text in it: that
// somebody else wrote it, or that it is a signature. following: of the text behind it, too,
// to the end of the document.
func markOf(n *html.Node) (mark lineMark, following bool) {
	if n.DataAtom == atom.Blockquote {
		return markQuoted, false
	}
	return markNone, false
}
