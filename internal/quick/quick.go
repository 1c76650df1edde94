package quick

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"github.com/hinged/hinged/config/where"
	"github.com/hinged/hinged/internal/passthrough"
)

// Timeout is how long the daemon may take to answer, unless a flag says
// otherwise.
const Timeout = 5 * time.Second

// maxMessage is the longest message that goes the short way: few are longer.
const maxMessage = 1 << 20

func init() {
	if len(os.Args) < 2 || os.Args[1] != "classify" {
		return
	}
	if code, done := own.try(os.Args[2:], os.Stdin, os.Stdout, os.Stderr); done {
		os.Exit(code)
	}
}

// own is the attempt that this process made before main.
var own attempt

// attempt is one try to go the short way.
type attempt struct {
	taken    []byte    // what was read of the message
	ended    error     // why reading ended; nil: there is more
	deadline time.Time // when the daemon is to have answered; zero: it wasn't asked
}

// Rest returns standard input as it was before the attempt of this process.
func Rest(stdin io.Reader) io.Reader { return own.rest(stdin) }

// Deadline is when the daemon is to have answered, as far as this process has
// asked already; else zero.
func Deadline() time.Time { return own.deadline }

func (a *attempt) rest(stdin io.Reader) io.Reader {
	switch {
	case a.ended == nil && len(a.taken) == 0:
		return stdin
	case a.ended == nil:
		return io.MultiReader(bytes.NewReader(a.taken), stdin)
	default:
		return io.MultiReader(bytes.NewReader(a.taken), failing{a.ended})
	}
}

// failing is a reader that has come to its end, or to an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// try answers, and tells with which exit code; or it leaves the matter to others,
// with nothing written.
func (a *attempt) try(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, done bool) {
	f, ok := parse(args)
	if !ok {
		return 0, false
	}
	if f.socket == "" {
		if f.socket, ok = where.Socket(f.config); !ok {
			return 0, false
		}
	}
	if !a.read(stdin) {
		return 0, false
	}
	a.deadline = time.Now().Add(f.timeout)
	body, err := ask(f.socket, f.account, a.taken, a.deadline)
	if err != nil {
		return 0, false // the long way will find out why, and say so
	}
	answer, err := passthrough.Decode(body)
	if err != nil {
		return 0, false
	}
	return f.finish(answer, a.taken, stdout, stderr), true
}

// read takes the whole message, unless it is a long one or can't be read.
func (a *attempt) read(stdin io.Reader) bool {
	a.taken = make([]byte, 0, 32<<10)
	for len(a.taken) <= maxMessage {
		if len(a.taken) == cap(a.taken) {
			a.taken = append(make([]byte, 0, 4*cap(a.taken)), a.taken...)
		}
		n, err := stdin.Read(a.taken[len(a.taken):cap(a.taken)])
		a.taken = a.taken[:len(a.taken)+n]
		if err != nil {
			a.ended = err
			return errors.Is(err, io.EOF)
		}
	}
	return false
}

// finish writes what was asked for.
func (f *flags) finish(answer passthrough.Answer, raw []byte, stdout, stderr io.Writer) (code int) {
	var err error
	switch {
	case f.passthrough:
		if _, err = stdout.Write(passthrough.Add(raw, answer.Fields)); err != nil {
			err = &passthrough.WriteError{Err: err}
			code = passthrough.ExitAgain
		}
	case !f.quiet:
		if _, err = io.WriteString(stdout, "-: "+answer.Verdict+"\n"); err != nil {
			code = passthrough.ExitError
		}
	}
	if err != nil {
		_, _ = io.WriteString(stderr, "hinged: "+err.Error()+"\n")
		if f.tempfail {
			code = passthrough.ExitAgain
		}
		return code
	}
	return passthrough.ExitCode(answer.Outcome, f.embed)
}

// flags are those of classify that make it a mail filter.
type flags struct {
	config, account, socket string
	timeout                 time.Duration

	passthrough, embed, quiet, tempfail bool
}

// parse reads a command line as the long way would, or declines.
func parse(args []string) (f flags, ok bool) {
	f.timeout = Timeout
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if set, ok := f.boolean(arg); ok {
			*set = true
			continue
		}
		if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' { // -pe
			for i := range len(arg) - 1 {
				set, ok := f.boolean("-" + arg[i+1:i+2])
				if !ok {
					return f, false
				}
				*set = true
			}
			continue
		}
		name, value, given := cut(arg)
		if !given {
			if len(args) == 0 {
				return f, false
			}
			value, args = args[0], args[1:]
		}
		switch name {
		case "-c", "--config":
			f.config = value
		case "-a", "--account":
			f.account = value
		case "--socket":
			f.socket = value
		case "--timeout":
			var err error
			if f.timeout, err = time.ParseDuration(value); err != nil || f.timeout <= 0 {
				return f, false
			}
		default:
			return f, false
		}
	}
	return f, isName(f.account) && !(f.passthrough && f.quiet) && (f.socket == "" || f.config == "")
}

// cut takes --name=value apart.
func cut(arg string) (name, value string, given bool) {
	for i := range len(arg) {
		if arg[i] == '=' {
			return arg[:i], arg[i+1:], true
		}
	}
	return arg, "", false
}

// boolean returns what a flag without a value sets.
func (f *flags) boolean(name string) (set *bool, ok bool) {
	switch name {
	case "-p", "--passthrough":
		return &f.passthrough, true
	case "-e", "--embed":
		return &f.embed, true
	case "-q", "--quiet":
		return &f.quiet, true
	case "--tempfail":
		return &f.tempfail, true
	}
	return nil, false
}

// isName tells what needs no escaping in a request; names of accounts never do.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
