// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"testing"
)

// greenmailJar returns the path of GreenMail's jar and fetches it if need be.
// `make setup` has done so already, so that no test waits for it.
var greenmailJar = sync.OnceValues(func() (string, error) {
	if err := needPrograms("default-jre-headless maven", "java", "mvn"); err != nil {
		return "", err
	}
	return download("greenmail.sh")
})

// NeedGreenMail skips the test where GreenMail cannot run, saying so. In CI that is
// a failure.
func NeedGreenMail(tb testing.TB) {
	tb.Helper()
	_, err := greenmailJar()
	needServer(tb, err)
}

// StartGreenMail starts a GreenMail of its own for this test on a free port of
// loopback, in the clear. It keeps mail in memory, and tells no special use. It is
// stopped when the test ends.
func StartGreenMail(tb testing.TB) *MailServer {
	tb.Helper()
	NeedGreenMail(tb)
	jar, err := greenmailJar()
	if err != nil {
		tb.Fatal(err)
	}
	m, port := newMailServer(tb, "")
	output := m.logFile(tb)
	defer output.Close()
	// Little memory and quick to start: the tests have few messages.
	cmd := exec.CommandContext(context.Background(), "java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dgreenmail.imap.hostname=127.0.0.1", fmt.Sprint("-Dgreenmail.imap.port=", port),
		fmt.Sprintf("-Dgreenmail.users=owner:%s@example.org", m.Password), "-Dgreenmail.users.login=email", "-jar", jar)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = childAttributes()
	serve(tb, "GreenMail", m.Addr, cmd, m.log)
	m.makeFolders(tb, "GreenMail")
	return m
}
