package testkit

import "syscall"

// dieWithTest gives a child a process group of its own, and makes it end when
// the test binary is killed.
func dieWithTest() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
