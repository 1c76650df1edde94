// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"

	"github.com/hinged/hinged/internal/face/desk"
)

// What a verdict is taken from must be worth it: fewer judged messages say little.
const fewJudged = 10

// Below these shares, marks are kept too rarely, or important mail is found too rarely,
// to call it good.
const (
	goodKept  = 0.8
	goodFound = 0.75
	fairFound = 0.5
	// goodRight is the share of decisions for a mark that turned out right, by what is
	// known: a mark that was left alone on ordinary mail is wrong, too.
	goodRight = 0.6
)

// verdict says in one sentence how an account is doing, and in some more what shows it.
// Nothing is said that the figures don't support.
type verdict struct {
	Headline string
	Subs     []string
}

// judge says it. own: the viewer is the owner.
func judge(st *desk.AccountStatus, t *desk.Trend, own bool) verdict {
	you := "The owner"
	if own {
		you = "You"
	}
	switch {
	case st.InSnapshot:
		return verdict{Headline: "Not read in yet: its state is still in a snapshot."}
	case st.Paused:
		return verdict{"Paused: it reads nothing, marks nothing and learns nothing.", []string{"Your mail program shows your mail as ever."}}
	case st.Messages == 0:
		return verdict{"It has seen no mail yet.", []string{"hinged watches INBOX and learns from what you answer, star, junk and throw away. At first it marks nothing. You need not do anything."}}
	case st.InShadow:
		v := verdict{Headline: "In shadow: it decides and learns, and marks nothing yet."}
		if st.EndOfShadow != "" {
			v.Subs = append(v.Subs, "To begin, it needs "+st.EndOfShadow+".")
		}
		return v
	case st.KnownImportant == 0 || st.Ordinary == 0:
		return verdict{"It is learning, and can’t decide yet.", []string{fmt.Sprintf("It has learnt from %s and %s; it needs one of each.",
			plural(st.KnownImportant, "important message", "important messages"), plural(int(st.Ordinary), "ordinary one", "ordinary ones"))}}
	}
	s := &t.Sum
	marks := marksKept(&s.TrendCounts, you)
	missed := fmt.Sprintf("it missed %s", plural(s.Missed, "message", "messages"))
	if s.Missed == 0 {
		missed = "it missed nothing"
	}
	v := verdict{Subs: []string{comparison(s)}}
	switch {
	case s.Marked == 0 && s.Missed == 0:
		v.Headline = "It marked nothing, and nothing that it missed is known."
	case s.Marked == 0:
		v.Headline = fmt.Sprintf("It marked nothing, and %s.", missed)
	case s.Judged < fewJudged:
		v.Headline = fmt.Sprintf("It has begun. %s, and %s.", marks, missed)
	default:
		v.Headline = fmt.Sprintf("%s %s, and %s.", quality(s), marks, missed)
	}
	return v
}

func marksKept(c *desk.TrendCounts, you string) string {
	if c.Undone > 0 && c.KeptOrTakenOff() == 0 {
		return fmt.Sprintf("Its %s undone", plural(c.Undone, "mark was", "marks were"))
	}
	text := fmt.Sprintf("%s kept %s of its %s", you, count(c.Kept), plural(c.KeptOrTakenOff(), "mark", "marks"))
	if c.Undone > 0 {
		text += fmt.Sprintf(" (%s undone)", plural(c.Undone, "more was", "more were"))
	}
	return text
}

// tooFewKept reports whether the owner took off too large a share of the marks. If most were
// undone, the others don't tell: an undo takes those that were kept, and leaves those that had
// been taken off.
func tooFewKept(c *desk.TrendCounts) bool {
	all := c.KeptOrTakenOff()
	return c.Undone <= all && float64(c.Kept) < goodKept*float64(all)
}

// quality says it in a few words, from what is judged.
func quality(s *desk.TrendPeriod) string {
	switch {
	case s.Wrong > s.SimpleRule:
		return "A simple rule would do better."
	case tooFewKept(&s.TrendCounts):
		return "It marks too much."
	case float64(s.Found) < fairFound*float64(s.Found+s.Missed):
		return "It misses too much."
	case s.Wrong == s.SimpleRule:
		return "It is as good as a simple rule."
	}
	if float64(s.Found) < goodRight*float64(s.Found+s.FalseAlarms) {
		return "It works, and marks more than it should."
	}
	if float64(s.Found) < goodFound*float64(s.Found+s.Missed) {
		return "It works, and misses some."
	}
	return "It works well."
}

func comparison(s *desk.TrendPeriod) string {
	if s.Judged == 0 {
		return fmt.Sprintf("%s, and what you think of them is not known yet.", plural(s.Decided, "decision", "decisions"))
	}
	return fmt.Sprintf("%s of %s that are judged by now. Marking everyone you have written to would have made %s.",
		plural(s.Wrong, "wrong decision", "wrong decisions"), count(s.Judged), count(s.SimpleRule))
}

type next struct {
	Text   string
	Button string // "" if there is nothing to press
	Href   string // where the button leads; "" if it is a form
	Action string // of the form
	Code   string // a command
	Else   string
}

func advise(p *page, st *desk.AccountStatus) next {
	const mail = "Or nothing: using your mail teaches it, too."
	switch {
	case !p.owns(p.Account):
		return next{Text: "Nothing: its owner's mail teaches it."}
	case st.Paused:
		return next{Text: "It does nothing until you resume it. Mail that came meanwhile is read then.", Button: "Resume", Action: p.URL("resume")}
	case st.ConsentNeeded:
		return next{Text: "Log in with your mail provider again. hinged then goes on by itself."}
	case st.Important+st.Ordinary == 0:
		return next{Text: "Save it two weeks: let it learn from the mail that you already have. Stop hinged, run this, and start hinged again. It reads twelve months and changes nothing in your mailbox.", Code: "hinged bootstrap", Else: "Or nothing: it learns from your mail as it comes."}
	case p.Asking > 0:
		return next{Text: questionsText[p.Asking-1] + " " + "An answer teaches it most where it is least sure.", Button: answerButton[p.Asking-1], Href: p.URL("ask"), Else: mail}
	case st.InShadow:
		return next{Text: "Star messages that matter to you, or answer them.", Else: "It begins by itself when it is good enough."}
	}
	return next{Text: "Nothing. Answer, star and throw away your mail as you always do: that teaches it."}
}

var (
	questionsText = [...]string{"Answer a question.", "Answer two questions.", "Answer three questions."}
	answerButton  = [...]string{"Answer a question", "Answer two questions", "Answer three questions"}
)
