// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

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
	} {
		if got := Describe(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// everyHistory are facts that between them give every feature of a history.
// An address in quotes may have in it what separates the facts of a feature.
func TestAnAddressDoesNotPassForAnother(t *testing.T) {
	for _, local := range []string{`"boss@bank.example | to alone | patch"`, `"boss@bank.example | | to alone"`, `"boss@bank.example |  | to alone"`} {
		for _, field := range []string{"From: %", "From: Boss <%>", "From: a@b; %", "Sender: %", "Reply-To: %", "To: %", "Cc: %"} {
			f := newTest(t)
			x := f.Freeze(f.Read([]byte(strings.ReplaceAll(field, "%", local+"@evil.example")+"\nSubject: x\n\nhi\n")), History{})
			for n := range x.All() {
				if strings.Contains(Describe(n.Name), "boss@bank.example, ") {
					t.Errorf("%s: %s: %s", field, n.Name, Describe(n.Name))
				}
			}
			if g := x.Gist(); strings.HasPrefix(field, "From: ") != (g.From != "") {
				t.Errorf("%s: the gist has From %q", field, g.From)
			}
		}
	}
}

func everyHistory() []History {
	var all []History
	for _, answered := range []uint32{0, 1, 2, 3, 5, 7, 9, 12, 15, 20, 30, 50, 90, 100} {
		for _, received := range []uint32{0, 3, 100} {
			if answered <= received {
				all = append(all, History{Received: received, Answered: answered})
			}
		}
	}
	return append(all, History{ByOwner: 1, Since: 9}, History{ByOwner: 40},
		History{ParentKnown: true}, History{ParentKnown: true, ParentOwn: true},
		History{ParentKnown: true, ParentAnswered: true}, History{ParentKnown: true, ParentSender: true})
}

func TestEveryFeatureOfTheGoldenMessagesIsDescribed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(files) < 5 {
		t.Fatalf("messages in testdata: got %v (%v), want 5 or more", files, err)
	}
	prefixes := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
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

// TestClaimsOfAnsweringAreTrue: whatever the counts, what is said of the bin that
// they fall into holds.
func TestClaimsOfAnsweringAreTrue(t *testing.T) {
	least := map[string]float64{
		"under 6%": 0.03, "under 10%": 0.06, "under 15%": 0.1, "under 20%": 0.15, "under 30%": 0.2,
		"under 40%": 0.3, "under 50%": 0.4, "under 70%": 0.5, "70% or more": 0.7,
	}
	met := map[string]bool{}
	for received := range uint32(400) {
		for answered := uint32(0); answered <= received; answered++ {
			bin := answeredShare(answered, received)
			met[bin] = true
			if answeredWords[bin] == "" {
				t.Fatalf("no words for %q", bin)
			}
			if float64(answered) < least[bin]*float64(received) {
				t.Fatalf("%d of %d is said to be %q", answered, received, answeredWords[bin])
			}
		}
	}
	if len(met) != len(answeredWords) {
		t.Errorf("met %d bins, %d have words", len(met), len(answeredWords))
	}
}
