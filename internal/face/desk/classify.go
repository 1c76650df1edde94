// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/host/passthrough"
	"github.com/hinged/hinged/store"
)

// Classify decides a message as if it had just arrived.
var Classify = offer(Verb[ClassifyRequest, Classification]{
	Name: "classify", do: ofAccount(classify),
	API: &API{Summary: "Decide about a message as if it had just arrived"},
})

// ClassifyRequest is a raw message.
type ClassifyRequest struct {
	Mail []byte
	// Brief: the parts of the score need not be found out. Only a host in the same process
	// hears of it; others answer with the parts.
	Brief bool
}

// Raw implements Raw.
func (q *ClassifyRequest) Raw() *[]byte { return &q.Mail }

// Classification is what `hinged classify` prints for one message.
type Classification struct {
	File      string  `json:"file,omitempty"` // the path, with # and the number of the message if a file has several; - is standard input
	Outcome   string  `json:"outcome"`        // important, unsure or ordinary
	Reason    string  `json:"reason"`         // what decided: the threshold, or the reason for another outcome
	Score     float64 `json:"score"`          // score that the message would have if it arrived now
	Threshold float64 `json:"threshold"`      // threshold that the score is compared with
	// Probability is how likely the message is important, by how labels followed such
	// scores; absent while too little is known.
	Probability float64  `json:"probability,omitempty"`
	Defects     []string `json:"defects,omitempty"` // what is broken in the message, in words
	Parts       []Part   `json:"parts,omitempty"`   // the 24 strongest parts of the score, by descending |amount|; explain has all
}

// strongestParts is how many parts a Classification has. All are hundreds, and writing them
// took longer than the decision.
const strongestParts = 24

// classify reads the message beside the account's writer; only the decision waits
// for it.
func classify(ctx context.Context, a Account, q ClassifyRequest) (c Classification, err error) {
	r, err := a.Reader(ctx)
	if err != nil {
		return c, err
	}
	if q.Brief {
		r = r.Nameless()
	}
	m, err := r.Read(ctx, passthrough.Strip(q.Mail))
	if err != nil {
		return c, err
	}
	err = a.Look(ctx, func(d *Desk) error {
		err := d.Filter.Classify(m, func(v filter.Decision, features *featurize.Features) {
			c = Classification{
				Outcome: v.Outcome.String(), Reason: v.Reason.String(), Score: v.Score, Threshold: v.Threshold, Probability: filter.Rounded(float32(v.Probability)),
				Defects: m.Defects,
			}
			if !q.Brief {
				c.Parts = partsOf(d.Filter.Explainer.Strongest(features, strongestParts))
			}
		})
		if d.Filter.State().Account.Paused {
			// Off is off for mail filters, too.
			c.Outcome, c.Reason = store.DecidedUnsure.String(), ErrPaused.Error()
		}
		return err
	})
	return c, err
}

// Verdict puts a decision into words: always the score with its threshold.
func Verdict(outcome, reason string, score, threshold float64) string {
	s := fmt.Sprintf("%s, score %+.3f, threshold %+.3f", outcome, score, threshold)
	if reason != "" && reason != store.ReasonThreshold.String() {
		s += " (" + reason + ")"
	}
	return s
}

// Fields returns what a mail filter writes into the message: the header fields
// X-Hinged-Status and X-Hinged-Reason, each line ending in LF.
func (c *Classification) Fields() []byte {
	var status strings.Builder
	fmt.Fprintf(&status, "%s; score=%+.2f; threshold=%.2f", c.Outcome, cents(c.Score), cents(c.Threshold))
	if c.Reason == store.ReasonShadow.String() {
		// A rule that marks what is important waits for the shadow's end by this.
		status.WriteString("; shadow")
	}
	fields := passthrough.AppendField(nil, "X-Hinged-Status", status.String())
	return passthrough.AppendField(fields, "X-Hinged-Reason", c.why())
}

// cents rounds as two digits show it, without a zero below zero.
func cents(x float64) float64 { return math.Round(x*100)/100 + 0 }

// In a header field, so many parts of the score, and none that would show as 0.
const (
	whyParts = 5
	whyLeast = 0.0005
)

// why says in plain words what decided: the strongest parts of the score.
func (c *Classification) why() string {
	var list []string
	if c.Reason != store.ReasonThreshold.String() {
		list = append(list, c.Reason)
	}
	named := 0
	for _, p := range c.Parts {
		if p.Name == "" || p.Group == featurize.Constant.String() || p.About == string(words.FacetAbsent) || math.Abs(p.Amount) < whyLeast {
			continue // nobody looks for what is not there
		}
		if named++; named > whyParts {
			break
		}
		list = append(list, fmt.Sprintf("%s %+.3f", words.Describe(p.Name), p.Amount))
	}
	if len(list) == 0 {
		return "nothing in it is known yet"
	}
	return strings.Join(list, "; ")
}
