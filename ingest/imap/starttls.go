// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"fmt"
	"strings"

	"github.com/hinged/hinged/ingest"
)

// maxClearLine bounds a line that comes before TLS.
const maxClearLine = 8 << 10

// upgrade says STARTTLS (RFC 9051, section 6.2.1), after which TLS begins. It reads
// byte by byte, so that nothing which was slipped in before TLS can pass for what was
// said in it. It leaves the client library out, which would decode TLS behind the
// guard's back.
func (s *session) upgrade() error {
	greeting, err := s.clearLine()
	if err != nil {
		return &StageError{StageGreeting, fmt.Errorf("greeting: %w", err)}
	}
	if word := secondWord(greeting); word != "OK" {
		// After PREAUTH no command may ask for TLS.
		return &StageError{StageGreeting, fmt.Errorf("greeting: %w", statusOf(greeting))}
	}
	const tag = "S0"
	if _, err := s.guard.Write([]byte(tag + " STARTTLS\r\n")); err != nil {
		return &StageError{StageTLS, fmt.Errorf("STARTTLS: %w", wireError(err, s.guard.why()))}
	}
	for {
		line, err := s.clearLine()
		switch {
		case err != nil:
			return &StageError{StageTLS, fmt.Errorf("STARTTLS: %w", err)}
		case !strings.HasPrefix(line, tag+" "): // something unasked
		case secondWord(line) != "OK":
			return &StageError{StageTLS, fmt.Errorf("STARTTLS: %w", statusOf(line))}
		default:
			return nil
		}
	}
}

// clearLine reads one line that is not protected.
func (s *session) clearLine() (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxClearLine; {
		if n, err := s.guard.Read(b); n == 0 {
			return "", wireError(err, s.guard.why())
		}
		if line = append(line, b[0]); b[0] == '\n' {
			return strings.TrimRight(string(line), "\r\n"), nil
		}
	}
	return "", fmt.Errorf("%w: a line without an end", errProtocol)
}

func secondWord(line string) string {
	words := strings.Fields(line)
	if len(words) < 2 {
		return ""
	}
	return strings.ToUpper(words[1])
}

// statusOf is what a line says that refuses something.
func statusOf(line string) error {
	_, rest, _ := strings.Cut(line, " ")
	word, text, _ := strings.Cut(rest, " ")
	switch word = strings.ToUpper(word); word {
	case "NO", "BAD", "BYE", "PREAUTH":
		return &statusError{Type: word, Text: ingest.OneLine(text)}
	}
	return fmt.Errorf("%w: %s", errProtocol, ingest.OneLine(line))
}
