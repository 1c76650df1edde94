// SPDX-License-Identifier: Apache-2.0

// Walk gives the source to a daemon, prints what the account decided once that is committed,
// and does so again with the same store: the second run decides nothing twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/canned"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/daemon"
)

func main() {
	for run := 1; run <= 2; run++ {
		d := must(daemon.New(daemon.Options{
			StorePath: filepath.Join(os.Args[1], "store.db"),
			Accounts: []daemon.AccountOptions{{
				Name: "me", Filter: filter.DefaultOptions(),
				NewSource: func(known []ingest.Known) (ingest.Source, error) { return canned.New(known), nil },
			}},
		}))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		m := desk.Messages{}
		for ; len(m.Messages) < 3; time.Sleep(10 * time.Millisecond) {
			m = must(desk.GetMessages.Do(ctx, d, "me", desk.MessagesRequest{}))
		}
		cancel()
		must(0, errors.Join(<-ended, d.Close()))
		for _, one := range m.Messages {
			fmt.Println("run", run, "uid", one.UID, one.Outcome, one.Reason)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
