// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/prior"
	"github.com/hinged/hinged/internal/measure/evaluate"
	"github.com/hinged/hinged/internal/program/demo"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

// TestPins logs what every way to play comes to, for make pins.
func TestPins(t *testing.T) {
	if os.Getenv("HINGED_PINS") == "" {
		t.Skip("make pins runs it")
	}
	generated := save(t, 800, 1)
	for _, s := range []struct {
		name, path, prior string
		owner             []string
	}{
		{"generated", generated, prior.NameDefault, []string{testkit.NewMail(1).Owner}},
		{"demo", demoMail(t), prior.NameDefault, []string{demo.OwnerAddress}},
		{"linux-mtd", os.Getenv("HINGED_MTD"), prior.NameNone, []string{"miquel.raynal@bootlin.com"}},
		{"linux-mips", os.Getenv("HINGED_MIPS"), prior.NameNone, []string{"ralf@linux-mips.org"}},
		{"gpsd", os.Getenv("HINGED_GPSD"), prior.NameDefault, []string{"esr@thyrsus.com", "esr@snark.thyrsus.com"}},
	} {
		if s.path == "" {
			continue
		}
		weights, err := prior.Named(s.prior)
		if err != nil {
			t.Fatal(err)
		}
		pin := func(how string, p evaluate.Play) {
			p.Paths, p.Prior, p.Options.Featurize.Owner = []string{s.path}, weights.Pack(), s.owner
			pinPlay(t, s.name, how, p)
		}
		for _, f := range []evaluate.Feedback{evaluate.Immediate, evaluate.Delayed, evaluate.Live} {
			pin(string(f), evaluate.Play{Feedback: f, Options: filter.DefaultOptions()})
		}
		if s.path != generated {
			continue
		}
		pin("ask", evaluate.Play{Feedback: evaluate.Delayed, Ask: 3, Heard: 0.5, Options: filter.DefaultOptions()})
		o := filter.DefaultOptions()
		o.Rules = []filter.Rule{{Match: "subject:lunch", Label: model.Important}}
		pin("rules", evaluate.Play{Feedback: evaluate.Live, Options: o})
		o = filter.DefaultOptions()
		o.Learner.Kind = model.KindPerceptron
		o.Kernel = filter.Kernel{Degree: 2, Budget: 100}
		pin("kernel", evaluate.Play{Feedback: evaluate.Delayed, Options: o})
		for _, kind := range []model.Kind{model.KindPerceptron, model.KindMargin, model.KindPassiveAggressive} {
			o = filter.DefaultOptions()
			o.Learner.Kind = kind
			pin(string(kind), evaluate.Play{Feedback: evaluate.Delayed, Options: o})
		}
	}
}

// demoMail writes the mail of the demo, with the owner's answers, where it can be read.
func demoMail(t *testing.T) string {
	t.Helper()
	plan := demo.NewPlan(1, time.Date(2026, 3, 30, 15, 4, 0, 0, time.UTC), 600, 24*time.Hour)
	var b bytes.Buffer
	for _, m := range slices.Concat(plan.History, plan.Live) {
		testkit.AppendMbox(&b, m.Raw, m.Date)
		if m.Reply != nil {
			testkit.AppendMbox(&b, m.Reply.Raw, m.Reply.Date)
		}
	}
	path := filepath.Join(t.TempDir(), "demo.mbox")
	testkit.Write(t, path, b.Bytes())
	return path
}

// pinPlay logs the figures, a hash of all decisions and the digests of one play.
func pinPlay(t *testing.T, stream, how string, p evaluate.Play) {
	t.Helper()
	var decided strings.Builder
	p.Judged = func(d *filter.Decision) {
		fmt.Fprintf(&decided, "%s %s %x %x %x\n", d.Outcome, d.Reason, math.Float64bits(d.Score), math.Float64bits(d.Threshold), math.Float64bits(d.Probability))
	}
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatalf("%s, %s: %v", stream, how, err)
	}
	figures := fmt.Sprintf("of %d important %d, wrong %d: false alarms %d, missed %d; unsure %d, mistakes %d, updates %d, hinge loss %.6f, average precision %.6f, 1-ROCA%% %.5f",
		r.Examples, r.Important, r.WrongDecisions, r.FalseAlarms, r.Missed, r.Unsure, r.Mistakes, r.Updates, r.HingeLoss, r.AveragePrecision, r.OneMinusROCAPercent)
	if l := r.Live; l != nil {
		figures += fmt.Sprintf(", marked %d, right %d, taken off %d, in shadow %d, first mark %d", l.Marked, l.Right, l.TakenOff, l.InShadow, l.FirstMark)
	}
	model := "model"
	if r.Supports > 0 {
		model = "supports state" // the digest of supports is one of rows
	}
	testkit.Pin(t, stream, how+" figures", figures)
	testkit.Pin(t, stream, how+" decisions", decided.String())
	testkit.Pin(t, stream, how+" "+model, r.ModelDigest)
	testkit.Pin(t, stream, how+" state", r.Digest)
}
