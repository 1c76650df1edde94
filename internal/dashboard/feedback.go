// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"errors"
	"net/http"

	"github.com/hinged/hinged/internal/dashboard/plot"
	"github.com/hinged/hinged/internal/desk"
)

// feedback is the answer to a message: important or ordinary. It is what `hinged learn`
// does, and counts at once.
func (s *Server) feedback(w http.ResponseWriter, r *http.Request, p *page) error {
	key := r.PathValue("key")
	n, err := s.label(r, p, key, r.PostFormValue("say"))
	if err != nil {
		return err
	}
	s.tell(p, n)
	return back(w, r, r.PostFormValue("back"), p.URL("messages", key))
}

// label gives a message a label and says what came of it.
func (s *Server) label(r *http.Request, p *page, key, label string) (noticed, error) {
	n := noticed{Message: key}
	if !isKey(key) || label != "important" && label != "ordinary" {
		return n, errNotFound
	}
	done, err := desk.Label.Do(r.Context(), s.opts.Host, p.account, desk.LabelRequest{Label: label, Messages: []desk.Message{{Name: key}}})
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

// lessonWords says what a label did: to the score and, as that is not the same, to the
// mark.
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

// isKey reports whether s is the key of a message, in hexadecimal.
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
