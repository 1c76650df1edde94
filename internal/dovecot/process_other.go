// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package dovecot

import (
	"os"
	"syscall"
)

// There is no Dovecot here, so nothing is ever started.
func attributes() *syscall.SysProcAttr { return nil }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended
	}
}
