// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"fmt"
	"io"
)

// GetThreshold tells what scores are compared with now.
var GetThreshold = offer(Verb[ThresholdRequest, Threshold]{
	Name: "threshold", do: ofAccount(getThreshold),
	API: &API{Summary: "What scores are compared with now", Reads: true, Figures: true},
	Help: &Help{
		Group: ToSee,
		Use:   "threshold",
		Short: "Show what scores are compared with",
		Long:  "Show the threshold of an account: a message with a higher score is important.",
		Example: `  $ hinged threshold --digits 2
  me: +0.25`,
	},
	Text: func(w io.Writer, t Threshold) error {
		_, err := fmt.Fprintf(w, "%s: %+.*f\n", t.Account, t.Digits, t.Threshold)
		return err
	},
})

// ThresholdRequest says how it is to be shown.
type ThresholdRequest struct {
	Digits int `json:"digits,omitempty" flag:"digits,,3" usage:"show COUNT digits after the point"`
}

// Threshold is the answer.
type Threshold struct {
	Account   string  `json:"account"`   // Account is the account that was asked for.
	Threshold float64 `json:"threshold"` // Threshold is the score above which a message is important.
	Digits    int     `json:"digits"`    // Digits is the request's.
}

func getThreshold(ctx context.Context, a Account, q ThresholdRequest) (t Threshold, err error) {
	err = a.Look(ctx, func(d *Desk) error {
		t = Threshold{Account: d.Account, Threshold: d.Filter.Status.Counts().Threshold, Digits: q.Digits}
		return nil
	})
	return t, err
}
