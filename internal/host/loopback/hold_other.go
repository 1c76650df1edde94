// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package loopback

import (
	"context"
	"fmt"
	"net"
)

// hold finds ports that are free together.
func hold(n int) (numbers []int, release func(), err error) {
	for range n {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		numbers = append(numbers, l.Addr().(*net.TCPAddr).Port)
	}
	return numbers, func() {}, nil
}
