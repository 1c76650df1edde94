// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/testkit"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// wantObedient checks that the weights obey the rules in force, as a score of their
// prototypes has it.
func (w *world) wantObedient() {
	w.t.Helper()
	rules, _ := w.f.Explainer.Rules()
	for _, r := range rules {
		p, err := filter.ParsePredicate(r.Match)
		testkit.OK(w.t, err)
		value, affine := w.f.Options().Featurize.Lone(p.Group())
		x := model.Vector{{Index: model.Affine, Value: affine}, {Index: p.Index(), Value: value}}
		if score := w.f.State().Weights.Dot(x); float64(r.Label)*score < model.RuleMargin {
			w.t.Fatalf("%v: the prototype has the score %v", r, score)
		}
	}
}

func ruled(rules ...filter.Rule) filter.Options {
	o := testOptions()
	o.Shadow, o.Rules = filter.ShadowOff, rules
	return o
}

const boss, news = "boss@example.com", "news@example.net"

func TestARuleDecidesAndShowsItsScoreBesideIt(t *testing.T) {
	o := ruled(filter.Rule{"from:" + news, model.Important}, filter.Rule{"from:" + boss, model.Ordinary})
	w := newWorld(t, o)
	for _, c := range []struct {
		from string
		want store.Outcome
	}{{news, store.DecidedImportant}, {boss, store.DecidedOrdinary}, {"else@example.com", store.DecidedUnsure}} {
		l, r := w.deliver("INBOX", mail(c.from+"x", c.from, owner, "some words"))
		d, m := r.Decision, w.row(l)
		if d.Outcome != c.want || m.Outcome != c.want || d.Score != m.Score {
			t.Fatalf("%s: %+v, %+v", c.from, d, m)
		}
		if c.want == store.DecidedUnsure {
			if d.Rule != nil || m.Rule != 0 {
				t.Fatalf("%s was decided by %v", c.from, d.Rule)
			}
			continue
		}
		if d.Reason != store.ReasonRule || m.Reason != store.ReasonRule || d.Rule.Match != "from:"+c.from || m.Rule != featurize.IndexOf(d.Rule.Match) {
			t.Fatalf("%s: reason %v and %v, rule %v", c.from, d.Reason, m.Reason, d.Rule)
		}
		if important := c.want == store.DecidedImportant; len(r.Marks) > 0 != important || d.Score > 0 != important {
			t.Fatalf("%s: %d marks, score %v", c.from, len(r.Marks), d.Score)
		}
		ex, err := w.f.Explainer.Explain(l.key, nil)
		testkit.OK(t, err)
		if ex.RuleThen == nil || ex.Rule == nil || *ex.Rule != *d.Rule || ex.Outcome != c.want || len(ex.Flips) > 0 || ex.Score != d.Score {
			t.Fatalf("%s: the explanation is %+v", c.from, ex)
		}
		if got := w.classified(mail("c@x", c.from, owner, "other words")); got.Outcome != c.want || got.Reason != store.ReasonRule {
			t.Fatalf("%s: classified as %+v", c.from, got)
		}
	}
	w.wantObedient()
}

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	rules := []filter.Rule{{"subject:sale", model.Ordinary}, {"from:" + boss, model.Important}, {"from:@example.com", model.Ordinary}}
	for i, want := range []store.Outcome{store.DecidedOrdinary, store.DecidedImportant, store.DecidedOrdinary} {
		w := newWorld(t, ruled(rules[i:]...))
		if _, r := w.deliver("INBOX", mail("f@x", boss, owner, "big sale")); r.Decision.Outcome != want || r.Decision.Rule.Match != rules[i].Match {
			t.Errorf("of %v: %v by %v", rules[i:], r.Decision.Outcome, r.Decision.Rule)
		}
	}
}

