// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/internal/words"
)

// partKinds are what parts without a line of their own are summed up as, by what they are
// about; one and many of them.
var partKinds = [...]struct {
	about     []string
	one, many string
}{
	{[]string{"text"}, "word of the text", "words of the text"},
	{[]string{"subject"}, "word of the subject", "words of the subject"},
	{[]string{"sender"}, "fact about the sender", "facts about the sender"},
	{[]string{"thread", "addressed", "question", "list"}, "fact about the thread and whom it went to", "facts about the thread and whom it went to"},
	{[]string{"quoted"}, "word quoted or of the signature", "words quoted or of the signature"},
	{[]string{"attachment", "links", "patch", "form", "constant"}, "fact about its form", "facts about its form"},
	{[]string{string(words.FacetAbsent)}, "thing that it has none of", "things that it has none of"},
	{nil, "other part", "other parts"},
}

// Kinds is how many kinds of parts there are; see Kind.
const Kinds = len(partKinds)

// Kind is which of the Kinds a part belongs to, from 0. Parts of one kind may be summed
// up; KindText names them.
func (p *Part) Kind() int {
	if p.Text != "" && !strings.HasPrefix(p.Text, WordsNotKept) {
		for k, kind := range partKinds {
			if slices.Contains(kind.about, p.About) {
				return k
			}
		}
	}
	return len(partKinds) - 1
}

// Absent reports whether a part says that the message has none of something, or is about its
// form. Nobody looks for that, so it needs no line of its own.
func (p *Part) Absent() bool {
	return p.About == string(words.FacetAbsent) || p.About == string(words.FacetForm)
}

// KindText says how many parts of a kind there are: 24 facts about the sender.
func KindText(kind, n int) string {
	if n == 1 {
		return "1 " + partKinds[kind].one
	}
	return fmt.Sprintf("%d %s", n, partKinds[kind].many)
}
