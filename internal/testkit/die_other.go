//go:build !linux

package testkit

import "syscall"

// dieWithTest gives a child a process group of its own. That it ends when the
// test binary is killed cannot be had here.
func dieWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
