// SPDX-License-Identifier: Apache-2.0

//go:build passes && unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/coverage"
	"syscall"
)

// With the tag passes and -cover -covermode=atomic, scripts/passes.sh builds a daemon that
// writes, at every SIGUSR2, which code ran since the last one, into a folder of its own
// below GOCOVERDIR.
func init() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR2)
	go func() {
		for n := 1; ; n++ {
			<-asked
			dir := filepath.Join(os.Getenv("GOCOVERDIR"), fmt.Sprint(n))
			for _, do := range []func() error{
				func() error { return os.MkdirAll(dir, 0o700) },
				func() error { return coverage.WriteMetaDir(dir) },
				func() error { return coverage.WriteCountersDir(dir) },
				coverage.ClearCounters,
				func() error { return os.WriteFile(filepath.Join(dir, "done"), nil, 0o600) },
			} {
				if err := do(); err != nil {
					panic(err)
				}
			}
		}
	}()
}
