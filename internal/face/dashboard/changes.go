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

	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

// pagePatience is how long a page waits for the mail server to confirm what it was asked
// for. Marks that it has not taken off by then are taken off later.
const pagePatience = 5 * time.Second

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

func (s *Server) undo(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active = "Undo marks", "ledger"
	form := r.URL.Query()
	q, err := undoRequest(form)
	if err != nil {
		return err
	}
	q.DryRun = true
	would, err := desk.UndoMarks.Do(r.Context(), s.opts.Host, p.Account, q)
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
	if rest := would.Words()[1:]; len(rest) > 0 {
		d.Left = sentences(rest)
	}
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

func (s *Server) undoNow(w http.ResponseWriter, r *http.Request, p *page) error {
	q, err := undoRequest(r.PostForm)
	if err != nil {
		return err
	}
	done, err := desk.UndoMarks.Do(r.Context(), s.opts.Host, p.Account, q)
	if err != nil {
		return err
	}
	s.tell(p, noticed{Text: sentences(done.Words())})
	return back(w, r, r.PostFormValue("back"), p.URL("ledger"))
}

// sentences are words of the desk as the pages have them.
func sentences(words []string) string { return title(strings.Join(words, ". ")) + "." }

func (s *Server) feedback(w http.ResponseWriter, r *http.Request, p *page) error {
	key := r.PathValue("key")
	n, err := s.label(r, p, key, r.PostFormValue("say"))
	if err != nil {
		return err
	}
	s.tell(p, n)
	return back(w, r, r.PostFormValue("back"), p.URL("messages", key))
}

func (s *Server) label(r *http.Request, p *page, key, label string) (noticed, error) {
	n := noticed{Message: key}
	if !isKey(key) || label != "important" && label != "ordinary" {
		return n, errNotFound
	}
	done, err := desk.Label.Do(r.Context(), s.opts.Host, p.Account, desk.LabelRequest{Label: label, Messages: []desk.Message{{Name: key}}})
	if errors.Is(err, desk.ErrPaused) {
		n.Text = "Not learnt: the account is paused. Resume it first."
		return n, nil
	}
	if err != nil {
		return n, err
	}
	for _, l := range done.Lessons {
		n.Text = lessonWords(l, label)
	}
	return n, nil
}

func lessonWords(l desk.Lesson, label string) string {
	mark := ""
	if l.MarkChanged {
		mark = sentence(l.MarkWords()) + " "
	}
	switch l.Result {
	case desk.LessonLearnt:
		return "You said " + label + ": " + plot.Signed(l.Shown) + " → " + plot.Signed(l.After) + ". " + mark + "The other button takes it back."
	case desk.LessonKnown:
		return "You had said " + label + " before. " + mark + "The score is " + plot.Signed(l.After) + "."
	case desk.LessonSent:
		return "Sent: it is learnt as " + label + " when its turn comes in the input topic."
	}
	return "Not learnt: " + l.Why + "."
}

func isKey(s string) bool {
	if len(s) != 32 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (s *Server) pause(w http.ResponseWriter, r *http.Request, p *page) error {
	return s.turn(w, r, p, desk.Pause, "Paused. hinged is not connected, marks nothing and learns nothing until you resume it.", "It was paused already.")
}

func (s *Server) resume(w http.ResponseWriter, r *http.Request, p *page) error {
	return s.turn(w, r, p, desk.Resume, "Resumed. Mail that came meanwhile is read now.", "It was not paused.")
}

func (s *Server) turn(w http.ResponseWriter, r *http.Request, p *page, v desk.Verb[desk.SwitchRequest, []desk.Switch], did, was string) error {
	done, err := v.Do(r.Context(), s.opts.Host, p.Account, desk.SwitchRequest{})
	if err != nil {
		return err
	}
	if !done[0].Changed {
		did = was
	}
	s.tell(p, noticed{Text: did})
	return back(w, r, r.PostFormValue("back"), p.URL())
}
