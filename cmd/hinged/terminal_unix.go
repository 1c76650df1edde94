// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix && !solaris

package main

import "golang.org/x/sys/unix"

// muteTerminal switches the echo of a terminal off; Ctrl-C still sends its signal.
// restore puts everything back as it was and throws away what nobody read.
func muteTerminal(fd int) (restore func(), err error) {
	old, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	mute := *old
	mute.Lflag &^= unix.ECHO | unix.ECHONL
	if err := unix.IoctlSetTermios(fd, setTermios, &mute); err != nil {
		return nil, err
	}
	return func() {
		_ = unix.IoctlSetTermios(fd, setTermiosFlush, old) // there is nobody to tell
	}, nil
}

// flushTerminal throws away what was typed and nobody read.
func flushTerminal(fd int) error {
	same, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	return unix.IoctlSetTermios(fd, setTermiosFlush, same)
}
