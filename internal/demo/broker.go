// SPDX-License-Identifier: Apache-2.0

//go:build !nobroker

package demo

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kfake"
)

// startBroker starts a Kafka broker inside this process and returns its addresses.
func startBroker() (addrs []string, stop func() error, err error) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return nil, nil, fmt.Errorf("demo: a broker inside this process: %w", err)
	}
	return fake.ListenAddrs(), func() error { fake.Close(); return nil }, nil
}
