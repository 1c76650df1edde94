// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// maddyBinary returns the path of maddy and builds it if need be. `make setup` has done so
// already, so that no test waits for it.
var maddyBinary = sync.OnceValues(func() (string, error) {
	if err := needPrograms("gcc libc6-dev", "cc"); err != nil {
		return "", err
	}
	return download("maddy.sh")
})

// StartMaddy starts a maddy of its own for this test on a free port of loopback, in the
// clear. It keeps mail in SQLite and takes any password. It is stopped when the test ends.
func StartMaddy(tb testing.TB) *MailServer {
	tb.Helper()
	binary, err := maddyBinary()
	needServer(tb, err)
	m, _ := newMailServer(tb, "")
	dir := tb.TempDir()
	config := fmt.Sprintf(`state_dir %[1]s/state
runtime_dir %[1]s/run
storage.imapsql mailboxes {
	driver sqlite3
	dsn imapsql.db
}
imap tcp://%[2]s {
	tls off
	insecure_auth yes
	auth dummy
	storage &mailboxes
}
`, dir, m.Addr)
	if err := os.WriteFile(filepath.Join(dir, "maddy.conf"), []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}
	output := m.logFile(tb)
	defer output.Close()
	cmd := exec.CommandContext(context.Background(), binary, "--config", filepath.Join(dir, "maddy.conf"), "run")
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = childAttributes()
	serve(tb, "maddy", m.Addr, cmd, m.log)
	m.makeFolders(tb, "maddy")
	return m
}
