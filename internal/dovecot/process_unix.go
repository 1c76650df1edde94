// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package dovecot

import "syscall"

// attributes give a child a process group of its own. That it ends when this
// process is killed cannot be had here.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the group that attributes made for a child.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
