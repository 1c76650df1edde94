// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

type messageData struct {
	Key, Subject, From, Mailbox string

	Arrived *time.Time
	Outcome string // at arrival; "" for a message that was not decided
	Because string // why, after the outcome
	Against string // what speaks the other way
	Odds    string // how many such messages mattered, in words
	Now     string // what would be decided now, where that is something else
	Wrong   string // how the decision was wrong
	SoFar   bool   // that is not final
	Said    string // the owner's label
	Changes bool
	Undo    string // where its mark is taken back; "": there is none
	Marked  string // what became of its mark, in a sentence
	NoWords string // why there is no explanation

	Ex      *desk.Explanation
	Steps   []step
	Total   template.HTML // the row of the sum
	Starred bool
	Flips   []flip
	Record  []fact
	Pulls   []pullRow
	Rest    []pullRow // what is not told lesson by lesson
	Others  []other
	Problem string
}

type fact struct {
	Name, Text string
	Code       bool
	At         *time.Time // instead of Text
}

type flip struct {
	Score   string
	Outcome string
	Text    string
}

type pullRow struct {
	desk.LessonPull
	Subject, From, Did string
	Bar                template.HTML
}

type other struct{ Key, Text string }

func (s *Server) message(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active, p.Live = "Message", "messages", true
	key := r.PathValue("key")
	if !isKey(key) {
		return errNotFound
	}
	d, err := s.messageOf(r.Context(), p, key)
	if err != nil {
		return err
	}
	p.Title = d.Subject
	return s.render(w, r, p, "message", d)
}

func (s *Server) messageOf(ctx context.Context, p *page, key string) (*messageData, error) {
	d := &messageData{Key: key}
	ex, err := desk.Explain.Do(ctx, s.opts.Host, p.Account, desk.ExplainRequest{Message: desk.Message{Name: key}})
	wordless := errors.Is(err, desk.ErrNoWords)
	if err != nil && !wordless {
		return nil, err
	}
	ledger, err := desk.GetLedger.Do(ctx, s.opts.Host, p.Account, desk.LedgerRequest{Message: key})
	if err != nil {
		return nil, err
	}
	keys := append([]string{key}, ex.Copies...)
	for _, pull := range ex.Lessons {
		keys = append(keys, pull.Message)
	}
	known := s.headings(ctx, p, keys)
	d.Problem = known.Problem
	d.Subject, d.From = subjectOf(known, key, nil), fromOf(known, key, "")
	if wordless {
		about, err := s.summaries(ctx, p, []string{key})
		if err != nil {
			return nil, err
		}
		if m, ok := about[key]; ok {
			d.summary(p, &m, known)
		}
		d.ledger(p, &ledger)
		d.NoWords, d.Changes = ledger.Verdict, false
		return d, nil
	}
	d.summary(p, &ex.MessageSummary, known)
	d.ledger(p, &ledger)
	d.Ex = &ex
	d.decision(&ex)
	d.steps(&ex)
	d.Flips = flips(&ex)
	d.pulls(&ex, known)
	for _, k := range ex.Copies {
		d.Others = append(d.Others, other{k, subjectOf(known, k, nil)})
	}
	return d, nil
}

// summary tells what the list of messages knows, too.
func (d *messageData) summary(p *page, m *desk.MessageSummary, known desk.Headings) {
	d.Arrived, d.Outcome, d.Mailbox = m.Arrived, m.Outcome, m.Mailbox
	d.Subject, d.From = subjectOf(known, d.Key, m.Subject), fromOf(known, d.Key, m.From)
	d.Said, d.Changes = saidBy(m.Label, m.Source), !m.NoScore && !p.Paused()
	if m.Wrong {
		d.Wrong, d.SoFar = wrongWords(m), m.Source == "provisional"
	}
	if m.Outcome == "important" && m.Mark == "" {
		d.Marked = unmarkedWords(m.Reason)
	}
	then := "score " + plot.Signed(m.ScoreThen) + ", threshold " + plot.Signed(m.ThresholdThen)
	if m.Reason != "threshold" && m.Reason != "rule" {
		then += " (" + m.Reason + ")"
	}
	d.Record = append(d.Record, fact{Name: "Arrived", At: m.Arrived}, fact{Name: "Decided then", Text: m.Outcome + ": " + then})
	if m.Rule != "" {
		d.Record = append(d.Record, fact{Name: "Your rule", Text: m.Rule, Code: true})
	}
	if m.Label != "" {
		d.Record = append(d.Record, fact{Name: "Learnt", Text: m.Label + ": " + words.Deed(m.Label, m.Source)})
	}
	if m.Mailbox != "" {
		d.Record = append(d.Record, fact{Name: "Lies in", Text: m.Mailbox + ", UID " + strconv.FormatUint(uint64(m.UID), 10)})
	} else {
		d.Record = append(d.Record, fact{Name: "Lies in", Text: "no watched folder"})
	}
	d.Record = append(d.Record, fact{Name: "Key", Text: d.Key, Code: true})
}

