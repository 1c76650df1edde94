// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
)

// Learning stops without a sound when the owner's words do not reach the server, or are
// said in another way than hinged listens for. These are the signs of that.

const (
	// deafDays is after how many days of activity without a word from the owner
	// something must be wrong with how words are heard.
	deafDays = 14
	// unheardDays is on how many days the owner must have set or removed keywords that
	// mean nothing to hinged, and given no word since the first of them.
	unheardDays = 5
	// idleTime is for how long mail may come without any lesson, that of silence
	// included: longer than most holidays.
	idleTime = 30 * 24 * time.Hour
)

// silentLearning says in words that learning has stopped, and what to do; "" when it
// has not.
func silentLearning(f *filter.Filter) string {
	a := &f.State().Account
	if a.Paused {
		return ""
	}
	if a.UnheardDays >= unheardDays {
		return fmt.Sprintf("learning has stopped: on %d days you set or removed keywords that hinged doesn't know (the last: %s), and since then it has seen no answer, star, mark, junk or deletion of yours; if you mark mail with such a keyword, name it in `mark` of the configuration",
			a.UnheardDays, a.UnheardFlag)
	}
	if deaf := a.ActiveDays - min(a.HeardDay, a.ActiveDays); deaf >= deafDays && a.Messages > a.HeardSeq {
		state := "learning has stopped"
		if a.LastLesson != 0 && a.LastArrival < a.LastLesson.Add(deafDays*24*time.Hour) {
			state = "hinged learns from your silence alone" // or from what is read
		}
		return fmt.Sprintf("%s: mail arrived and you were active on %d days, but hinged saw no answer, star, mark, junk or deletion of yours; is the folder with your sent mail watched, and does your mail program store its flags on the server?", state, deaf)
	}
	if since := max(a.LastLesson, a.Awaited); since != 0 && a.LastArrival >= since.Add(idleTime) {
		seen := "hinged saw nothing that you did with your mail"
		if a.LastActive > since {
			seen = "hinged saw no answer, star, mark, junk or deletion of yours"
		}
		return fmt.Sprintf("learning has stopped: mail came for %d days, hinged learnt nothing, and %s; does your mail program use IMAP and store its flags on the server, and are the folders watched that you use?",
			int(a.LastArrival.Time().Sub(since.Time())/(24*time.Hour)), seen)
	}
	return ""
}

// Marking says in words whether marks are set and, if not, what is missing.
func Marking(f *filter.Filter) string {
	o, line := f.Options(), f.Line()
	switch c := line.Cut(); {
	case f.State().Account.Paused:
		return "no: paused"
	case o.Shadow == filter.ShadowOn:
		return "no: shadow is on; hinged records its decisions and sets no mark"
	case !o.SetsMarks():
		return "no: no mark is configured"
	case line.InShadow() && !c.Kept:
		return fmt.Sprintf("no: even of the messages that it is surest of, only %.0f %% are likely to be important; it marks nothing until %s",
			100*c.Precision, asked(f))
	case line.InShadow():
		return fmt.Sprintf("not yet: of the messages that it learnt from, %d are important; the first marks come with %d", line.Standing().Important, filter.FirstLabels)
	default:
		marks := o.Marks
		if o.CopyTo != "" {
			marks = append(slices.Clone(marks), "a copy in "+o.CopyTo)
		}
		yes := "yes: " + strings.Join(marks, ", ")
		if line.FewADay() {
			return fmt.Sprintf("%s; at most %d a day, the surest, until %d important messages are known (now %d)", yes, filter.FirstMarks, filter.JudgedLabels, line.Standing().Important)
		}
		if o.Threshold.Mode == filter.ModeMissed {
			return fmt.Sprintf("%s; to miss at most %.0f %% of what matters takes about %.0f marks per 100 messages", yes, 100*o.Threshold.Missed, 100*f.Status.Counts().Above)
		}
		return yes
	}
}

// asked says in words which precision marks must have.
func asked(f *filter.Filter) string {
	t := f.Options().Threshold
	if promise := percentImportant(f)/100 + filter.BetterBy; promise > t.Precision {
		return fmt.Sprintf("%.0f %% are, more than if everything was marked", 100*promise)
	}
	return fmt.Sprintf("%.0f %% are, as promised (threshold.precision)", 100*t.Precision)
}

