// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"net/http"

	"github.com/hinged/hinged/internal/desk"
)

// pause switches the account off, and resume on again: what `hinged pause` and
// `hinged resume` do.
func (s *Server) pause(w http.ResponseWriter, r *http.Request, p *page) error {
	done, err := desk.Pause.Do(r.Context(), s.opts.Host, p.account, desk.SwitchRequest{})
	if err != nil {
		return err
	}
	n := noticed{Text: "Paused. hinged is not connected, marks nothing and learns nothing until you resume it."}
	if !done[0].Changed {
		n.Text = "It was paused already."
	}
	s.tell(p, n)
	return back(w, r, r.PostFormValue("back"), p.URL())
}

func (s *Server) resume(w http.ResponseWriter, r *http.Request, p *page) error {
	done, err := desk.Resume.Do(r.Context(), s.opts.Host, p.account, desk.SwitchRequest{})
	if err != nil {
		return err
	}
	n := noticed{Text: "Resumed. Mail that came meanwhile is read now."}
	if !done[0].Changed {
		n.Text = "It was not paused."
	}
	s.tell(p, n)
	return back(w, r, r.PostFormValue("back"), p.URL())
}
