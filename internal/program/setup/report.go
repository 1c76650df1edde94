// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"strings"

	"github.com/hinged/hinged/config"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	OK   Level = "OK"   // as it should be
	Warn Level = "WARN" // it works, but not as well as it could
	Fail Level = "FAIL" // it does not work
)

// Finding is the outcome of one test.
type Finding struct {
	Level   Level  `json:"level"`             // Level is OK, WARN or FAIL.
	Account string `json:"account,omitempty"` // Account is the account that the test was about: empty for a test of all accounts, "kafka" for the section [kafka].
	// Test is the name of the test: config, password, state, store, dns, connect, tls,
	// login, abilities, folders, marks, seen, shown, flag, digest or notify; for Kafka also topics,
	// partitions, compaction, retention, size, rights, group or running.
	Test string `json:"test"`
	Text string `json:"text"`           // Text is the result in one line.
	Mend string `json:"mend,omitempty"` // Mend says how to fix it; "" if there is nothing to do.
}

// String is the finding in one line.
func (f Finding) String() string {
	s := fmt.Sprintf("%-4s  ", f.Level)
	if f.Account != "" {
		s += f.Account + ": "
	}
	s += f.Test + ": " + strings.TrimSuffix(f.Text, ".")
	if f.Mend != "" {
		s += ". Fix: " + f.Mend
	}
	return s
}

// Report is everything that `hinged check` found.
type Report struct {
	Config   string    `json:"config"`   // path of the configuration file
	OK       bool      `json:"ok"`       // whether no test failed; there may be warnings
	Findings []Finding `json:"findings"` // Findings are in the order of the tests.
}

func (c *Checker) add(level Level, account, test, mend, format string, args ...any) {
	f := Finding{level, account, test, fmt.Sprintf(format, args...), mend}
	c.report.Findings = append(c.report.Findings, f)
	if level == Fail {
		c.report.OK = false
	}
	if c.Tell != nil {
		c.Tell(f)
	}
}

// Misconfigured is the report on a configuration file that cannot be used.
func Misconfigured(path string, wrong *config.Error) Report {
	c := Checker{report: Report{Config: path, OK: true, Findings: []Finding{}}}
	for _, m := range wrong.Mistakes {
		mend := ""
		if m.Want != "" {
			mend = "want " + m.Want
		}
		m.Want = ""
		c.add(Fail, "", "config", mend, "%s", m)
	}
	return c.report
}
