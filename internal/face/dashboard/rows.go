// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"strings"

	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

// messageRow is one message of a list, as templates need it.
type messageRow struct {
	desk.MessageSummary
	From    string // by name where that is known
	Subject string
	Scale   plot.Scale
	Why     string // the strongest reasons, in words
	Said    string // the owner's label, if they gave one: important or ordinary
	Wrong   string // how its decision was wrong; "" if it was not, as far as is known
	SoFar   bool   // that is not final
	Done    string // what came of it, in a sentence; "" if there is nothing to say
	Dated   bool   // no heading says its day
	Odds    string // how many such messages mattered, in words; "" if that is not known
	Changes bool   // with the buttons
	Back    string // where the buttons lead back to
}

type lessonRow struct {
	desk.LessonSummary
	Did, Tail     string // what the owner did, before and after the name of the message
	Subject, From string
	Judged        string // the decision at arrival, in words
}

// headings reads subjects and senders' names of messages. Where that fails, a page does
// without: it is no error.
func (s *Server) headings(ctx context.Context, p *page, keys []string) desk.Headings {
	if len(keys) == 0 || !p.owns(p.Account) {
		return desk.Headings{}
	}
	h, err := desk.GetHeadings.Do(ctx, s.opts.Host, p.Account, desk.HeadingsRequest{Messages: keys[:min(len(keys), desk.MostHeadings)]})
	if err != nil {
		s.log.Warn("can't read subjects for the dashboard", "account", p.Account, "error", err)
		return desk.Headings{Problem: "the mail server could not be asked"}
	}
	return h
}

// summaries says what became of messages, by key. What is not known is left out.
func (s *Server) summaries(ctx context.Context, p *page, keys []string) (map[string]desk.MessageSummary, error) {
	about := make(map[string]desk.MessageSummary, len(keys))
	if len(keys) == 0 {
		return about, nil
	}
	list, err := desk.GetMessages.Do(ctx, s.opts.Host, p.Account, desk.MessagesRequest{Messages: keys, Most: len(keys)})
	for _, m := range list.Messages {
		about[m.Message] = m
	}
	return about, err
}

// subjectOf is what to call a message: its subject, or else words of it that are kept, or
// else that it isn't at hand.
func subjectOf(h desk.Headings, key string, kept []string) string {
	if of, ok := h.Headings[key]; ok {
		if subject := desk.OneLine(of.Subject, longest); subject != "" {
			return subject
		}
		return "(no subject)"
	}
	if len(kept) > 0 {
		return desk.OneLine("("+strings.Join(kept, " ")+")", longest)
	}
	return "(subject not at hand)"
}

func fromOf(h desk.Headings, key, address string) string {
	if from := desk.OneLine(h.Headings[key].From, longest); from != "" {
		return from
	}
	if address == "" {
		return "(sender not kept)"
	}
	return desk.OneLine(address, longest)
}

// longest is how much of a subject or a name is shown, in characters.
const longest = 300

// scaleOf is what the score bars of a list have in common.
func scaleOf(list desk.Messages) plot.Scale {
	scores := []float64{list.Threshold}
	for _, m := range list.Messages {
		scores = append(scores, m.Score)
	}
	return plot.Scale{Threshold: list.Threshold, UnsureFrom: list.UnsureFrom, Range: plot.RangeOf(scores...)}
}

func messageRows(list []desk.MessageSummary, h desk.Headings, scale plot.Scale) []messageRow {
	rows := make([]messageRow, 0, len(list))
	for _, m := range list {
		rows = append(rows, messageRow{
			MessageSummary: m, From: fromOf(h, m.Message, m.From), Subject: subjectOf(h, m.Message, m.Subject), Scale: scale,
			Why: why(m.Rule, m.Outcome, m.For, m.Against), Said: saidBy(m.Label, m.Source), Odds: odds(m.Outcome, m.Probability),
		})
	}
	return rows
}

func odds(outcome string, p float64) string {
	if outcome == "ordinary" {
		return ""
	}
	return words.InTen(p)
}

// saidBy is the label if the owner gave it, and not silence.
func saidBy(label, source string) string {
	if source == "silence" || source == "provisional" {
		return ""
	}
	return label
}

// why joins the strongest reasons: of an important message those for it, of an ordinary
// one those against it first.
func why(rule, outcome string, speaksFor, against []string) string {
	if rule != "" {
		return "your rule " + rule
	}
	all := append(speaksFor[:min(2, len(speaksFor)):min(2, len(speaksFor))], against[:min(1, len(against))]...)
	if outcome == "ordinary" {
		all = append(against[:min(2, len(against)):min(2, len(against))], speaksFor[:min(1, len(speaksFor))]...)
	}
	return curly(strings.Join(all[:min(2, len(all))], "; "))
}

func lessonRows(list desk.LessonList, h desk.Headings) []lessonRow {
	rows := make([]lessonRow, 0, len(list.Lessons))
	for _, l := range list.Lessons {
		r := lessonRow{LessonSummary: l, Subject: subjectOf(h, l.Message, l.Subject), From: fromOf(h, l.Message, l.From)}
		r.Did, r.Tail = words.DeedAround(l.Label, l.Source)
		r.Did = title(r.Did)
		switch {
		case l.Outcome == "undecided":
		case l.Outcome == "important" && l.Marked:
			r.Judged = "marked"
		case l.Wrong && l.Label == "important":
			r.Judged = "missed"
		case l.Wrong:
			r.Judged = "a false alarm"
		default:
			r.Judged = "called " + l.Outcome
		}
		rows = append(rows, r)
	}
	return rows
}