// EndOfShadow says in words what would end the shadow; "" when there is none, or
// nothing but the owner's word can end it.
func EndOfShadow(f *filter.Filter) string {
	o := f.Options()
	if !f.Line().InShadow() || o.Shadow == filter.ShadowOn || f.State().Account.Paused || !o.SetsMarks() {
		return ""
	}
	want := "better decisions, which it learns from what you star, answer or mark"
	if !f.Line().Cut().Kept {
		want += "; or a lower threshold.precision"
	} else if n := filter.FirstLabels - f.Line().Standing().Important; n > 0 {
		noun := "messages"
		if n == 1 {
			noun = "message"
		}
		want = fmt.Sprintf("%d more %s that you star, answer or mark", n, noun)
	} else {
		want = "a message that you throw away unread or leave alone"
	}
	return want + `; or shadow = "off" in the configuration`
}

// Warnings says in words what the owner should look into, the gravest first.
func Warnings(f *filter.Filter) []string {
	a, o, line := &f.State().Account, f.Options(), f.Line()
	out := []string{}
	if why := silentLearning(f); why != "" {
		out = append(out, why)
	}
	if why := Strangers(f); why != "" {
		out = append(out, why)
	}
	if d, c := line.Standing().Decisions, line.Standing().Correspondents; o.Shadow == filter.ShadowAuto && a.Proven && d.F1() <= c.F1() && d.Precision() <= c.Precision() {
		out = append(out, fmt.Sprintf("over the last %d labels its decisions have F1 %.2f, knowing your correspondents alone has %.2f: its marks are of little use now; shadow = \"on\" stops them",
			line.Standing().Labels, d.F1(), c.F1()))
	}
	if n, long := f.Status.Passed(); long && !line.InShadow() && !a.Paused && o.SetsMarks() {
		out = append(out, fmt.Sprintf("hinged has marked nothing for a long time: none of the last %d messages scored above the threshold, but %.0f %% of those judged recently were important; star or mark what hinged should have marked, and it learns from that",
			n, percentImportant(f)))
	}
	rules, _ := f.Explainer.Rules()
	if why := Forgeable(rules, o.Featurize.AuthServID); why != "" {
		out = append(out, why)
	}
	return out
}

// percentImportant is how much of what was labelled recently was important.
func percentImportant(f *filter.Filter) float64 {
	s := f.Line().Standing()
	return 100 * float64(s.Important) / float64(max(1, s.Labels))
}

// Strangers says in words that another program sets the mark, or did not long ago; ""
// if none did.
func Strangers(f *filter.Filter) string {
	a := &f.State().Account
	if a.Strangers == 0 || a.Clock > a.StrangerAt.Add(filter.StrangerMemory) {
		return ""
	}
	who, also := "another program sets the same mark in this mailbox", ""
	switch {
	case a.Twins == a.Strangers:
		who = "another hinged sets the same mark in this mailbox"
	case a.Twins > 0:
		who = "another hinged and another program set the same mark in this mailbox"
	}
	day := func(at time.Time) string { return at.In(f.Zone()).Format("2 January 2006") }
	if f.Voice.ProgramKnown() {
		also = ", nor, until " + day(a.HastyAt.Add(filter.StrangerMemory).Time()) + ", from marks that appear while it isn't running"
	}
	return fmt.Sprintf("%s (%d so far, last on %s); hinged learns nothing from its marks%s, and you can't tell them from hinged's: choose another mark here, or switch one of the programs off",
		who, a.Strangers, day(a.StrangerAt.Time()), also)
}

// Reading says how much reading tells of this owner, from 0 to 1, and why, in words.
func Reading(f *filter.Filter) (tells float64, words string) {
	r := &f.State().Account.Reading
	tells = f.People.ReadingTells()
	opened := r.Read + r.Done
	read := fmt.Sprintf("you read %d of the last %d messages", opened, opened+r.Passed)
	if r.Done > 0 {
		read += fmt.Sprintf(" and threw %d of them away", r.Done)
	}
	switch {
	case opened+r.Passed < 2*filter.ReadLeast:
		return tells, "nothing yet: too little was seen of what you read"
	case tells == 0 && opened < filter.ReadLeast:
		return tells, "nothing: " + read
	case tells < filter.ReadEnough:
		return tells, "next to nothing: " + read
	default:
		return tells, "what you read and keep counts as a small yes: " + read
	}
}

// Forgeable says in words, of rules on From that nobody vouches for, that they can
// be met by forgery; "" where there is none.
func Forgeable(rules []filter.Rule, authServID string) string {
	if authServID != "" {
		return ""
	}
	n, one := 0, ""
	for _, r := range rules {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(r.Match)), "from:") {
			n, one = n+1, r.Match
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		one = fmt.Sprintf("the rule on %q believes", one)
	default:
		one = fmt.Sprintf("%d rules on senders believe", n)
	}
	return one + ` what From says, and anybody can write that; if you set authserv_id, hinged believes only senders that your own mail server vouches for`
}
