// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package testkit

import "syscall"

// childAttributes make a child end when this process is killed, which cannot be
// had here.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// standsStill cannot be told here.
func standsStill(int) bool { return true }
