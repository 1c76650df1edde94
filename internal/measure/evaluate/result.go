// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
)

// Result is the outcome of one play. Its JSON is the output of `hinged eval --json`. Keys
// may be added, and none is removed.
type Result struct {
	// Messages counts all messages read. The figures below are about the examples. A
	// second copy of a message is not an example.
	Messages  int `json:"messages"`
	Own       int `json:"own"`       // messages written by the owner
	Examples  int `json:"examples"`  // messages that were decided and whose label is known
	Important int `json:"important"` // examples that were important

	// Mistakes counts lessons whose score was on the wrong side of 0, or exactly 0, when they were learnt.
	Mistakes  uint64  `json:"mistakes"`
	Updates   uint64  `json:"updates"`    // lessons that moved the weights
	Lessons   uint64  `json:"lessons"`    // number of labels learnt
	HingeLoss float64 `json:"hinge_loss"` // hinge loss summed over all lessons

	Ceiling // on the mistakes

	// WrongDecisions is the number of false alarms and missed messages together.
	WrongDecisions int `json:"wrong_decisions"`
	FalseAlarms    int `json:"false_alarms"` // ordinary messages decided important
	Missed         int `json:"missed"`       // important messages not decided important
	Unsure         int `json:"unsure"`       // examples decided unsure, and therefore not marked
	// TooFewLabels counts unsure examples that arrived before enough was learnt to
	// decide.
	TooFewLabels int `json:"too_few_labels"`
	Marked       int `json:"marked"` // examples decided important

	AveragePrecision    float64 `json:"average_precision"`      // average precision of the scores at arrival, 0 to 1
	OneMinusROCAPercent float64 `json:"one_minus_roca_percent"` // 100 × (1 − area under the ROC curve), from the scores at arrival
	F1                  float64 `json:"f1"`                     // f1 of the decisions
	BestF1              float64 `json:"best_f1"`                // F1 of the best single threshold in hindsight

	Precision float64 `json:"precision"` // share of the examples decided important that were important
	Recall    float64 `json:"recall"`    // share of the important examples that were decided important

	// Steadiness says how well the decisions follow changes of the mail; only with enough
	// examples for a window.
	Steadiness *Steadiness `json:"steadiness,omitempty"`
	// Budget says how well the share to be marked was kept; only with the threshold
	// budget and enough examples for a window.
	Budget *BudgetKept `json:"budget,omitempty"`
	// First is about the first examples after the owner's first own message; only with
	// enough examples.
	First []First `json:"first,omitempty"`

	// Rules says what the rules decided and changed; only if there are rules.
	Rules *RulesResult `json:"rules,omitempty"`

	Baselines      Baselines `json:"baselines"`       // the two baselines, judged on the same stream
	BeatsBaselines bool      `json:"beats_baselines"` // whether the F1 of the decisions is greater by 0.05 than that of each baseline

	Features int64 `json:"features"`           // number of features, summed over the decided messages
	Weights  int   `json:"weights"`            // number of features with a weight at the end
	Supports int   `json:"supports,omitempty"` // number of examples that a kernel learner has at the end
	Bytes    int64 `json:"bytes"`              // size of all messages

	Seconds            float64 `json:"seconds"`              // wall time, including the search for labels
	MessagesPerSecond  float64 `json:"messages_per_second"`  // messages read per second of wall time
	MegabytesPerSecond float64 `json:"megabytes_per_second"` // megabytes (10⁶ bytes) read per second of wall time

	// Live is about the marks; only with live feedback.
	Live *LiveResult `json:"live,omitempty"`

	// Ask is about the questions to the owner; only if there were any.
	Ask *AskResult `json:"ask,omitempty"`
	// Heard is the share of the owner's answers that hinged learnt from; absent if it was
	// all of them.
	Heard float64 `json:"heard,omitempty"`

	Learner  LearnerResult `json:"learner"`  // the learner and its parameters
	Feedback Feedback      `json:"feedback"` // when labels arrived: immediate, delayed or live
	Labels   string        `json:"labels"`   // where labels came from: replies, folders, file or flags
	// LabelsUnmatched counts labels of the file that match no message.
	LabelsUnmatched int `json:"labels_unmatched,omitempty"`
	// PassedOver lists files in folders that hold no message, such as a mail program's
	// indexes.
	PassedOver []string `json:"passed_over,omitempty"`

	Digest      string `json:"digest"`       // digest of the whole state, in hexadecimal
	ModelDigest string `json:"model_digest"` // digest of the weights alone, in hexadecimal
}

// LearnerResult names the learner and its parameters. Parameters that this kind of
// learner does not use are left out.
type LearnerResult struct {
	Kind           string  `json:"kind"`                     // dual, passive-aggressive, margin or perceptron
	Margin         float64 `json:"margin,omitempty"`         // margin of the margin learner
	Aggressiveness float64 `json:"aggressiveness,omitempty"` // C of the dual and passive-aggressive learners
	Window         int     `json:"window,omitempty"`         // number of lessons that the dual learner replays from
	Steps          int     `json:"steps,omitempty"`          // steps of replay that the dual learner takes for each message
	KernelDegree   int     `json:"kernel_degree,omitempty"`  // degree of the kernel; absent for a linear learner
	MaxSupports    int     `json:"max_supports,omitempty"`   // maximum number of examples that a kernel learner keeps
}