// TestPrecedence: excluded folder > the owner's own mark or un-mark > shadow >
// rule > threshold.
func TestPrecedence(t *testing.T) {
	always := filter.Rule{"from:" + boss, model.Important}
	w := newWorld(t, ruled(always))
	if _, r := w.deliver("Junk", mail("p1@x", boss, owner, "words")); r.Decision != nil {
		t.Errorf("in Junk: %+v", r.Decision)
	}
	l, r := w.deliver("INBOX", mail("p2@x", boss, owner, "words two"))
	if len(r.Marks) != 1 {
		t.Fatalf("not marked: %+v", r.Decision)
	}
	w.done(r.Marks[0])
	w.flag(l)
	w.wait(time.Hour)
	if l, r = w.deliver("Keep", append(l.raw, "a list footer\r\n"...)); len(r.Marks) > 0 || w.row(l).Reason != store.ReasonRefused || w.row(l).Outcome != store.DecidedImportant {
		t.Errorf("what the owner took the mark off: %+v, %d marks", w.row(l), len(r.Marks))
	}
	o := ruled(always)
	o.Shadow = filter.ShadowOn
	w = newWorld(t, o)
	if l, r = w.deliver("INBOX", mail("p3@x", boss, owner, "words")); len(r.Marks) > 0 || w.row(l).Reason != store.ReasonShadow || w.row(l).Rule == 0 {
		t.Errorf("in shadow: %+v, %d marks", w.row(l), len(r.Marks))
	}
	o = ruled(always)
	o.Threshold.PerDay = 1
	w = newWorld(t, o)
	w.deliver("INBOX", mail("p4@x", boss, owner, "words"))
	if l, r = w.deliver("INBOX", mail("p5@x", boss, owner, "words too")); len(r.Marks) > 0 || w.row(l).Reason != store.ReasonBudget {
		t.Errorf("beyond the day's cap: %+v", w.row(l))
	}
	// Above the threshold or not.
	w = newWorld(t, testOptions())
	w.teach()
	w.apply(&filter.Ruled{At: w.moment(), Rules: []filter.Rule{{"from:" + boss, model.Ordinary}}})
	if _, r = w.deliver("INBOX", mail("p6@x", boss, owner, "urgent thing")); r.Decision.Outcome != store.DecidedOrdinary || r.Decision.Score <= 0 {
		t.Errorf("a rule against a score: %+v", r.Decision)
	}
}

func TestTheWeightsKeepObeyingWhateverIsLearnt(t *testing.T) {
	for _, kind := range model.Kinds() {
		o := ruled(filter.Rule{"from:" + boss, model.Important}, filter.Rule{"from:@example.net", model.Ordinary}, filter.Rule{"subject:words", model.Important})
		o.Learner.Kind = kind
		w := newWorld(t, o)
		w.wantObedient()
		for i := range 30 {
			l, _ := w.deliver("INBOX", mail(fmt.Sprintf("b%d@x", i), boss, owner, "words"))
			w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
			w.wantObedient()
			l, _ = w.deliver("INBOX", mail(fmt.Sprintf("n%d@x", i), news, owner, "words"))
			w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
			w.wantObedient()
		}
		if a := w.f.State().Account; a.Projected == 0 || a.RuledSince != 0 {
			t.Fatalf("%s: projected %v, since %d", kind, a.Projected, a.RuledSince)
		}
	}
}

