// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
)

// ErrSettings is wrapped when settings can't be replayed.
var ErrSettings = errors.New("these settings can't be replayed")

// Settings are those that differ from today's, under the keys of the configuration; what
// is not given stays as it is.
type Settings struct {
	Learner        string   `json:"learner.kind,omitempty"`           // kind of learner: dual, passive-aggressive, margin or perceptron
	Margin         *float64 `json:"learner.margin,omitempty"`         // margin: learn unless the score is above this
	Aggressiveness *float64 `json:"learner.aggressiveness,omitempty"` // limit C of the step of one lesson
	Window         *int     `json:"learner.window,omitempty"`         // dual: lessons that are replayed
	Steps          *int     `json:"learner.steps,omitempty"`          // dual: replay steps before each message
	Threshold      string   `json:"threshold.mode,omitempty"`         // mode of the threshold: auto, missed, budget, cost or fixed
	Precision      *float64 `json:"threshold.precision,omitempty"`    // auto: least share of the marked mail that is important
	Missed         *float64 `json:"threshold.missed,omitempty"`       // missed: greatest share of the important mail that goes unmarked
	Share          *float64 `json:"threshold.share,omitempty"`        // budget: share of all mail to mark
	PerDay         *int     `json:"threshold.per_day,omitempty"`      // greatest number of marks in a day; 0: no limit
	Cost           *float64 `json:"threshold.cost,omitempty"`         // cost: false alarms that one missed message is worth
	Value          *float64 `json:"threshold.value,omitempty"`        // fixed: score above which a message is important
	UnsureShare    *float64 `json:"threshold.unsure_share,omitempty"` // greatest share of mail that may be unsure
	Prior          string   `json:"prior,omitempty"`                  // weights to begin with: default or none
}

// SettingsOf makes them of values by key.
func SettingsOf(given map[string]any) (s Settings, err error) {
	text, err := json.Marshal(given)
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		_, key, _ := strings.Cut(err.Error(), "unknown field ")
		return s, fmt.Errorf("%w: %s is not among those of learner and threshold, nor prior", ErrSettings, key)
	}
	return s, nil
}

// setting is one key that may differ.
type setting struct {
	table, key string
	given      bool
	quoted     bool
	get        func(*filter.Options) string
	set        func(*filter.Options)
	// counts reports whether it has an effect under the options; nil: always.
	counts func(*filter.Options) bool
	needs  string // in words
}

