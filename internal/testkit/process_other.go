// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package testkit

import (
	"os"
	"syscall"
)

// childAttributes make a child end when this process is killed, which cannot be
// had here.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func groupAttributes() *syscall.SysProcAttr { return childAttributes() }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended
	}
}

// standsStill cannot be told here.
func standsStill(int) bool { return true }

// debianRoot refuses before one would be needed here.
func jailAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
