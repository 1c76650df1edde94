// SPDX-License-Identifier: Apache-2.0

package milter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/d--j/go-milter"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/host/passthrough"
)

// maxForged is how many forged fields are taken out of one message. Postfix searches the
// header anew for each of them.
const maxForged = 1000

// message is the message that one connection is at, and implements milter.Milter. Between two
// messages it is empty.
type message struct {
	milter.NoOpMilter
	server  *Server
	maySkip bool // the mail server can be told to leave out the rest of a body

	settings Settings
	begun    bool   // there is a recipient
	account  string // of the recipients, "" for none
	several  bool   // they are not all of that
	spent    bool   // there was no room for it
	mail     []byte
	forged   map[string]int // how many fields there are, by lower-case name
	excess   bool           // more fields than are taken out
	fields   int
}

func (m *message) reset() {
	m.server.release(cap(m.mail))
	*m = message{server: m.server, maySkip: m.maySkip}
}

// MailFrom implements milter.Milter, as do those below.
func (m *message) MailFrom(string, string, milter.Modifier) (*milter.Response, error) {
	m.reset()
	m.settings = m.server.o.Settings()
	return milter.RespContinue, nil
}

// RcptTo compares whose mail it is. Somebody without an account must not see what another's
// account says, nor by that of a recipient who is named nowhere (Bcc).
func (m *message) RcptTo(to string, _ string, _ milter.Modifier) (*milter.Response, error) {
	account := ""
	if m.settings.AccountOf != nil {
		account = m.settings.AccountOf(to)
	}
	m.several = m.several || m.begun && account != m.account
	m.begun, m.account = true, account
	return milter.RespContinue, nil
}

func (m *message) Header(name, value string, _ milter.Modifier) (*milter.Response, error) {
	name = strings.TrimRight(name, " \t")
	if passthrough.IsForged(name) {
		if m.forged == nil {
			m.forged = map[string]int{}
		}
		if m.fields++; m.fields > maxForged {
			m.excess = true
			return milter.RespContinue, nil
		}
		m.forged[strings.ToLower(name)]++
		return milter.RespContinue, nil
	}
	m.add(name, ":", strings.ReplaceAll(value, "\n", "\r\n"), "\r\n")
	return milter.RespContinue, nil
}

func (m *message) Headers(milter.Modifier) (*milter.Response, error) {
	m.add("\r\n")
	return milter.RespContinue, nil
}

func (m *message) BodyChunk(chunk []byte, _ milter.Modifier) (*milter.Response, error) {
	m.add(string(chunk)) // which the library uses again
	if m.maySkip && (!m.wanted() || len(m.mail) == m.most()) {
		return milter.RespSkip, nil
	}
	return milter.RespContinue, nil
}

func (m *message) Abort(milter.Modifier) error         { m.reset(); return nil }
func (m *message) NewConnection(milter.Modifier) error { m.reset(); return nil }
func (m *message) Cleanup(milter.Modifier)             { m.reset() }
func (m *message) wanted() bool                        { return m.account != "" && !m.several && !m.spent }
func (m *message) most() int                           { return m.settings.MaxBytes + 1 } // by one more, a longer one is told

// add keeps what a decision needs of the message, as long as there is room.
func (m *message) add(parts ...string) {
	for _, part := range parts {
		if !m.wanted() {
			return
		}
		part = part[:min(len(part), m.most()-len(m.mail))]
		if need := len(m.mail) + len(part); need > cap(m.mail) {
			size := min(max(2*cap(m.mail), need, 4096), m.most())
			old := cap(m.mail)
			if !m.server.reserve(size) {
				m.server.release(old)
				m.mail, m.spent = nil, true
				return
			}
			m.mail = append(make([]byte, 0, size), m.mail...)
			m.server.release(old)
		}
		m.mail = append(m.mail, part...)
	}
}

// EndOfMessage answers.
func (m *message) EndOfMessage(to milter.Modifier) (*milter.Response, error) {
	defer m.reset()
	began := time.Now()
	fields, result := m.decide()
	err := m.strip(to)
	for i := len(fields) - 1; i >= 0 && err == nil; i-- {
		err = to.InsertHeader(0, fields[i].name, fields[i].value)
	}
	if err != nil {
		result = Failed
	}
	m.server.count(result, time.Since(began))
	return milter.RespAccept, err
}

func (m *message) strip(to milter.Modifier) error {
	if m.excess {
		m.server.o.Log.Warn("a message brings more forged fields than are taken out", "fields", m.fields, "taken_out", maxForged)
	}
	for name, n := range m.forged {
		for ; n > 0; n-- { // from the last one, so that the others keep their numbers
			if err := to.ChangeHeader(n, name, ""); err != nil && !strings.Contains(err.Error(), "invalid header name") {
				return err
			}
		}
	}
	return nil
}

// decide returns our fields, or none, within the deadline.
func (m *message) decide() ([]field, string) {
	switch {
	case m.several:
		return nil, Several
	case m.account == "":
		return nil, Nobody
	case m.spent:
		return nil, Overload
	}
	ctx, cancel := context.WithTimeout(m.server.ctx, m.settings.Deadline)
	defer cancel()
	select {
	case m.server.deciding <- struct{}{}:
	case <-ctx.Done():
		return nil, Overload
	}
	type answer struct {
		fields []field
		result string
	}
	done := make(chan answer, 1)
	// A decision may outlast its deadline; the mail is then still its own.
	server, account, mail := m.server, m.account, m.mail
	m.mail = nil
	server.work.Go(func() {
		defer func() {
			server.release(cap(mail))
			<-server.deciding
		}()
		fields, result := server.ask(ctx, account, mail)
		done <- answer{fields, result}
	})
	select {
	case a := <-done:
		return a.fields, a.result
	case <-ctx.Done():
		return nil, Late
	}
}

// ask is safe for concurrent use.
func (s *Server) ask(ctx context.Context, account string, mail []byte) (fields []field, result string) {
	defer func() {
		if p := recover(); p != nil { // the mail server would lose its answer
			s.o.Log.Error("deciding a message for a mail server", "account", account, "error", fmt.Sprint(p))
			fields, result = nil, Failed
		}
	}()
	c, err := s.o.Decide(ctx, account, mail)
	switch {
	case err == nil && c.Reason == desk.ErrPaused.Error():
		return nil, Paused
	case err == nil:
		return fieldsOf(c.Fields()), Decided
	case ctx.Err() != nil:
		return nil, Late
	case errors.Is(err, desk.ErrNoAccount):
		return nil, Nobody
	}
	s.o.Log.Warn("no decision for a mail server", "account", account, "error", err)
	return nil, Failed
}

// field is a header field; its value begins behind the colon and has LF in it where it is
// folded.
type field struct{ name, value string }

func fieldsOf(lines []byte) (out []field) {
	for line := range bytes.Lines(lines) {
		text := strings.TrimSuffix(string(line), "\n")
		if text[0] == ' ' {
			out[len(out)-1].value += "\n" + text
			continue
		}
		name, value, _ := strings.Cut(text, ":")
		out = append(out, field{name, value})
	}
	return out
}
