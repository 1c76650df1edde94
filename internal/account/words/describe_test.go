// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
)

// newTest reads the mail of owner@example.org, who believes servers if any are named.
func newTest(t *testing.T, servers ...string) *featurize.Featurizer {
	t.Helper()
	o := featurize.DefaultOptions()
	o.Owner, o.AuthServID = []string{owner}, strings.Join(servers, "")
	f, err := featurize.New(o)
	testkit.OK(t, err)
	return f
}

func TestFeaturesAreDescribedInPlainWords(t *testing.T) {
	for name, want := range map[string]string{
		"constant":                        "what every message starts with",
		"subject:invoice":                 `"invoice" in the subject`,
		"subject:invoice overdue":         `"invoice overdue" in the subject`,
		"opening:hello":                   `"hello" among the first words`,
		"body:a:b":                        `"a:b" in the text`,
		"from:ann@example.org":            "from ann@example.org",
		"from:@example.org":               "from someone at example.org",
		"from:nobody | start":             "from nobody by name, starting a thread",
		"from:ann@example.org | to alone": "from ann@example.org, to you alone",
		"from:ann@example.org | patch reply | elsewhere": "from ann@example.org, an answer to a patch, not addressed to you",
		"from:ann@example.org | depth 4+":                "from ann@example.org, after 4 to 7 earlier messages",
		"to:owner":                                       "to you",
		"to: | start":                                    "to nobody by name, starting a thread",
		"cc:owner":                                       "copy to you",
		"list:kernel.example.org":                        "through the mailing list kernel.example.org",
		"header:precedence=bulk":                         `header precedence is "bulk"`,
		"header:x-note=a | to alone":                     `header x-note is "a | to alone"`,
		"attachment:.a | to alone":                       `has an attachment of type "a | to alone"`,
		"header:x-spam":                                  "has a header x-spam",
		"trailer:acked-by owner":                         `line "acked-by" with you`,
		"place:start":                                    "starts a thread",
		"place:reply | cc":                               "is a reply, with a copy to you",
		"depth:0":                                        "refers to no earlier messages",
		"depth:1 | to":                                   "refers to 1 earlier message, to you and others",
		"shape:questions 1 | to alone":                   "1 question mark, to you alone",
		"shape:own words 32+ | to | reply":               "32 to 63 words of its own at its start, to you and others, a reply",
		"shape:own lines 2 | quoted 0":                   "2 lines of its own, with no quoted lines",
		"path:mm/slab.c | patch":                         "touches mm/slab.c, a patch",
		"patch version 3":                                "version 3 of a patch",
		"history:sender answered 70% or more":            "you answered at least 7 in 10 messages of this sender",
		"history:sender answered new | to alone":         "the first message of this sender, to you alone",
		"history:thread by owner 0 | under 40%":          "you wrote no messages in this thread, you answered at least 3 in 10 messages of this sender",
		"history:answers the owner":                      "answers a message of yours",
		// What no message has.
		"nonsense":         `"nonsense"`,
		"shape:nonsense":   `"shape:nonsense"`,
		"other:things":     `"other:things"`,
		"body:":            `"body:"`,
		"":                 `""`,
		"body:\x1b[31mred": `" [31mred" in the text`,
		"name:\u202eevil":  `"evil" in the sender's name`,
		// What nobody vouches for.
		"name@example.net:boss":                      `"boss" in the name of a sender at example.net`,
		"from?:ann@example.org | to":                 "not vouched for: from ann@example.org, to you and others",
		"history?:correspondent":                     "of a sender not vouched for: you have written to this sender",
		"invitation?:organiser ines@harbour.example": "not vouched for: its calendar entry says organiser ines@harbour.example",
		"kind:a person | with pdf":                   "written by a person, as it seems, with a PDF file",
		"body?:hello":                                `"body?:hello"`,
	} {
		if got := Describe(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// An address in quotes may have in it what separates the facts of a feature.
func TestAnAddressDoesNotPassForAnother(t *testing.T) {
	for _, local := range []string{`"boss@bank.example | to alone | patch"`, `"boss@bank.example | | to alone"`, `"boss@bank.example |  | to alone"`} {
		for _, field := range []string{"From: %", "From: Boss <%>", "From: a@b; %", "Sender: %", "Reply-To: %", "To: %", "Cc: %"} {
			f := newTest(t)
			x := f.Freeze(f.Read([]byte(strings.ReplaceAll(field, "%", local+"@evil.example")+"\nSubject: x\n\nhi\n")), featurize.History{})
			for n := range x.All() {
				if strings.Contains(Describe(n.Name), "boss@bank.example, ") {
					t.Errorf("%s: %s: %s", field, n.Name, Describe(n.Name))
				}
			}
			if g := GistOf(x); strings.HasPrefix(field, "From: ") != (g.From != "") {
				t.Errorf("%s: the gist has From %q", field, g.From)
			}
		}
	}
}

// everyHistory are facts that between them give every feature of a history.
func everyHistory() []featurize.History {
	var all []featurize.History
	for _, answered := range []uint32{0, 1, 2, 3, 5, 7, 9, 12, 15, 20, 30, 50, 90, 100} {
		for _, received := range []uint32{0, 3, 100} {
			if answered <= received {
				all = append(all, featurize.History{Received: received, Answered: answered})
			}
		}
	}
	return append(all, featurize.History{ByOwner: 1, Since: 9}, featurize.History{ByOwner: 40},
		featurize.History{ParentKnown: true}, featurize.History{ParentKnown: true, ParentOwn: true},
		featurize.History{ParentKnown: true, ParentAnswered: true}, featurize.History{ParentKnown: true, ParentSender: true})
}

func TestEveryFeatureOfTheGoldenMessagesIsDescribed(t *testing.T) {
	files, err := filepath.Glob("../../../featurize/testdata/*.eml")
	if err != nil || len(files) < 5 {
		t.Fatalf("messages in testdata: got %v (%v), want 5 or more", files, err)
	}
	prefixes := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		testkit.OK(t, err)
		f := newTest(t)
		m := f.Read(raw)
		for _, h := range everyHistory() {
			for n := range f.Freeze(m, h).All() {
				got := Describe(n.Name)
				prefix, _, _ := strings.Cut(n.Name, ":")
				prefixes[prefix] = true
				if got == "" || got == quote(n.Name) || strings.Contains(got, " | ") || !utf8.ValidString(got) {
					t.Errorf("%q is described as %q", n.Name, got)
				}
			}
		}
	}
	if len(prefixes) < 25 {
		t.Errorf("the golden messages have features of %d kinds only; the test means little", len(prefixes))
	}
}

// historyOf returns what stands behind a prefix in the feature that a history gives.
func historyOf(t *testing.T, f *featurize.Featurizer, h featurize.History, prefix string) string {
	t.Helper()
	for n := range f.Freeze(f.Read(nil), h).All() {
		if bin, is := strings.CutPrefix(n.Name, prefix); is && !strings.Contains(bin, " | ") {
			return bin
		}
	}
	t.Fatalf("%+v gives no %q", h, prefix)
	return ""
}

// TestClaimsOfAnsweringAreTrue: whatever the counts, what is said of the bin that
// they fall into holds.
func TestClaimsOfAnsweringAreTrue(t *testing.T) {
	least := map[string]float64{
		"under 6%": 0.03, "under 10%": 0.06, "under 15%": 0.1, "under 20%": 0.15, "under 30%": 0.2,
		"under 40%": 0.3, "under 50%": 0.4, "under 70%": 0.5, "70% or more": 0.7,
	}
	f, met := newTest(t), map[string]bool{}
	for received := range uint32(150) {
		for n := uint32(0); n <= received; n++ {
			bin := historyOf(t, f, featurize.History{Answered: n, Received: received}, "history:sender answered ")
			met[bin] = true
			if find(bin, answered) == "" {
				t.Fatalf("no words for %q", bin)
			}
			if float64(n) < least[bin]*float64(received) {
				t.Fatalf("%d of %d is said to be %q", n, received, bin)
			}
		}
	}
	if len(met) != len(answered) {
		t.Errorf("met %d bins, %d have words", len(met), len(answered))
	}
}

func TestWhatTheOwnerKeptOfASenderIsSaid(t *testing.T) {
	f := newTest(t)
	for _, c := range []struct {
		kept, left uint32
		want       string
	}{
		{0, 2, "you kept none of this sender's few messages"}, {0, 9, "you kept none of this sender's messages"},
		{1, 2, "you kept fewer than half of this sender's few messages"}, {1, 9, "you kept few of this sender's messages"},
		{2, 1, "you kept at least half of this sender's few messages"}, {6, 4, "you kept at least half of this sender's messages"},
		{9, 1, "you kept most of this sender's messages"}, {3, 0, "you kept all of this sender's few messages"}, {8, 0, "you kept all of this sender's messages"},
	} {
		bin := historyOf(t, f, featurize.History{Kept: c.kept, Left: c.left}, "history:sender kept ")
		if got := Describe("history:sender kept " + bin); got != c.want {
			t.Errorf("%d kept, %d left: %q, want %q", c.kept, c.left, got, c.want)
		}
	}
}

func TestAProbabilityIsSaidAsSoManyInTen(t *testing.T) {
	for p, want := range map[float64]string{
		0: "", 0.02: "hardly any such message mattered", 0.1: "1 in 10 such messages mattered",
		0.68: "7 in 10 such messages mattered", 0.94: "9 in 10 such messages mattered", 0.96: "nearly all such messages mattered", 1: "nearly all such messages mattered",
	} {
		if got := InTen(p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}

func TestEveryFeatureIsAboutSomething(t *testing.T) {
	for name, want := range map[string]Facet{
		"constant":                        FacetConstant,
		"":                                FacetForm,
		"from:ann@example.org":            FacetSender,
		"from?:ann@example.org | to":      FacetSender,
		"name@example.org:ann":            FacetSender,
		"history:sender answered new":     FacetSender,
		"history?:sender answered new":    FacetSender,
		"history:answers the owner | to":  FacetThread,
		"history:thread by owner 0":       FacetThread,
		"place:reply | to alone":          FacetThread,
		"place:patch reply | cc":          FacetPatch,
		"patch version 2":                 FacetPatch,
		"shape:recipients 1 | to alone":   FacetAddressed,
		"shape:questions 4+ | to":         FacetQuestion,
		"shape:questions 0 | to":          FacetAbsent,
		"shape:trailers 0 | reply":        FacetAbsent,
		"shape:trailers 2 | reply":        FacetPatch,
		"shape:own lines 8+ | quoted 0":   FacetForm,
		"list:crew.example.org":           FacetList,
		"header:list-unsubscribe":         FacetList,
		"header:x-mailer":                 FacetForm,
		"subject:summer | party":          FacetSubject,
		"body:roof":                       FacetText,
		"opening:roof":                    FacetText,
		"signature:roof":                  FacetQuoted,
		"attachment:.pdf":                 FacetAttachment,
		"host:example.org":                FacetLinks,
		"no such prefix: but with a word": FacetForm,
	} {
		if got := FacetOf(name); got != want {
			t.Errorf("%q is about %v, want %v", name, got, want)
		}
	}
}

func TestGistHasTheSendersNameWhoeverVouchesForIt(t *testing.T) {
	for _, tt := range []struct{ server, vouches string }{
		{"", ""}, {"mx.example.org", "pass"}, {"mx.example.org", "fail"},
	} {
		f := newTest(t, tt.server)
		raw := "Authentication-Results: mx.example.org; dmarc=" + tt.vouches + " header.from=example.org\nFrom: Ann van Dyke <ann@example.org>\nSubject: hello\n\nhello\n"
		if g := GistOf(f.Freeze(f.Read([]byte(raw)), featurize.History{})); strings.Join(g.Name, " ") != "ann dyke van" {
			t.Errorf("%+v: got %q", tt, g.Name)
		}
	}
}

func TestGistNamesASenderThatNobodyVouchesFor(t *testing.T) {
	f := newTest(t, "mx.example.org")
	x := f.Freeze(f.Read([]byte("From: Ann <ann@example.net>\nTo: owner@example.org\nList-Id: <dev.example.net>\nSubject: lunch\n\nhi\n")), featurize.History{})
	g := GistOf(x)
	if g.From != "ann@example.net" || strings.Join(g.Facts, "; ") != "to you alone; starts a thread; not vouched for: through the mailing list dev.example.net" {
		t.Errorf("got %+v", g)
	}
}

func TestGistTellsWhoAndWhat(t *testing.T) {
	f := newTest(t)
	raw := "From: Ann <ann@example.org>\nTo: a@example.org, b@example.org\nList-Id: <roofs.example.org>\n" +
		"Subject: the plumber comes on Tuesday, code 12345678\x1b\n\nhello\n"
	x := f.Freeze(f.Read([]byte(raw)), featurize.History{})
	g := GistOf(x)
	if g.From != "ann@example.org" || strings.Join(g.Facts, "; ") != "not addressed to you; starts a thread; through the mailing list roofs.example.org" ||
		strings.Join(g.Subject, " ") != "the plumber comes on tuesday code" {
		t.Errorf("got %+v", g)
	}
	if g := GistOf(new(featurize.Features)); g.From != "" || len(g.Facts)+len(g.Subject) > 0 {
		t.Errorf("without names: %+v", g)
	}
}

// TestWordsInLineUseEveryPairOnce: whatever the order in which the terms of a text
// come, all its words come back; where no word stands twice, in their order.
func TestWordsInLineUseEveryPairOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]string, rng.IntN(12))
		for i := range text {
			text[i] = fmt.Sprintf("w%d", rng.IntN(14))
		}
		terms := map[string]bool{}
		for i, w := range text {
			terms[w] = true
			if i > 0 {
				terms[text[i-1]+" "+w] = true
			}
		}
		var all []string
		for t := range terms {
			all = append(all, t)
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(text)))
		got := inLine(all)
		if len(distinct) == len(text) && !slices.Equal(got, text) {
			t.Fatalf("%v came back as %v", text, got)
		}
		if back := slices.Compact(slices.Sorted(slices.Values(got))); !slices.Equal(back, distinct) {
			t.Fatalf("%v came back as %v", text, got)
		}
	}
}
