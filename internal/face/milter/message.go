// SPDX-License-Identifier: Apache-2.0

package milter

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/d--j/go-milter"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/host/passthrough"
)

// maxForged is how many forged fields are taken out of one message. Postfix searches the
// header anew for each of them.
const maxForged = 1000

var (
	// fieldName is what the library sends as the name of a field, as long as a line may be (RFC
	// 5322, sections 2.1.1 and 2.2).
	fieldName = regexp.MustCompile(`^[!-9;-~]{1,998}$`)
	// field matches a header field, which has LF in its value where it is folded.
	field = regexp.MustCompile(`(?m)^([^:\n]+):(.*(?:\n .*)*)\n`)
)

// message is the message that one connection is at, and implements milter.Milter. Between two
// messages it is empty.
type message struct {
	milter.NoOpMilter
	server *Server

	settings *Settings
	begun    bool           // there is a recipient
	account  string         // of the recipients, "" for none
	several  bool           // they are not all of that
	spent    bool           // there was no memory for it
	mail     []byte         // as much as a decision needs
	forged   map[string]int // how many fields there are, by lower-case name
	fields   int            // forged ones, in all
}

func (m *message) reset() {
	m.server.held.Add(-int64(len(m.mail)))
	*m = message{server: m.server, settings: m.server.settings.Load(), forged: map[string]int{}}
}

// MailFrom implements milter.Milter, as do those below.
func (m *message) MailFrom(string, string, milter.Modifier) (*milter.Response, error) {
	m.reset()
	return milter.RespContinue, nil
}

// RcptTo compares whose mail it is. Somebody without an account must not see what another's
// account says, nor by that of a recipient who is named nowhere (Bcc).
func (m *message) RcptTo(to string, _ string, _ milter.Modifier) (*milter.Response, error) {
	account := m.settings.AccountOf(to)
	m.several = m.several || m.begun && account != m.account
	m.begun, m.account = true, account
	return milter.RespContinue, nil
}

func (m *message) Header(name, value string, _ milter.Modifier) (*milter.Response, error) {
	name = strings.TrimRight(name, " \t")
	if !passthrough.IsForged(name) {
		m.add(name + ":" + strings.ReplaceAll(value, "\n", "\r\n") + "\r\n")
	} else if m.fields++; m.fields <= maxForged && fieldName.MatchString(name) {
		m.forged[strings.ToLower(name)]++
	}
	return milter.RespContinue, nil
}

func (m *message) Headers(milter.Modifier) (*milter.Response, error) {
	m.add("\r\n")
	return milter.RespContinue, nil
}

func (m *message) BodyChunk(chunk []byte, _ milter.Modifier) (*milter.Response, error) {
	m.add(string(chunk))
	if !m.wanted() || len(m.mail) == maxMail {
		return milter.RespSkip, nil
	}
	return milter.RespContinue, nil
}

func (m *message) NewConnection(milter.Modifier) error { m.reset(); return nil } // comes first
func (m *message) Abort(milter.Modifier) error         { m.reset(); return nil }
func (m *message) Cleanup(milter.Modifier)             { m.reset() }
func (m *message) wanted() bool                        { return m.account != "" && !m.several && !m.spent }

// add keeps what a decision needs of the message.
func (m *message) add(text string) {
	if !m.wanted() {
		return
	}
	text = text[:min(len(text), maxMail-len(m.mail))]
	m.mail = append(m.mail, text...)
	m.spent = m.server.held.Add(int64(len(text))) > m.server.o.budget
}

// EndOfMessage answers.
func (m *message) EndOfMessage(to milter.Modifier) (*milter.Response, error) {
	defer m.reset()
	fields, result := m.decide()
	if m.fields > maxForged {
		m.server.o.Log.Warn("a message brings more forged fields than are taken out", "fields", m.fields, "taken_out", maxForged)
	}
	var err error
	for name, n := range m.forged {
		for ; n > 0 && err == nil; n-- { // from the last one, so that the others keep their numbers
			err = to.ChangeHeader(n, name, "")
		}
	}
	for _, f := range slices.Backward(field.FindAllStringSubmatch(string(fields), -1)) {
		if err == nil {
			err = to.InsertHeader(0, f[1], f[2])
		}
	}
	if err != nil {
		result = Failed
	}
	m.server.count(result)
	return milter.RespAccept, err
}

// decide returns our fields, or none, within the deadline.
func (m *message) decide() (fields []byte, result string) {
	s := m.server
	switch {
	case m.several:
		return nil, Several
	case m.account == "":
		return nil, Nobody
	case m.spent:
		return nil, Late
	}
	ctx, cancel := context.WithTimeout(s.ctx, m.settings.Deadline)
	defer cancel()
	select {
	case s.deciding <- struct{}{}:
	case <-ctx.Done():
		return nil, Late
	}
	account, mail := m.account, m.mail
	m.mail = nil // a decision may outlast its deadline, and the message
	var c desk.Classification
	var err error
	done := make(chan struct{})
	s.work.Go(func() {
		c, err = s.tryDecide(ctx, account, mail)
		s.held.Add(-int64(len(mail)))
		<-s.deciding
		close(done)
	})
	select {
	case <-done:
	case <-ctx.Done():
		return nil, Late
	}
	switch {
	case err == nil:
		return c.Fields(), Decided
	case ctx.Err() != nil:
		return nil, Late
	case errors.Is(err, desk.ErrNoAccount):
		return nil, Nobody
	}
	s.o.Log.Warn("no decision for a mail server", "account", account, "error", err)
	return nil, Failed
}

// tryDecide is Decide, with an error where it panics: one message must not end the daemon. What
// is thrown may quote the message, so it is not told; the stack is.
func (s *Server) tryDecide(ctx context.Context, account string, mail []byte) (c desk.Classification, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked with a %T:\n%s", p, debug.Stack())
		}
	}()
	return s.o.Decide(ctx, account, mail)
}
