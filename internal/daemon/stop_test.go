// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/store/boltfile"
)

// TestADaemonEndsInTheMidstOfWhatItWasAskedFor: what may take minutes ends when the daemon
// is to end, says so, and what is left of it is done after the next start.
func TestADaemonEndsInTheMidstOfWhatItWasAskedFor(t *testing.T) {
	t.Parallel()
	for what, ask := range map[string]func(*control.At) (said string){
		"compact": func(c *control.At) string {
			_, err := control.Ask(context.Background(), c, desk.Verify, "", desk.VerifyRequest{Compact: true})
			if err == nil {
				return "it is compact"
			}
			return err.Error()
		},
		"forget": func(c *control.At) string {
			f, err := control.Ask(context.Background(), c, desk.Forget, "me", desk.ForgetRequest{Sender: "boss@example.com"})
			if err != nil || f.Messages != 1 || f.Scrubbed {
				t.Errorf("forgetting gave %+v, %v; want one message forgotten, and still in free pages", f, err)
			}
			return f.Why
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			s := newScript()
			d, stop := start(t, dir, s)
			teach(s)
			until(t, d, "both lessons", func(a desk.AccountStatus) bool { return a.Messages == 2 })
			stop()

			ctx, cancel := context.WithCancel(t.Context())
			copied := 0
			o := Options{
				StorePath: filepath.Join(dir, "store.db"), Socket: filepath.Join(dir, "s"),
				Store: boltfile.Options{NoSync: true, Hooks: boltfile.Hooks{Copy: 500, Step: func(step string) error {
					if step == "copied" {
						copied++
						cancel()
					}
					return nil
				}}},
				Accounts: []AccountOptions{{Name: "me", Filter: testOptions(), NewSource: func(known []ingest.Known) (ingest.Source, error) {
					again := newScript()
					again.known = known
					return again, nil
				}}},
			}
			d, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- d.Run(ctx) }()
			client, err := control.Dial(t.Context(), o.Socket)
			if err != nil {
				t.Fatal(err)
			}
			said := ask(client)
			if !strings.Contains(said, "stopping") && !strings.Contains(said, "interrupted") {
				t.Errorf("it said %q", said)
			}
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(5 * time.Minute):
				t.Fatal("the daemon did not end")
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if copied != 1 {
				t.Errorf("it went on copying: %d transactions", copied)
			}

			d, _ = start(t, dir, newScript())
			for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
				due, err := d.store.ScrubDue()
				if err != nil || time.Now().After(end) {
					t.Fatalf("what was forgotten is in free pages still: %v", err)
				}
				if !due {
					break
				}
			}
		})
	}
}
