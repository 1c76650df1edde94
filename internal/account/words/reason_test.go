// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
)

const owner = "owner@example.org"

// letter is a message of which is known what may be said of it.
type letter struct {
	raw      string
	to, cc   []string
	words    []string // of subject and text
	question bool
	links    int
	list     string
	reply    bool
	pdf      bool
	history  featurize.History
	from     filter.Correspondence
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func write(rng *rand.Rand) letter {
	var l letter
	var b strings.Builder
	vocabulary := []string{"invoice", "plumber", "birthday", "harbour", "roof", "sale", "meeting", "tea"}
	l.to = pick(rng, []string{owner}, []string{owner, "bob@example.com"}, []string{"all@example.com"}, nil)
	l.cc = pick(rng, nil, nil, []string{owner}, []string{"eve@example.com"})
	fmt.Fprintf(&b, "From: Ann <ann@example.org>\r\n")
	if l.to != nil {
		fmt.Fprintf(&b, "To: %s\r\n", strings.Join(l.to, ", "))
	}
	if l.cc != nil {
		fmt.Fprintf(&b, "Cc: %s\r\n", strings.Join(l.cc, ", "))
	}
	subject := pick(rng, vocabulary...)
	text := []string{pick(rng, vocabulary...), pick(rng, vocabulary...), pick(rng, vocabulary...)}
	l.words = append([]string{subject}, text...)
	if l.reply = rng.IntN(2) == 0; l.reply {
		fmt.Fprintf(&b, "In-Reply-To: <a@b>\r\nReferences: <a@b>\r\n")
		l.history.ParentKnown = true
		l.history.ParentOwn = rng.IntN(2) == 0
		l.history.ParentAnswered = !l.history.ParentOwn && rng.IntN(2) == 0
		if l.history.ParentOwn || rng.IntN(2) == 0 {
			l.history.ByOwner, l.history.Since = 1+uint32(rng.IntN(5)), uint32(rng.IntN(3))
		}
	}
	if rng.IntN(3) == 0 {
		l.list = "crew.example.org"
		fmt.Fprintf(&b, "List-Id: <%s>\r\nList-Unsubscribe: <mailto:off@example.org>\r\n", l.list)
	}
	if rng.IntN(3) > 0 {
		l.history.Received = uint32(rng.IntN(20))
		l.history.Answered = uint32(rng.IntN(int(l.history.Received) + 1))
	}
	l.from = filter.Correspondence{Received: l.history.Received + 1, Answered: l.history.Answered}
	if rng.IntN(2) == 0 {
		l.from.Kept, l.from.Left = uint32(rng.IntN(9)), uint32(rng.IntN(9))
	}
	l.pdf = rng.IntN(3) == 0
	fmt.Fprintf(&b, "Subject: %s\r\nMessage-ID: <x%d@y>\r\nMIME-Version: 1.0\r\n", subject, rng.Int())
	if l.pdf {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=bb\r\n\r\n--bb\r\nContent-Type: text/plain\r\n\r\n")
	} else {
		fmt.Fprintf(&b, "\r\n")
	}
	fmt.Fprintf(&b, "%s\r\n", strings.Join(text, " "))
	if l.question = rng.IntN(2) == 0; l.question {
		fmt.Fprintf(&b, "%s?\r\n", text[0])
	}
	for l.links = pick(rng, 0, 0, 1, 9); strings.Count(b.String(), "://") < l.links; {
		fmt.Fprintf(&b, "https://shop.example.com/x\r\n")
	}
	if l.pdf {
		fmt.Fprintf(&b, "--bb\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"a.pdf\"\r\n\r\nx\r\n--bb--\r\n")
	}
	l.raw = b.String()
	return l
}

// true reports whether what a reason says is true of l, by how l was written.
func (l *letter) says(text string, speaksFor bool) bool {
	recipients := len(l.to) + len(l.cc)
	c := l.from
	switch {
	case text == "only to you":
		return recipients == 1 && slices.Equal(l.to, []string{owner})
	case text == "to you, with copies to others":
		return slices.Equal(l.to, []string{owner}) && recipients > 1
	case text == "to you and others":
		return len(l.to) > 1 && slices.Contains(l.to, owner)
	case text == "with a copy to you":
		return slices.Contains(l.cc, owner) && !slices.Contains(l.to, owner)
	case text == "not addressed to you":
		return !slices.Contains(l.to, owner) && !slices.Contains(l.cc, owner)
	case text == "asks a question":
		return l.question
	case text == "through the mailing list crew.example.org":
		return l.list != ""
	case text == "answers you":
		return l.reply && l.history.ParentOwn
	case text == "answers what you answered, too":
		return l.reply && l.history.ParentAnswered
	case text == "you wrote in this thread":
		return l.history.ByOwner > 0
	case text == "starts a conversation":
		return !l.reply
	case text == "is a reply":
		return l.reply && l.history.ByOwner == 0
	case text == "the first message from ann@example.org":
		return l.history.Received == 0
	case text == "from ann@example.org":
		return true
	case strings.HasPrefix(text, "you read and kept "):
		return speaksFor && c.Answered == 0 && c.Kept > c.Left && strings.Contains(text, fmt.Sprintf(" %d messages", c.Kept+c.Left)) && (c.Left == 0 || strings.Contains(text, fmt.Sprintf("kept %d of ", c.Kept)))
	case strings.HasPrefix(text, "you left or threw away "):
		return !speaksFor && c.Left > c.Kept && strings.Contains(text, fmt.Sprintf(" %d messages", c.Kept+c.Left)) && (c.Kept == 0 || strings.Contains(text, fmt.Sprintf("away %d of ", c.Left)))
	case text == fmt.Sprintf("you answered none of %d from ann@example.org", c.Received):
		return !speaksFor && c.Answered == 0
	case text == fmt.Sprintf("you answered only %d of %d messages from ann@example.org", c.Answered, c.Received):
		return !speaksFor && 3*c.Answered < c.Received
	case text == fmt.Sprintf("you answered %d of %d messages from ann@example.org", c.Answered, c.Received):
		return speaksFor && c.Answered > 0
	case strings.HasSuffix(text, " links"), strings.HasSuffix(text, " link"), text == "a link to shop.example.com", strings.HasPrefix(text, "a link to "):
		return l.links > 0
	case strings.Contains(text, "attachment"):
		return l.pdf
	case text == "has a question mark":
		return l.question && l.links > 0
	}
	quoted := regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(text, -1)
	if !strings.HasPrefix(text, "the word") || len(quoted) == 0 {
		return false
	}
	for _, q := range quoted {
		for _, w := range strings.Fields(q[1]) {
			if !slices.Contains(l.words, w) && !strings.Contains(l.raw, w) {
				return false
			}
		}
	}
	return true
}

// TestReasonsAreTrueAndOnTheirSide: whatever was learnt, a reason is true of its message,
// what it stands for adds up to its amount, and that has the sign of its side. None is
// about what the message does not have.
func TestReasonsAreTrueAndOnTheirSide(t *testing.T) {
	reader := newTest(t)
	rng := rand.New(rand.NewPCG(7, 7))
	seen := map[string]int{}
	for range 4000 {
		l := write(rng)
		x := reader.Freeze(reader.Read([]byte(l.raw)), l.history)
		var parts []filter.Contribution
		for n := range x.All() {
			if w := rng.NormFloat64(); rng.IntN(3) > 0 {
				parts = append(parts, filter.Contribution{Index: n.Index, Group: n.Group, Name: n.Name, Value: n.Value, Weight: w, Amount: w * n.Value})
			}
		}
		slices.SortFunc(parts, func(a, b filter.Contribution) int {
			if math.Abs(a.Amount) > math.Abs(b.Amount) {
				return -1
			}
			return 1
		})
		why := ReasonsOf(x, parts, l.from, true)
		for _, side := range []struct {
			list []Reason
			sign float64
		}{{why.For, 1}, {why.Against, -1}} {
			if len(side.list) > mostReasons {
				t.Fatalf("%d reasons on one side", len(side.list))
			}
			last := math.Inf(1)
			for _, r := range side.list {
				sum := 0.0
				for _, i := range r.Parts {
					sum += parts[i].Amount
				}
				if math.Abs(sum-r.Amount) > 1e-12 || sum*side.sign <= 0 || math.Abs(sum) > last && !r.words {
					t.Fatalf("%q has %+.3f, its parts %+.3f, on the side of %+.0f", r.Text, r.Amount, sum, side.sign)
				}
				last = math.Abs(sum)
				if !l.says(r.Text, side.sign > 0) {
					t.Fatalf("%q is not true of\n%s\nhistory %+v, sender %+v", r.Text, l.raw, l.history, l.from)
				}
				if strings.HasPrefix(r.Text, "no ") || strings.Contains(r.Text, " no ") {
					t.Fatalf("%q is about what the message does not have", r.Text)
				}
				seen[regexp.MustCompile(`\d+|".*"`).ReplaceAllString(r.Text, "…")]++
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d kinds of reason were seen: %v", len(seen), seen)
	}
	t.Log(len(seen), "kinds of reason:", seen)
}

// reasonsOf are those for a message whose features weigh what weight says.
func reasonsOf(t *testing.T, raw string, h featurize.History, from filter.Correspondence, weight func(Facet) float64) Reasons {
	t.Helper()
	reader := newTest(t)
	x := reader.Freeze(reader.Read([]byte(raw)), h)
	var parts []filter.Contribution
	for n := range x.All() {
		if w := weight(FacetOf(n.Name)); w != 0 {
			parts = append(parts, filter.Contribution{Index: n.Index, Group: n.Group, Name: n.Name, Value: n.Value, Weight: w, Amount: w * n.Value})
		}
	}
	return ReasonsOf(x, parts, from, true)
}

// TestFactsOfListsAreReasonsOnListsOnly: a letter whose subject looks like that of a patch is
// no patch to the person who gets it.
func TestFactsOfListsAreReasonsOnListsOnly(t *testing.T) {
	patch := func(f Facet) float64 { return map[Facet]float64{FacetPatch: 5}[f] }
	for header, want := range map[string]bool{"": false, "List-Id: <dev.example.org>\r\n": true} {
		raw := fmt.Sprintf("From: Ann <ann@example.org>\r\nTo: %s\r\n%sIn-Reply-To: <a@b>\r\nSubject: Re: [PATCH] trousers\r\nMessage-ID: <p@x>\r\n\r\nMended.\r\n", owner, header)
		why := reasonsOf(t, raw, featurize.History{}, filter.Correspondence{}, patch)
		if got := strings.Contains(strings.Join(Texts(why.For), "; "), "patch"); got != want {
			t.Errorf("with the header %q the reasons are %q", header, Texts(why.For))
		}
	}
}

// TestWhatTheOwnerDidWithASenderIsSaid although other things weigh more.
func TestWhatTheOwnerDidWithASenderIsSaid(t *testing.T) {
	raw := fmt.Sprintf("From: Ann <ann@example.org>\r\nTo: %s\r\nSubject: harbour invoice\r\nMessage-ID: <p@x>\r\n\r\nMended?\r\n", owner)
	weight := func(f Facet) float64 {
		if f == FacetSender {
			return 0.01
		}
		return 5
	}
	why := reasonsOf(t, raw, featurize.History{Received: 6, Answered: 4}, filter.Correspondence{Received: 6, Answered: 4}, weight)
	if got := strings.Join(Texts(why.For), "; "); !strings.Contains(got, "you answered 4 of 6 messages from ann@example.org") {
		t.Errorf("the reasons are %q", got)
	}
}

// TestWhatIsNotThereIsNoReason: no decision shall hang on what a message has none of.
func TestWhatIsNotThereIsNoReason(t *testing.T) {
	f := newTest(t)
	x := f.Freeze(f.Read([]byte("From: ann@example.org\nTo: owner@example.org\nSubject: [PATCH] trousers\n\ndear partner\n")), featurize.History{})
	unspoken := Unspoken(x)
	for n := range x.All() {
		facet := FacetOf(n.Name)
		if want := facet == FacetAbsent || facet == FacetPatch; unspoken[n.Index] != want {
			t.Errorf("%q is unspoken %v, want %v", n.Name, unspoken[n.Index], want)
		}
	}
	if len(unspoken) < 5 {
		t.Errorf("only %d features are unspoken", len(unspoken))
	}
}
