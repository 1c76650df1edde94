// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/hinged/hinged/internal/face/desk"
)

// owedData are the two lists of letters without an answer.
type owedData struct {
	Days          int
	Title         string
	Lists         []owedList
	Problem       string // why there are no subjects
	Older, Newest string // where older letters are, and the newest; "": there are none, or here
	Paused        bool
}

type owedList struct {
	ID, Name, Whose string
	desk.OpenList
	Rows []owedRow
}

type owedRow struct {
	desk.OpenLetter
	Who, What, Why string
	Known          bool // it has a page
}

func (s *Server) owed(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active, p.Live = "Owed", "owed", true
	skip, _ := strconv.Atoi(r.URL.Query().Get("skip"))
	skip = max(skip, 0)
	o, err := desk.GetOwed.Do(r.Context(), s.opts.Host, p.Account, desk.OwedRequest{Skip: skip})
	if err != nil {
		return err
	}
	d := owedData{
		Days: o.Days, Title: "You owe " + plural(o.Owed.Total, "answer", "answers") + ", and wait for " + count(o.Waiting.Total) + ".",
		Problem: o.Problem, Paused: p.Paused(),
		Lists: []owedList{
			{ID: "owed", Name: "You owe an answer", Whose: "From", OpenList: o.Owed},
			{ID: "waiting", Name: "You wait for an answer", Whose: "To", OpenList: o.Waiting},
		},
	}
	for i := range d.Lists {
		l := &d.Lists[i]
		for _, one := range l.Letters {
			who, what := cmp.Or(one.From, one.To, "(not at hand)"), cmp.Or(one.Subject, "(subject not at hand)")
			l.Rows = append(l.Rows, owedRow{one, desk.OneLine(who, longest), desk.OneLine(what, longest), why("", "important", one.For, nil), i == 0})
		}
	}
	if o.Owed.More+o.Waiting.More > 0 {
		d.Older = p.URL("owed") + "?skip=" + strconv.Itoa(skip+max(len(o.Owed.Letters), len(o.Waiting.Letters)))
	}
	if skip > 0 {
		d.Newest = p.URL("owed")
	}
	s.told(p, nil)
	return s.render(w, r, p, "owed", d)
}

// owedDone ends an entry.
func (s *Server) owedDone(w http.ResponseWriter, r *http.Request, p *page) error {
	key := r.PathValue("key")
	if !isKey(key) {
		return errNotFound
	}
	done, err := desk.Done.Do(r.Context(), s.opts.Host, p.Account, desk.DoneRequest{Message: key})
	if err != nil {
		return err
	}
	text := "Done, until another letter comes in its thread."
	if done.Sent {
		text = "Handed to the input topic, to be done in its turn."
	}
	s.tell(p, noticed{Text: text})
	return back(w, r, p.URL("owed"), p.URL("owed"))
}
