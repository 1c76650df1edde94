// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/desk"
)

// pagePatience is how long a page waits for the mail server to confirm what it was asked
// for. Marks that it has not taken off by then are taken off later.
const pagePatience = 5 * time.Second

// undoData is what is shown before marks are undone.
type undoData struct {
	Title   string
	Marks   int
	Since   string // as the form gives it on
	Message string
	Folders []folderMarks
	Signs   string // the keywords that come off
	Left    string // what is left alone, and why
	Number  string // as the form gives it on
	Back    string // where both buttons lead
	Subject string
}

// folderMarks is how many marks are in a folder.
type folderMarks struct {
	Name  string
	Marks int
}

// undoRequest reads from a form which marks are meant: those of one message, those since a
// moment, one by its number, or all.
func undoRequest(form url.Values) (q desk.UndoMarksRequest, err error) {
	q.Patience = pagePatience
	since, message, number := form.Get("since"), form.Get("message"), form.Get("number")
	switch {
	case number != "":
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return q, errNotFound
		}
		q.Numbers = []uint64{n}
	case message != "":
		if !isKey(message) {
			return q, errNotFound
		}
		q.Message = message
	case since == "all":
	default:
		t, err := time.Parse(time.RFC3339, since)
		if err != nil {
			return q, errNotFound
		}
		q.Since = &t
	}
	return q, nil
}

// undo is the page that says what would be undone.
func (s *Server) undo(w http.ResponseWriter, r *http.Request, p *page) error {
	p.title, p.active = "Undo marks", "ledger"
	form := r.URL.Query()
	q, err := undoRequest(form)
	if err != nil {
		return err
	}
	q.DryRun = true
	would, err := desk.UndoMarks.Do(r.Context(), s.opts.Host, p.account, q)
	if errors.Is(err, desk.ErrNoEntry) {
		return errNotFound
	}
	if err != nil {
		return err
	}
	d := undoData{Since: form.Get("since"), Message: form.Get("message"), Number: form.Get("number"), Back: local(form.Get("back"), p.URL("ledger"))}
	folders := map[string]int{}
	var signs []string
	for _, m := range would.Marks {
		if m.Result != desk.UndoneDone && m.Result != desk.UndoneWaiting && m.Result != desk.UndoneUnseen {
			continue
		}
		d.Marks++
		if m.Copy != "" {
			folders[m.Copy]++
			signs = append(signs, "the copy in "+m.Copy)
			continue
		}
		signs = append(signs, m.Keyword)
		if len(m.Mailboxes) == 0 {
			folders["in no watched folder"]++
		}
		for _, mailbox := range m.Mailboxes {
			folders[mailbox]++
		}
	}
	for name, n := range folders {
		d.Folders = append(d.Folders, folderMarks{name, n})
	}
	slices.SortFunc(d.Folders, func(a, b folderMarks) int { return cmp.Or(b.Marks-a.Marks, strings.Compare(a.Name, b.Name)) })
	slices.Sort(signs)
	d.Signs = strings.Join(slices.Compact(signs), ", ")
	d.Title = undoTitle(p, d.Marks, q)
	d.Left = leftAlone(would)
	if d.Message != "" {
		d.Subject = subjectOf(s.headings(r.Context(), p, []string{d.Message}), d.Message, nil)
	}
	return s.render(w, r, p, "undo", d)
}

func undoTitle(p *page, n int, q desk.UndoMarksRequest) string {
	switch {
	case n == 0:
		return "There is nothing to undo."
	case q.Message != "" || len(q.Numbers) == 1:
		return "Undo the mark on this message?"
	case q.Since != nil:
		return fmt.Sprintf("Undo %s set since %s?", plural(n, "mark", "marks"), p.Date(*q.Since))
	}
	return fmt.Sprintf("Undo all %s that stand?", plural(n, "mark", "marks"))
}

// leftAlone says which marks are not touched.
func leftAlone(u desk.UndoneMarks) string {
	var parts []string
	if u.Own > 0 {
		parts = append(parts, plural(u.Own, "message has", "messages have")+" a mark of yours or of another program, which stays")
	}
	if u.Companions > 0 {
		parts = append(parts, plural(u.Companions, "message has", "messages have")+" the companion keyword without its mark; it comes off, too")
	}
	if u.Passed > 0 {
		parts = append(parts, plural(u.Passed, "mark is", "marks are")+" no longer there")
	}
	if u.Forgotten > 0 {
		parts = append(parts, plural(u.Forgotten, "mark is", "marks are")+" too old to be in the ledger")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// undoNow takes marks back.
func (s *Server) undoNow(w http.ResponseWriter, r *http.Request, p *page) error {
	q, err := undoRequest(r.PostForm)
	if err != nil {
		return err
	}
	done, err := desk.UndoMarks.Do(r.Context(), s.opts.Host, p.account, q)
	if err != nil {
		return err
	}
	s.tell(p, noticed{Text: undoneWords(done)})
	return back(w, r, r.PostFormValue("back"), p.URL("ledger"))
}

// undoneWords says what came of it.
func undoneWords(u desk.UndoneMarks) string {
	var parts []string
	part := func(n int, one, more string) {
		if n > 0 {
			parts = append(parts, plural(n, one, more))
		}
	}
	part(u.Undone, "mark was undone", "marks were undone")
	part(u.Waiting, "mark is being undone: the mail server has not confirmed it yet", "marks are being undone: the mail server has not confirmed them yet")
	part(u.Unseen, "message is in no watched folder; its mark comes off if it turns up within a day", "messages are in no watched folder; their marks come off if they turn up within a day")
	part(u.Companions, "companion keyword without its mark came off, too", "companion keywords without their marks came off, too")
	part(u.Passed, "mark was no longer there", "marks were no longer there")
	part(u.Own, "mark is yours or another program's and stays", "marks are yours or another program's and stay")
	part(u.Failed, "mark was refused by the mail server, which did not take it off", "marks were refused by the mail server, which did not take them off")
	if len(parts) == 0 {
		return "There was nothing to undo."
	}
	text := strings.Join(parts, "; ") + "."
	if u.Problem != "" {
		text += " " + sentence(u.Problem)
	}
	return text
}
