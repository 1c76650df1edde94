package passthrough

import (
	"bytes"
	"errors"
)

// Exit codes of the filter: bogofilter's, and that of sysexits.h with which a
// mail server tries again later.
const (
	ExitImportant = 0
	ExitOrdinary  = 1
	ExitUnsure    = 2
	ExitError     = 3
	// ExitAgain: the message did not come out whole, and nothing may be done
	// with what did (EX_TEMPFAIL).
	ExitAgain = 75
)

// ExitCode tells an outcome; embed (-e of bogofilter) makes all of them 0.
func ExitCode(outcome string, embed bool) int {
	switch {
	case embed || outcome == "important":
		return ExitImportant
	case outcome == "ordinary":
		return ExitOrdinary
	default:
		return ExitUnsure
	}
}

// Answer is what the filter needs to know of a message that was decided.
type Answer struct {
	Outcome string // important, ordinary or unsure
	Verdict string // the decision in words, on one line
	Fields  []byte // the header fields to add, each line ending in LF
}

// errAnswer is an answer that is none.
var errAnswer = errors.New("the daemon's answer makes no sense")

// Encode returns the form of an answer that goes over the control socket: two
// lines, and the fields as they are.
func (a *Answer) Encode() []byte {
	return append([]byte(a.Outcome+"\n"+a.Verdict+"\n"), a.Fields...)
}

// Decode reads what Encode made. It refuses whatever could not be written into a
// message as it is.
func Decode(data []byte) (Answer, error) {
	outcome, rest, ok1 := bytes.Cut(data, []byte("\n"))
	verdict, fields, ok2 := bytes.Cut(rest, []byte("\n"))
	a := Answer{string(outcome), string(verdict), fields}
	switch a.Outcome {
	case "important", "ordinary", "unsure":
	default:
		return Answer{}, errAnswer
	}
	if !ok1 || !ok2 || !wellFormed(fields) {
		return Answer{}, errAnswer
	}
	return a, nil
}

// MaxLine is the longest line of a field, without its end (RFC 5322, section
// 2.1.1).
const MaxLine = 78

// wellFormed tells that fields are whole lines of printable ASCII, each of them
// one of ours or the continuation of one (RFC 5322, section 2.2).
func wellFormed(fields []byte) bool {
	begun := false
	for line := range bytes.Lines(fields) {
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		if !ended || len(text) == 0 || len(text) > MaxLine || !printable(text) {
			return false
		}
		switch {
		case isForged(text) && bytes.IndexByte(text, ':') > 0:
			begun = true
		case text[0] == ' ' && begun && len(bytes.TrimSpace(text)) > 0:
		default:
			return false
		}
	}
	return true
}

func printable(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
