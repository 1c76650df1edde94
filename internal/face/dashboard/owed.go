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
	desk.Owed
	Title         string
	Lists         []owedList
	Older, Newest string // where older letters are, and the newest; "": there are none, or here
}

type owedList struct {
	ID, Name, With string
	desk.OpenList
}

// owedTitle says how many letters have no answer.
func owedTitle(o desk.Owed) string {
	return "You owe " + plural(o.Owed.Total, "answer", "answers") + ", and wait for " + count(o.Waiting.Total) + "."
}

func (s *Server) owed(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active, p.Live = "Owed", "owed", true
	skip, _ := strconv.Atoi(r.URL.Query().Get("skip"))
	skip = max(skip, 0)
	o, err := desk.GetOwed.Do(r.Context(), s.opts.Host, p.Account, desk.OwedRequest{Skip: skip})
	if err != nil {
		return err
	}
	d := owedData{Owed: o, Title: owedTitle(o), Lists: []owedList{
		{"owed", "You owe an answer", "From", o.Owed},
		{"waiting", "You wait for an answer", "To", o.Waiting},
	}}
	for _, list := range d.Lists {
		for i := range list.Letters {
			l := &list.Letters[i]
			l.With, l.Subject = desk.OneLine(cmp.Or(l.With, "(not at hand)"), longest), desk.OneLine(cmp.Or(l.Subject, "(subject not at hand)"), longest)
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
