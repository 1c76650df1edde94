// SPDX-License-Identifier: Apache-2.0

package testkit

import "syscall"

// jailAttributes give a child namespaces of its own for mounts and processes, as
// only root may, and make it end when this process is killed.
func jailAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
}