func TestRulesOfATopicStandInForThoseOfTheOptions(t *testing.T) {
	w := newWorld(t, ruled(filter.Rule{"from:" + boss, model.Ordinary}))
	outcome := func(n int, from string) store.Outcome {
		d := w.classified(mail(fmt.Sprint(n, "@x"), from, owner, "words"))
		if d.Rule == nil {
			return store.Undecided
		}
		return d.Outcome
	}
	w.apply(&filter.Ruled{At: w.moment(), Rules: []filter.Rule{{" FROM:" + strings.ToUpper(news), model.Important}}})
	if outcome(1, boss) != store.Undecided || outcome(2, news) != store.DecidedImportant {
		t.Fatal("the rules of the options still hold, or the new ones do not")
	}
	if r := w.apply(&filter.Ruled{At: w.moment(), Rules: []filter.Rule{{" FROM:" + strings.ToUpper(news), model.Important}}}); len(r.Lessons) > 0 {
		t.Fatal("the same again did something")
	}
	o := w.f.Options()
	o.Rules = []filter.Rule{{"from:" + boss, model.Important}}
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	if outcome(3, boss) != store.Undecided || outcome(4, news) != store.DecidedImportant {
		t.Fatal("a new configuration displaced the rules of the topic")
	}
	weight := w.f.State().Weights.Get(featurize.IndexOf("from:" + news))
	w.apply(&filter.Ruled{At: w.moment()})
	if outcome(5, boss) != store.Undecided || outcome(6, news) != store.Undecided {
		t.Fatal("no rules at all are none")
	}
	if got := w.f.State().Weights.Get(featurize.IndexOf("from:" + news)); got != weight || got <= 0 {
		t.Fatalf("the weight went from %v to %v with the rule; nothing is to be taken back", weight, got)
	}
	if rules, ruled := w.f.Explainer.Rules(); len(rules) != 0 || !ruled {
		t.Fatalf("rules are %v, %v", rules, ruled)
	}
}

func TestOnlyVouchedMailMeetsARuleOnItsSender(t *testing.T) {
	o := ruled(filter.Rule{"from:" + boss, model.Important}, filter.Rule{"to:" + owner, model.Ordinary})
	o.Featurize.AuthServID = "mx.example.org"
	w := newWorld(t, o)
	pass := "Authentication-Results: mx.example.org; dmarc=pass header.from=example.com"
	for name, c := range map[string]struct {
		header string
		want   string
	}{
		"vouched":      {pass, "from:" + boss},
		"not":          {"X-Nothing: here", "to:" + owner},
		"by another":   {strings.Replace(pass, "mx.", "mail.", 1), "to:" + owner},
		"for another":  {strings.Replace(pass, "=example.com", "=example.net", 1), "to:" + owner},
		"not even now": {strings.Replace(pass, "pass", "fail", 1), "to:" + owner},
	} {
		l, r := w.deliver("INBOX", mail(strings.ReplaceAll(name, " ", "")+"@x", boss, owner, "words "+name, c.header))
		if r.Decision.Rule == nil || r.Decision.Rule.Match != c.want {
			t.Errorf("%s: decided by %v, want %s", name, r.Decision.Rule, c.want)
		}
		if ex, err := w.f.Explainer.Explain(l.key, nil); err != nil || ex.Rule.Match != c.want {
			t.Errorf("%s: explained by %v, %v", name, ex.Rule, err)
		}
	}
	if got := words.Warnings(w.f); len(got) != 0 {
		t.Errorf("warnings %q", got)
	}
	w = newWorld(t, ruled(filter.Rule{"from:" + boss, model.Important}, filter.Rule{"to:" + owner, model.Ordinary}))
	if got := words.Warnings(w.f); len(got) != 1 || !strings.Contains(got[0], "anybody can write that") {
		t.Errorf("warnings %q", got)
	}
}

func TestWhatARuleDecidedTellsTheThresholdNothing(t *testing.T) {
	o := ruled(filter.Rule{"from:" + news, model.Important})
	o.Shadow, o.SilenceDays = filter.ShadowOn, 7
	w := newWorld(t, o)
	l, _ := w.deliver("INBOX", mail("s@x", news, owner, "words"))
	for range 30 {
		w.wait(25 * time.Hour)
		w.deliver("Sent", mail(fmt.Sprint(w.now.Unix(), "@x"), owner, boss, "active"))
	}
	w.wantLessons("silence about what a rule calls important")
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
	w.wantLessons("the owner's word about it", "ordinary by explicit")
	if got := w.f.State().Account.Labels; got != 0 {
		t.Errorf("the threshold heard of %d labels", got)
	}
	w.wantObedient()
}

func TestRulesThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		rules []filter.Rule
		says  string
	}{
		"opposite":  {[]filter.Rule{{"from:a@b.org", model.Important}, {"subject:x", model.Important}, {"From: A@b.org", model.Ordinary}}, `rules 1 and 3 contradict each other: "from:a@b.org"`},
		"twice":     {[]filter.Rule{{"from:a@b.org", model.Important}, {"from:a@b.org", model.Important}}, "rules 1 and 2 are the same"},
		"no label":  {[]filter.Rule{{"from:a@b.org", 0}}, "rule 1"},
		"no field":  {[]filter.Rule{{"body:word", model.Important}}, `rule 1: not a predicate: "body:word"`},
		"too many":  {make([]filter.Rule, filter.MaxRules+1), "at most 1000"},
		"two words": {[]filter.Rule{{"subject:a b", model.Important}}, "rule 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := filter.ValidateRules(c.rules); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %q", err, c.says)
			}
			w := newWorld(t, testOptions())
			if r, err := w.f.Apply(&filter.Ruled{At: w.moment(), Rules: c.rules}); !errors.Is(err, filter.ErrBadEvent) || r.Changed {
				t.Errorf("as an event: %v, changed %v", err, r.Changed)
			}
			if err := ruled(c.rules...).Validate(); err == nil {
				t.Error("as options they are accepted")
			}
		})
	}
}

func TestSharesThatLeaveAGroupOutLeaveItsRulesToDecideAlone(t *testing.T) {
	o := ruled(filter.Rule{"from:" + boss, model.Important})
	o.Featurize.Shares[featurize.Social] = 0
	w := newWorld(t, o)
	if _, r := w.deliver("INBOX", mail("z@x", boss, owner, "words")); r.Decision.Outcome != store.DecidedImportant || w.f.State().Weights.Len() != 0 {
		t.Fatalf("%+v, %d weights", r.Decision, w.f.State().Weights.Len())
	}
}

// What is left after lessons were taken back is what never having learnt them
// gives, rules and all.
func TestTakingLessonsBackKeepsToTheRules(t *testing.T) {
	for _, kind := range model.Kinds() {
		o := ruled(filter.Rule{"from:" + boss, model.Important}, filter.Rule{"from:@example.net", model.Ordinary})
		o.Learner.Kind = kind
		all, some := newWorld(t, o), newWorld(t, o)
		var since store.Moment
		for i := range 40 {
			for _, w := range []*world{all, some} {
				w.now = w.now.Add(time.Minute)
				l, _ := w.deliver("INBOX", mail(fmt.Sprintf("b%d@x", i), []string{boss, news, "else@example.com"}[i%3], owner, fmt.Sprintf("words %d", i%7)))
				if i == 20 {
					since = w.moment()
				}
				if i < 20 || w == all {
					w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Label(1 - 2*(i/2%2))})
				}
			}
		}
		if r := all.rewrite(&past.UnlearnRequested{At: all.moment(), Since: since}); !r.Changed || r.Lessons != 20 {
			t.Fatalf("%s: %+v", kind, r)
		}
		all.wantObedient()
		got, _ := store.Digest(all.f.State())
		want, _ := store.Digest(some.f.State())
		if a, b := all.f.State().Account, some.f.State().Account; got != want || a.Projected != b.Projected || a.RuledSince != b.RuledSince || a.Projected == 0 {
			t.Fatalf("%s: model %s, projected %v since %d; never having learnt it: %s, %v since %d", kind, got, a.Projected, a.RuledSince, want, b.Projected, b.RuledSince)
		}
		l, _ := all.deliver("INBOX", mail("after@x", boss, owner, "words after"))
		all.apply(&filter.Labelled{At: all.moment(), Message: l.key, Label: model.Ordinary})
		all.wantObedient()
	}
}
