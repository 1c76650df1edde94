// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"fmt"
	"math"
)

// chanceMost is the chance from which on a difference counts as noise. Two are tested, so
// that together one in twenty comparisons of settings that are equally good says otherwise.
const chanceMost = 0.025

// fewest is how many messages must differ for a sign test to reach that: all of them
// in one direction.
const fewest = 7

// signTest returns the probability of a split at least as uneven as a to b if each of the
// a+b were as likely to fall on either side: the exact two-sided sign test, which on pairs
// is McNemar's. 1 if there are none.
func signTest(a, b int) float64 {
	n, sum := a+b, 0.0
	lfact := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	for k := range min(a, b) + 1 {
		sum += math.Exp(lfact(n) - lfact(k) - lfact(n-k) - float64(n)*math.Ln2)
	}
	return min(1, 2*sum)
}

// split is a number of messages that the other settings alone would have marked, and that
// of those that today's alone would have.
type split struct{ other, today int }

// direction is 1 if the other settings clearly mark more of them, -1 if fewer, and 0 if
// the difference may be chance.
func (s split) direction() int {
	switch {
	case signTest(s.other, s.today) >= chanceMost:
		return 0
	case s.other > s.today:
		return 1
	default:
		return -1
	}
}

// judge finds the verdict.
//
// The rule: of the messages that only one of the two settings would have marked, those
// count whose label is known, silence included. Among the important ones it matters which
// settings find more, among the ordinary ones which mark fewer; each by a sign test. One of
// the settings is better if it is so in one of the two, and the other one is not in the
// other. If each is better in one, that is a choice that no figure makes for the owner:
// F1 would set a price for it, and so would counting every message once.
func (r *Run) judge() Verdict {
	found, wrong := split{r.FoundOther, r.FoundToday}.direction(), split{r.FalseOther, r.FalseToday}.direction()
	switch {
	case r.Differ == 0:
		return Same
	case found == 0 && wrong == 0:
		return Unclear
	case found*wrong > 0:
		return Choice
	case found > 0 || wrong < 0:
		return Better
	default:
		return Worse
	}
}

// recommend says in words what the figures support. silent are those of the messages that
// differ that count as ordinary because the owner did nothing with them.
func (r *Run) recommend(silent int) string {
	if r.Messages == 0 {
		return "There is nothing to replay yet."
	}
	found, wrong := r.FoundOther-r.FoundToday, r.FalseOther-r.FalseToday
	var head string
	switch r.Verdict {
	case Same:
		return fmt.Sprintf("Nothing would be different: both settings would mark the same %s.", count(r.Today.Marked, "message"))
	case Better:
		head = "The other settings would have been better."
	case Worse:
		head = "Keep today's settings."
	case Choice:
		if found > 0 {
			head = fmt.Sprintf("This is for you to choose: the other settings find %s, and put %s on ordinary mail.",
				count(found, "more important message"), count(wrong, "more mark"))
		} else {
			head = fmt.Sprintf("This is for you to choose: the other settings put %s on ordinary mail, and miss %s.",
				count(-wrong, "fewer mark"), count(-found, "more important message"))
		}
	default:
		head = "The difference may be chance."
		if max(r.FoundOther+r.FoundToday, r.FalseOther+r.FalseToday) < fewest {
			head = "There are too few labels to tell."
		}
	}
	a, b := &r.Today, &r.Other
	out := fmt.Sprintf("%s The other settings would mark %.1f %% of the mail instead of %.1f %%. They find %d of %s instead of %d, and mark %s instead of %d.",
		head, 100*b.Share, 100*a.Share, b.Right, count(b.Right+b.Missed, "important message"), a.Right,
		count(b.TakenOff+b.LeftAlone, "ordinary message"), a.TakenOff+a.LeftAlone)
	if silent > 0 {
		out += fmt.Sprintf(" Of the %s on which they differ, %d count as ordinary because you did nothing with them.", count(r.Differ, "message"), silent)
	}
	return out
}

// count is a number of things, in words.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
