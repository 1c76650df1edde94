// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package testkit

import "syscall"

// debianRoot refuses before one would be needed here.
func jailAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
