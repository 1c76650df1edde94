// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

// countedContext is done after it was asked so often.
type countedContext struct {
	context.Context
	left int
}

func (c *countedContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestSettingsBecomeOptionsConfigurationAndCommand(t *testing.T) {
	today := filter.DefaultOptions()
	s := Settings{
		Learner: "passive-aggressive", Aggressiveness: new(0.25), Threshold: "cost", Cost: new(2.5), PerDay: new(1000000),
		UnsureShare: new(0.0), Prior: "none",
	}
	p, err := s.plan(today, "default")
	testkit.OK(t, err)
	o := p.options
	if o.Learner.Kind != model.KindPassiveAggressive || o.Learner.Aggressiveness != 0.25 || o.Threshold.Mode != filter.ModeCost ||
		o.Threshold.Cost != 2.5 || o.Threshold.PerDay != 1000000 || o.Threshold.UnsureShare != 0 {
		t.Errorf("the options are %+v", o)
	}
	const config = `prior = "none"
[account.learner]
kind = "passive-aggressive"
aggressiveness = 0.25
[account.threshold]
mode = "cost"
per_day = 1000000
cost = 2.5
unsure_share = 0`
	if p.config != config {
		t.Errorf("the configuration is\n%s\nwant\n%s", p.config, config)
	}
	const command = "hinged eval --set learner.kind=passive-aggressive --set learner.aggressiveness=0.25" +
		" --set threshold.mode=cost --set threshold.per_day=1000000 --set threshold.cost=2.5 --set threshold.unsure_share=0 --set prior=none"
	if p.command != command {
		t.Errorf("the command is\n%s\nwant\n%s", p.command, command)
	}
	var file struct{ Account []map[string]any }
	if err := toml.Unmarshal([]byte("[[account]]\nname = \"me\"\n"+p.config), &file); err != nil || len(file.Account[0]) != 4 {
		t.Errorf("as TOML: %v, %v", file, err)
	}
	if len(p.changes) != 7 || p.changes[0] != (Change{"prior", `"default"`, `"none"`}) || p.changes[2] != (Change{"learner.aggressiveness", "0.2", "0.25"}) {
		t.Errorf("%d changes: %+v", len(p.changes), p.changes)
	}
}

func TestSettingsWithoutEffectAreRefused(t *testing.T) {
	kernel := filter.DefaultOptions()
	kernel.Kernel = filter.Kernel{Degree: 2, Budget: 100}
	for _, c := range []struct {
		name  string
		s     Settings
		today filter.Options
		want  string
	}{
		{"nothing", Settings{}, filter.DefaultOptions(), "they are today's; change at least one"},
		{"today's", Settings{Learner: "dual", Prior: "default"}, filter.DefaultOptions(), "they are today's"},
		{"an unknown learner", Settings{Learner: "oracle"}, filter.DefaultOptions(), "oracle"},
		{"an unknown mode", Settings{Threshold: "guess"}, filter.DefaultOptions(), "threshold mode is guess; it must be auto"},
		{"a share of the whole", Settings{Threshold: "budget", Share: new(1.0)}, filter.DefaultOptions(), "it must lie between 0 and 1"},
		{"not a number", Settings{Threshold: "fixed", Value: new(math.NaN())}, filter.DefaultOptions(), "it must be a finite number"},
		{"a share of no budget", Settings{Share: new(0.2)}, filter.DefaultOptions(), "threshold.share has an effect only with the threshold budget"},
		{"a margin of a dual learner", Settings{Margin: new(1.0)}, filter.DefaultOptions(), "learner.margin has an effect only with the learner margin"},
		{"a window of a perceptron", Settings{Learner: "perceptron", Window: new(5)}, filter.DefaultOptions(), "learner.window has an effect only with the learner dual"},
		{"a window beside a kernel", Settings{Window: new(5)}, kernel, "learner.window has an effect only with the learner dual without a kernel"},
		{"too wide a window", Settings{Window: new(10_001)}, filter.DefaultOptions(), "the replay window is 10001"},
		{"a file as prior", Settings{Prior: "/etc/passwd"}, filter.DefaultOptions(), `prior is "/etc/passwd"; it is default or none`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.s.plan(c.today, "default"); !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := (&Settings{Window: new(10_000)}).plan(filter.DefaultOptions(), "none"); err != nil {
		t.Errorf("the widest window: %v", err)
	}
}

func TestTheSignTestIsExact(t *testing.T) {
	for _, c := range []struct {
		a, b int
		want float64
	}{{0, 0, 1}, {1, 0, 1}, {0, 5, 0.0625}, {6, 0, 0.03125}, {1, 7, 0.0703125}, {8, 1, 0.0390625}, {10, 10, 1}, {700, 700, 1}} {
		if got := signTest(c.a, c.b); math.Abs(got-c.want) > 1e-9 || signTest(c.b, c.a) != got {
			t.Errorf("%d to %d: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if p := signTest(0, 5000); !(p >= 0 && p < 1e-300) {
		t.Errorf("0 to 5000: %v", p)
	}
}

func TestRecommendationsSayNoMoreThanTheFiguresDo(t *testing.T) {
	const amounts = " The other settings would mark 11.0 % of the mail instead of 10.0 %. They find 17 of 20 important messages instead of 15, and mark 5 ordinary messages instead of 4."
	const few, chance, better, worse = "There are too few labels to tell.", "The difference may be chance.", "The other settings would have been better.", "Keep today's settings."
	for _, c := range []struct {
		name         string
		found, wrong split // the other settings', today's
		silent       int
		verdict      Verdict
		want         string
	}{
		{"no label", split{}, split{}, 0, Unclear, few + amounts},
		{"six of six", split{6, 0}, split{0, 6}, 0, Unclear, few + amounts},
		{"one of seven the other way", split{6, 1}, split{1, 6}, 0, Unclear, chance + amounts},
		{"finds seven of seven", split{7, 0}, split{3, 3}, 0, Better, better + amounts},
		{"finds none of seven", split{0, 7}, split{3, 3}, 0, Worse, worse + amounts},
		{"seven wrong marks less", split{3, 3}, split{0, 7}, 2, Better, better + amounts + " Of the 13 messages on which they differ, 2 count as ordinary because you did nothing with them."},
		{"seven wrong marks more", split{3, 3}, split{7, 0}, 0, Worse, worse + amounts},
		{"better in both", split{9, 1}, split{1, 9}, 0, Better, better + amounts},
		{"worse in both", split{1, 9}, split{9, 1}, 0, Worse, worse + amounts},
		{"finds more, marks more", split{9, 1}, split{30, 2}, 0, Choice,
			"This is for you to choose: the other settings find 8 more important messages, and put 28 more marks on ordinary mail." + amounts},
		{"finds less, marks less", split{0, 7}, split{1, 9}, 0, Choice,
			"This is for you to choose: the other settings put 8 fewer marks on ordinary mail, and miss 7 more important messages." + amounts},
	} {
		r := Run{
			Messages: 200, Today: Figures{Share: 0.1, Right: 15, Missed: 5, TakenOff: 4}, Other: Figures{Share: 0.11, Right: 17, Missed: 3, TakenOff: 3, LeftAlone: 2},
			Differ: c.found.other + c.found.today + c.wrong.other + c.wrong.today, FoundOther: c.found.other, FoundToday: c.found.today, FalseOther: c.wrong.other, FalseToday: c.wrong.today,
		}
		if c.name == "no label" {
			r.Differ = 3
		}
		r.Verdict = r.judge()
		if words := r.recommend(c.silent); r.Verdict != c.verdict || words != c.want {
			t.Errorf("%s: %s, %s\nwant %s, %s", c.name, r.Verdict, words, c.verdict, c.want)
		}
	}
	same := Run{Messages: 200, Today: Figures{Marked: 20}}
	same.Verdict = same.judge()
	if words := same.recommend(0); same.Verdict != Same || words != "Nothing would be different: both settings would mark the same 20 messages." {
		t.Errorf("no difference: %s, %s", same.Verdict, words)
	}
}