func (c *setting) name() string {
	if c.table == "" {
		return c.key
	}
	return c.table + "." + c.key
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func number[T int | float64](table, key string, value *T, of func(*filter.Options) *T, counts func(*filter.Options) bool, needs string) setting {
	return setting{
		table: table, key: key, given: value != nil, counts: counts, needs: needs,
		get: func(o *filter.Options) string { return decimal(float64(*of(o))) },
		set: func(o *filter.Options) { *of(o) = *value },
	}
}

func text[T ~string](table, key, value string, of func(*filter.Options) *T) setting {
	return setting{
		table: table, key: key, given: value != "", quoted: true,
		get: func(o *filter.Options) string { return string(*of(o)) },
		set: func(o *filter.Options) { *of(o) = T(value) },
	}
}

// all are the keys but prior, which is no option of a filter, in the order of the
// configuration.
func (s *Settings) all() []setting {
	kind := func(kinds ...model.Kind) func(*filter.Options) bool {
		return func(o *filter.Options) bool { return slices.Contains(kinds, o.Learner.Kind) }
	}
	mode := func(m filter.Mode) func(*filter.Options) bool {
		return func(o *filter.Options) bool { return o.Threshold.Mode == m }
	}
	dual := func(o *filter.Options) bool {
		return o.Learner.Kind == model.KindDual && o.Kernel == filter.Kernel{}
	}
	type opts = filter.Options
	return []setting{
		text("learner", "kind", s.Learner, func(o *opts) *model.Kind { return &o.Learner.Kind }),
		number("learner", "margin", s.Margin, func(o *opts) *float64 { return &o.Learner.Margin }, kind(model.KindMargin), "the learner margin"),
		number("learner", "aggressiveness", s.Aggressiveness, func(o *opts) *float64 { return &o.Learner.Aggressiveness },
			kind(model.KindDual, model.KindPassiveAggressive), "the learner dual or passive-aggressive"),
		number("learner", "window", s.Window, func(o *opts) *int { return &o.Dual.Window }, dual, "the learner dual without a kernel"),
		number("learner", "steps", s.Steps, func(o *opts) *int { return &o.Dual.Steps }, dual, "the learner dual without a kernel"),
		text("threshold", "mode", s.Threshold, func(o *opts) *filter.Mode { return &o.Threshold.Mode }),
		number("threshold", "precision", s.Precision, func(o *opts) *float64 { return &o.Threshold.Precision }, mode(filter.ModeAuto), "the threshold auto"),
		number("threshold", "missed", s.Missed, func(o *opts) *float64 { return &o.Threshold.Missed }, mode(filter.ModeMissed), "the threshold missed"),
		number("threshold", "share", s.Share, func(o *opts) *float64 { return &o.Threshold.Share }, mode(filter.ModeBudget), "the threshold budget"),
		number("threshold", "per_day", s.PerDay, func(o *opts) *int { return &o.Threshold.PerDay }, nil, ""),
		number("threshold", "cost", s.Cost, func(o *opts) *float64 { return &o.Threshold.Cost }, mode(filter.ModeCost), "the threshold cost"),
		number("threshold", "value", s.Value, func(o *opts) *float64 { return &o.Threshold.Value }, mode(filter.ModeFixed), "the threshold fixed"),
		number("threshold", "unsure_share", s.UnsureShare, func(o *opts) *float64 { return &o.Threshold.UnsureShare }, nil, ""),
	}
}

// plan is what settings come to for an account.
type plan struct {
	options filter.Options
	changes []Change
	config  string // in TOML
	command string
}

// plan applies the settings to today's options. priorToday is how today's prior would be
// called: default, none, or "a file's".
func (s *Settings) plan(today filter.Options, priorToday string) (plan, error) {
	p := plan{options: today}
	all := s.all()
	for i := range all {
		if all[i].given {
			all[i].set(&p.options)
		}
	}
	if err := p.options.Validate(); err != nil {
		return p, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	command := []string{"hinged eval"}
	table, lines := "", []string{}
	for i := range all {
		c := &all[i]
		if !c.given {
			continue
		}
		if c.counts != nil && !c.counts(&p.options) {
			return p, fmt.Errorf("%w: %s has an effect only with %s", ErrSettings, c.name(), c.needs)
		}
		if c.get(&today) == c.get(&p.options) {
			continue
		}
		if table != c.table {
			table = c.table
			lines = append(lines, "[account."+table+"]")
		}
		p.add(c, &today, &lines, &command)
	}
	return p, s.planPrior(&p, priorToday, lines, command)
}

// add notes that c is another one than today.
func (p *plan) add(c *setting, today *filter.Options, lines, command *[]string) {
	was, is := c.get(today), c.get(&p.options)
	*command = append(*command, "--set "+c.name()+"="+is)
	if c.quoted {
		was, is = strconv.Quote(was), strconv.Quote(is)
	}
	p.changes = append(p.changes, Change{Key: c.name(), Today: was, Other: is})
	*lines = append(*lines, c.key+" = "+is)
}

// planPrior adds the prior and puts the lines together.
func (s *Settings) planPrior(p *plan, today string, lines, command []string) error {
	switch s.Prior {
	case "", today:
	case "none", "default":
		p.changes = append([]Change{{Key: "prior", Today: strconv.Quote(today), Other: strconv.Quote(s.Prior)}}, p.changes...)
		lines = append([]string{"prior = " + strconv.Quote(s.Prior)}, lines...)
		command = append(command, "--set prior="+s.Prior)
	default:
		return fmt.Errorf("%w: prior is %q; it is default or none", ErrSettings, s.Prior)
	}
	if len(p.changes) == 0 {
		return fmt.Errorf("%w: they are today's; change at least one", ErrSettings)
	}
	p.config, p.command = strings.Join(lines, "\n"), strings.Join(command, " ")
	return nil
}
