// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/hinged/hinged/config"
)

// Exit codes. Those above 1 are sysexits.h's, so that a service manager can tell
// from a crash what a person must look at.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 64
	ExitConfig = 78
)

// usageError is a mistake on the command line; hint says what to try.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// ExitError ends the process with a code and, when Err is nil, without a word.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// ExitCode writes what went wrong in program, a name, and returns the exit code for it.
func ExitCode(err error, program string, stderr io.Writer) int {
	if err == nil {
		return ExitOK
	}
	var exit *ExitError
	named := errors.As(err, &exit)
	if named {
		if err = exit.Err; err == nil {
			return exit.Code
		}
	}
	stderr = Wrapping(stderr)
	code := ExitFailed
	var wrong *config.Error
	var usage *usageError
	switch {
	case errors.As(err, &wrong):
		for _, m := range wrong.Mistakes {
			fmt.Fprintln(stderr, m)
		}
		code = ExitConfig
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%s: %v\nTry: %s\n", program, usage.err, usage.hint)
		code = ExitUsage
	default:
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
	}
	if named {
		return exit.Code
	}
	return code
}
