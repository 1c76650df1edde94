package daemon

import (
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

func TestFeaturesInPlainWords(t *testing.T) {
	for name, want := range map[string]string{
		"from:ann@example.org":                                  "from ann@example.org",
		"from:ann@example.org | reply | to alone":               "from ann@example.org, a reply, to you alone",
		"from:@example.org | cc":                                "from anyone @example.org, you in Cc",
		"subject:budget for may":                                `"budget for may" in the subject`,
		"body:invoice":                                          `"invoice"`,
		"opening:a | b":                                         `"a | b"`,
		"quoted:invoice":                                        `"invoice" in quoted text`,
		"list:dev.example.org":                                  "list dev.example.org",
		"header:precedence=bulk":                                "the field precedence: bulk",
		"header:list-unsubscribe":                               "the field list-unsubscribe",
		"addressed:to":                                          "to you and others",
		"place:start | elsewhere":                               "begins a thread, not to you by name",
		"history:sender answered under 30% | to alone":          "a sender you answer under 30% of the time, to you alone",
		"history:thread by owner 2 | sender answered 0 of many": "2 messages by you in the thread, a sender you never answer",
		"depth:4+ | to":                                         "4+ messages before it in the thread, to you and others",
		"shape:questions 1 | reply":                             "1 questions, a reply",
		"received:example.org":                                  "received example.org",
		"(always there)":                                        "(always there)",
		"body:":                                                 "body:",
		"":                                                      "",
	} {
		if got := Plain(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// Whatever featurize says of ordinary mail has plain words.
func TestNoFeatureOfOrdinaryMailIsLeftInItsOwnForm(t *testing.T) {
	f, err := featurize.New(featurize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	mail, seen := testkit.NewMail(3), 0
	for range 30 {
		for e := range f.Freeze(f.Read(mail.Next().Raw), featurize.History{Received: 10, Answered: 3, ByOwner: 1}).All() {
			if e.Index == model.Affine {
				continue
			}
			seen++
			if got := Plain(e.Name); got == e.Name || strings.Contains(got, " | ") {
				t.Errorf("%q has no plain words: %q", e.Name, got)
			}
		}
	}
	if seen < 1000 {
		t.Errorf("looked at %d features", seen)
	}
}
