package evaluate

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Result is what one play gave. Its JSON is the output of `hinged eval --json`;
// keys are only ever added.
type Result struct {
	// Messages counts all that were read, Own those from the owner, and Examples
	// those that were decided and whose label is known. The figures below are of
	// the examples. A second copy of a message is no example.
	Messages  int `json:"messages"`
	Own       int `json:"own"`
	Examples  int `json:"examples"`
	Important int `json:"important"` // examples that were

	// Mistakes are labels learnt that the score at that moment was wrong about;
	// HingeLoss is the sum over all labels learnt, Updates count changes of w.
	Mistakes  uint64  `json:"mistakes"`
	Updates   uint64  `json:"updates"`
	Lessons   uint64  `json:"lessons"`
	HingeLoss float64 `json:"hinge_loss"`

	// WrongDecisions is FalseAlarms, ordinary messages decided important, and
	// Missed, important ones that were not. Unsure is not marked.
	WrongDecisions int `json:"wrong_decisions"`
	FalseAlarms    int `json:"false_alarms"`
	Missed         int `json:"missed"`
	Unsure         int `json:"unsure"`

	// Of the scores at arrival; F1 is that of the decisions made.
	AveragePrecision    float64 `json:"average_precision"`
	OneMinusROCAPercent float64 `json:"one_minus_roca_percent"`
	F1                  float64 `json:"f1"`
	BestF1              float64 `json:"best_f1"`

	Features int64 `json:"features"` // summed over the messages decided
	Weights  int   `json:"weights"`  // in the end
	Bytes    int64 `json:"bytes"`    // of all messages

	Seconds            float64 `json:"seconds"` // wall time, finding the labels included
	MessagesPerSecond  float64 `json:"messages_per_second"`
	MegabytesPerSecond float64 `json:"megabytes_per_second"` // of 10⁶ bytes

	Learner  LearnerResult `json:"learner"`
	Feedback Feedback      `json:"feedback"`
	Labels   string        `json:"labels"` // where they came from: replies, folders or file
	// LabelsUnmatched counts lines of the label file without a message.
	LabelsUnmatched int `json:"labels_unmatched,omitempty"`

	// Digest is that of the whole state, ModelDigest of the weights alone.
	Digest      string `json:"digest"`
	ModelDigest string `json:"model_digest"`
}

// LearnerResult names the learner with its parameters; those that its kind has
// no use for are left out.
type LearnerResult struct {
	Kind           string  `json:"kind"`
	Margin         float64 `json:"margin,omitempty"`
	Aggressiveness float64 `json:"aggressiveness,omitempty"`
	Variant        int     `json:"variant,omitempty"`
	Zero           string  `json:"zero"`
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
	line("wrong decisions", "%d: %d false alarms, %d missed; %d unsure", r.WrongDecisions, r.FalseAlarms, r.Missed, r.Unsure)
	line("average precision", "%.4f", r.AveragePrecision)
	line("1-ROCA%%", "%.3f", r.OneMinusROCAPercent)
	line("F1", "%.4f; best of any fixed threshold, in hindsight: %.4f", r.F1, r.BestF1)
	line("time", "%.1f s: %.0f messages/s, %.1f MB/s", r.Seconds, r.MessagesPerSecond, r.MegabytesPerSecond)
	line("size", "%d features, %d weights, %d bytes", r.Features, r.Weights, r.Bytes)
	line("digest", "%s", r.Digest)
	if r.LabelsUnmatched > 0 {
		line("unmatched labels", "%d", r.LabelsUnmatched)
	}
	return t.Flush()
}

// String names the learner the way the command line does.
func (l LearnerResult) String() string {
	s := l.Kind
	if l.Margin != 0 {
		s += fmt.Sprintf(" --margin %g", l.Margin)
	}
	if l.Aggressiveness != 0 {
		s += fmt.Sprintf(" --aggressiveness %g", l.Aggressiveness)
	}
	if l.Variant != 0 {
		s += fmt.Sprintf(" --variant %d", l.Variant)
	}
	return s + " --zero " + l.Zero
}
