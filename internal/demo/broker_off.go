// SPDX-License-Identifier: Apache-2.0

//go:build nobroker

package demo

import "errors"

// startBroker fails: the broker and the client library behind it are a fifth of what a
// first build compiles, and `make demo` needs neither.
func startBroker() (addrs []string, stop func() error, err error) {
	return nil, nil, errors.New("demo: `make demo` leaves the broker out of its program; `make build` has it, and --brokers takes another one")
}
