// SPDX-License-Identifier: Apache-2.0

package dashboard

// mailRoutes are the pages about an account's mail, and what is done there. They are for
// its owner only.
func (s *Server) mailRoutes() {
	s.own("GET /a/{account}/messages", s.messages)
	s.own("GET /a/{account}/messages/{key}", s.message)
	s.change("POST /a/{account}/messages/{key}/feedback", s.feedback)
	s.own("GET /a/{account}/ask", s.questionsPage)
	s.change("POST /a/{account}/ask/{key}", s.answerQuestion)
	s.own("GET /a/{account}/words", s.words)
	s.own("GET /a/{account}/ledger", s.ledger)
	s.own("GET /a/{account}/ledger/undo", s.undo)
	s.change("POST /a/{account}/ledger/undo", s.undoNow)
	s.own("GET /a/{account}/whatif", s.whatIf)
	s.change("POST /a/{account}/whatif", s.startWhatIf)
	s.change("POST /a/{account}/whatif/stop", s.stopWhatIf)
	s.change("POST /a/{account}/pause", s.pause)
	s.change("POST /a/{account}/resume", s.resume)
}