// ledger tells what became of the marks.
func (d *messageData) ledger(p *page, l *desk.Ledger) {
	var marks []fact
	for _, e := range l.Entries { // the newest first
		text := markWords(&e)
		at := e.Settled
		if at == nil {
			at = e.Intended
		}
		if at != nil {
			text += ", " + p.Moment(*at)
		}
		marks = append(marks, fact{Name: "Mark", Text: text})
		if standing(e.State) {
			d.Undo = p.URL("ledger", "undo") + "?message=" + d.Key + "&back=" + url.QueryEscape(p.URL("messages", d.Key))
		}
	}
	if len(marks) > 0 {
		d.Marked = title(marks[0].Text) + "."
	} else {
		marks = []fact{{Name: "Mark", Text: "none"}}
	}
	d.Record = slices.Insert(d.Record, max(0, len(d.Record)-1), marks...)
}

// decision says why it was decided as it was.
func (d *messageData) decision(ex *desk.Explanation) {
	d.Odds = title(words.InTen(ex.Probability))
	speaksFor, against := curly(strings.Join(ex.For, "; ")), curly(strings.Join(ex.Against, "; "))
	switch {
	case ex.Rule != "":
		d.Because = "because of your rule " + ex.Rule
		return
	case ex.Reason == "too few labels yet":
		d.Because = "because it had learnt too little by then"
		return
	case ex.Outcome == "unsure":
		d.Because = "because its score was too close to the threshold"
		d.Against = "For it: " + orNothing(speaksFor) + ". Against it: " + orNothing(against) + "."
	case ex.Outcome == "ordinary" && against != "":
		d.Because = "because of this: " + against
		d.Against = unlessEmpty("For it: ", speaksFor)
	case ex.Outcome == "important" && speaksFor != "":
		d.Because = "because of this: " + speaksFor
		d.Against = unlessEmpty("Against it: ", against)
	default:
		d.Because = "by many small parts together"
		d.Against = "For it: " + orNothing(speaksFor) + ". Against it: " + orNothing(against) + "."
	}
	switch {
	case ex.OutcomeNow == ex.Outcome:
	case ex.Label != "":
		d.Now = "That was at its arrival. With what it has learnt since, another message like it would be " + ex.OutcomeNow + "."
	default:
		d.Now = "That was at its arrival. With what it has learnt since, it would be " + ex.OutcomeNow + "."
	}
}

func unlessEmpty(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s + "."
}

func orNothing(s string) string {
	if s == "" {
		return "nothing much"
	}
	return s
}

// curly gives quoted words the quotation marks of print.
func curly(s string) string {
	var b strings.Builder
	open := false
	for _, r := range s {
		if r == '"' {
			if open = !open; open {
				r = '“'
			} else {
				r = '”'
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (d *messageData) pulls(ex *desk.Explanation, known desk.Headings) {
	if len(ex.Lessons) == 0 {
		return
	}
	most := abs(ex.OtherPull + ex.OlderPull)
	for _, l := range ex.Lessons {
		most = max(most, abs(l.Pull))
	}
	for _, l := range ex.Lessons {
		row := pullRow{LessonPull: l, Subject: subjectOf(known, l.Message, l.Subject), From: fromOf(known, l.Message, l.From), Bar: plot.Pull(l.Pull, most)}
		if l.Source != "" {
			row.Did = words.Deed(l.Label, l.Source)
		} else {
			row.Did = "learnt as " + l.Label
		}
		if l.Message == d.Key {
			row.From = "this message itself"
		}
		d.Pulls = append(d.Pulls, row)
	}
	// What is told together takes up what rounding leaves.
	left := thousandth(ex.Score)
	for _, row := range d.Pulls {
		left -= thousandth(row.Pull)
	}
	d.Rest = append(d.Rest, pullRow{LessonPull: desk.LessonPull{Pull: thousandth(left)}, Subject: "all else that it has learnt", Bar: plot.Pull(left, most)})
}

func abs(x float64) float64 { return max(x, -x) }
