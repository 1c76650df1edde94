// SPDX-License-Identifier: Apache-2.0

package dovecot

import "syscall"

// attributes give a child a process group of its own, and make it end when this
// process is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// killGroup kills the group that attributes made for a child.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
