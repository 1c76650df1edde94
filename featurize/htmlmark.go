// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// webPrefix is what web mail puts before ids and classes of mail that it shows.
var webPrefix = regexp.MustCompile(`^(x_|ecx|m_-?\d+|yiv\d+|ydp[0-9a-f]{7,8})+`)

// markOf says what the tag, id, class, name and style of an element tell of the text in it: that
// somebody else wrote it, or that it is a signature. following: of the text behind it, too,
// to the end of the document. A gmail_quote by itself says nothing: people answer within.
func markOf(n *html.Node) (mark lineMark, following bool) {
	quote := n.DataAtom == atom.Blockquote
	for _, a := range n.Attr {
		switch a.Key {
		case "id", "class", "name", "data-marker":
			for name := range strings.FieldsSeq(a.Val) {
				if name = strings.ToLower(name[:min(len(name), 80)]); strings.IndexByte("xemy", name[0]) >= 0 {
					name = webPrefix.ReplaceAllLiteralString(name, "")
				}
				switch following = slices.Contains(quoteLists["following"], name); {
				case following, slices.Contains(quoteLists["quote"], name), name == "quote" && a.Key == "name":
					return markQuoted, following
				case strings.Contains(name, "signature") && !strings.Contains(name, "signatures"), name == "__sig_pre__":
					mark = markSignature
				}
			}
		case "style": // Gmail and newsletters indent with a blockquote that has no border
			quote = quote && !strings.Contains(strings.ReplaceAll(a.Val, " ", ""), "border:none")
		}
	}
	if quote {
		return markQuoted, false
	}
	return mark, false
}
