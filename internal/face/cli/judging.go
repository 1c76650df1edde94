// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/prior"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// JudgingOptions turns how mail is judged into the filter's options. What the configuration
// has no key for keeps its default.
func JudgingOptions(a *config.Judging, owner []string) filter.Options {
	o := filter.DefaultOptions()
	o.Learner, o.Kernel = learnerSpec(&a.Learner), kernelOf(&a.Learner)
	o.Featurize = featurizeOptions(&a.Featurize, owner)
	t := &a.Threshold
	o.Threshold = filter.Threshold{
		Mode: filter.Mode(t.Mode), Precision: t.Precision, Missed: t.Missed, Share: t.Share, PerDay: t.PerDay, Cost: t.Cost, Value: t.Value, UnsureShare: t.UnsureShare,
	}
	o.NamesFor = time.Duration(a.Featurize.NamesDays) * 24 * time.Hour
	o.Shadow = filter.Shadow(a.Shadow)
	o.Settle = time.Duration(a.Settle)
	o.SilenceDays = int(time.Duration(a.Silence) / (24 * time.Hour))
	o.Dual.Window, o.Dual.Steps = a.Learner.Window, a.Learner.Steps
	o.Dual.Horizon, o.Dual.MarkedHorizon = time.Duration(a.Provisional), time.Duration(a.ProvisionalMarked)
	o.TimeZone = a.TimeZone
	o.Limits.Weights = a.MaxWeights
	// By default as many as those of the filter.
	o.Limits.Messages, o.Limits.IDs, o.Limits.Threads = a.MaxMessages, a.MaxMessages, a.MaxMessages/2
	o.OwedDays = a.OwedDays
	o.Limits.Keep = time.Duration(a.KeepDays) * 24 * time.Hour
	o.Rules = pinnedRules(a.Rules)
	return o
}

// PriorWeights reads what a new account is to begin with.
func PriorWeights(a *config.Judging) (store.PackedVector, error) {
	p, err := prior.Named(a.Prior)
	if err != nil {
		return nil, err
	}
	return p.Pack(), nil
}

func pinnedRules(rules []config.Rule) []filter.Rule {
	var out []filter.Rule
	for _, r := range rules {
		label := model.Ordinary
		if r.Label == model.Important.String() {
			label = model.Important
		}
		out = append(out, filter.Rule{Match: r.Match, Label: label})
	}
	return out
}

func learnerSpec(l *config.Learner) model.Spec {
	s := model.DefaultSpec()
	s.Kind, s.Margin, s.Aggressiveness = model.Kind(l.Kind), l.Margin, l.Aggressiveness
	return s
}

// kernelOf returns what makes the learner one over examples; nothing for a linear one.
func kernelOf(l *config.Learner) filter.Kernel {
	if l.KernelDegree == 0 {
		return filter.Kernel{}
	}
	return filter.Kernel{Degree: model.Kernel(l.KernelDegree), Budget: l.MaxSupports}
}

func featurizeOptions(f *config.Featurize, owner []string) featurize.Options {
	o := featurize.DefaultOptions()
	o.Owner = owner
	o.AuthServID = f.AuthservID
	if o.Subaddress = f.Subaddress; o.Subaddress == "none" {
		o.Subaddress = ""
	}
	o.MaxBytes = f.MaxBytes
	o.Names = f.Names
	o.Shares[featurize.Misc] = f.Shares.Misc
	o.Shares[featurize.Social] = f.Shares.Social
	o.Shares[featurize.Subject] = f.Shares.Subject
	o.Shares[featurize.Body] = f.Shares.Body
	o.Affine = f.Shares.Affine
	return o
}