// WriteJSON writes r as one indented JSON object.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes r for people.
func (r *Result) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	line("messages", "%d, %d of them the owner's own", r.Messages, r.Own)
	line("examples", "%d, %d of them important (labels from %s, feedback %s)", r.Examples, r.Important, r.Labels, r.Feedback)
	line("learner", "%s", r.Learner)
	line("mistakes", "%d of %d lessons, %d updates, hinge loss %.1f", r.Mistakes, r.Lessons, r.Updates, r.HingeLoss)
	line("ceiling", "%s", r.Ceiling)
	line("wrong decisions", "%d: %d false alarms, %d missed; %d unsure, %d of them for lack of labels", r.WrongDecisions, r.FalseAlarms, r.Missed, r.Unsure, r.TooFewLabels)
	line("marked", "%d, %.1f %% of the examples", r.Marked, 100*float64(r.Marked)/float64(max(1, r.Examples)))
	line("average precision", "%.4f", r.AveragePrecision)
	line("1-ROCA%%", "%.3f", r.OneMinusROCAPercent)
	line("F1", "%.4f; best of any fixed threshold, in hindsight: %.4f", r.F1, r.BestF1)
	if len(r.First) > 0 {
		line("first examples", "%s", firstDaysLine(r.First))
	}
	if l := r.Live; l != nil {
		line("marks", "%d after %d messages of the past, %d of them right: precision %.3f (status claims %.3f), recall %.3f, F1 %.4f", l.Marked, l.Past, l.Right, l.Precision, l.Claimed, l.Recall, l.F1)
		line("owner", "%d wrong marks taken off; %d messages came before the shadow ended, the first mark was on number %d", l.TakenOff, l.InShadow, l.FirstMark)
	}
	if a := r.Ask; a != nil {
		line("asked", "%d messages on %d evenings, %d a day at most: %d of them important, %d decided wrong", a.Messages, a.Evenings, a.Daily, a.Important, a.Wrong)
	}
	if r.Steadiness != nil {
		line("steadiness", "%s", r.Steadiness)
	}
	if r.Budget != nil {
		line("budget", "%s", r.Budget)
	}
	if r.Rules != nil {
		line("rules", "%s", r.Rules)
	}
	known := r.Baselines.KnownCorrespondents
	line("precision, recall", "%.3f, %.3f", r.Precision, r.Recall)
	line("known correspondents", "F1 %.4f, precision %.3f, recall %.3f, average precision %.4f", known.F1, known.Precision, known.Recall, known.AveragePrecision)
	line("never important", "F1 %.4f, average precision %.4f", r.Baselines.NeverImportant.F1, r.Baselines.NeverImportant.AveragePrecision)
	line("all important", "F1 %.4f, precision %.3f", r.Baselines.AlwaysImportant.F1, r.Baselines.AlwaysImportant.Precision)
	line("better than each", "%s", yesNo(r.BeatsBaselines))
	line("time", "%.1f s: %.0f messages/s, %.1f MB/s", r.Seconds, r.MessagesPerSecond, r.MegabytesPerSecond)
	learnt := fmt.Sprintf("%d weights", r.Weights)
	if r.Learner.KernelDegree != 0 {
		learnt = fmt.Sprintf("%d supports", r.Supports)
	}
	line("size", "%d features, %s, %d bytes", r.Features, learnt, r.Bytes)
	line("digest", "%s", r.Digest)
	if r.LabelsUnmatched > 0 {
		line("unmatched labels", "%d", r.LabelsUnmatched)
	}
	if n := len(r.PassedOver); n > 0 {
		line("passed over", "%d files that hold no message, such as %s", n, r.PassedOver[0])
	}
	return t.Flush()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// String names the learner and its parameters.
func (l LearnerResult) String() string {
	s := l.Kind
	if l.Margin != 0 {
		s += fmt.Sprintf(", margin %g", l.Margin)
	}
	if l.Aggressiveness != 0 {
		s += fmt.Sprintf(", aggressiveness %g", l.Aggressiveness)
	}
	if l.Window != 0 {
		s += fmt.Sprintf(", window %d, steps %d", l.Window, l.Steps)
	}
	if l.KernelDegree != 0 {
		s += fmt.Sprintf(", kernel_degree %d, max_supports %d", l.KernelDegree, l.MaxSupports)
	}
	return s
}

func learnerResult(o filter.Options) LearnerResult {
	s := o.Learner
	l := LearnerResult{Kind: string(s.Kind)}
	switch s.Kind {
	case model.KindMargin:
		l.Margin = s.Margin
	case model.KindPassiveAggressive:
		l.Aggressiveness = s.Aggressiveness
	case model.KindDual:
		l.Aggressiveness = s.Aggressiveness
		if o.Kernel == (filter.Kernel{}) {
			l.Window, l.Steps = o.Dual.Window, o.Dual.Steps
		}
	}
	l.KernelDegree, l.MaxSupports = int(o.Kernel.Degree), o.Kernel.Budget
	return l
}
