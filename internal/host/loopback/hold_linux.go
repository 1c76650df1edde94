// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"fmt"
	"syscall"
)

// hold binds a socket to each port and does not listen on it. With SO_REUSEADDR
// on both, as every server sets it, another may bind the port as long as no more
// than one listens (socket(7)); and the kernel gives a bound port to nobody who
// leaves the choice to it.
func hold(n int) (numbers []int, release func(), err error) {
	var sockets []int
	release = func() {
		for _, s := range sockets {
			_ = syscall.Close(s) // nothing was written
		}
	}
	for range n {
		s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("hold a port: %w", err)
		}
		sockets = append(sockets, s)
		port, err := bind(s)
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("hold a port: %w", err)
		}
		numbers = append(numbers, port)
	}
	return numbers, release, nil
}

func bind(socket int) (port int, err error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	return name.(*syscall.SockaddrInet4).Port, nil
}
