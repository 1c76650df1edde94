// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/notify"
)

// TestEveryConfirmedMarkIsToldOnce has a daemon tell of what it marks by a webhook and by a
// program, kills it, and compares what was told with the ledger.
func TestEveryConfirmedMarkIsToldOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies []string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(body))
	}))
	defer hook.Close()
	dir := t.TempDir()
	log := filepath.Join(dir, "told")
	s := newSite(t, quick+still+fmt.Sprintf(`
[[account.notify]]
webhook = %q
per_day = 0
[[account.notify]]
command = ["sh", "-c", "cat >> \"$1\"", "sh", %q]
sender = false
per_day = 0
`, hook.URL, log))
	s.start()
	owner := s.imap.Owner(t)
	messages, _ := teach(s, owner)

	// told counts how often each message was told by the webhook and by the program.
	told := func() (web, program map[string]int) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		lines, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		count := func(texts []string) map[string]int {
			n := map[string]int{}
			for _, text := range texts {
				var told notify.Notification
				if err := json.Unmarshal([]byte(text), &told); err != nil {
					t.Fatalf("%v in %q", err, text)
				}
				if told.Kind != notify.KindMessage || strings.Contains(text, "urgent") {
					t.Errorf("told was %s", text)
				}
				n[told.Message]++
			}
			return n
		}
		return count(bodies), count(strings.FieldsFunc(string(lines), func(r rune) bool { return r == '\n' }))
	}
	marked := func() (keys []string) {
		for _, e := range ask(s, desk.GetLedger, desk.LedgerRequest{}).Entries {
			if e.Ours && e.State == "confirmed" {
				keys = append(keys, e.Message)
			}
		}
		slices.Sort(keys)
		return keys
	}
	await := func(least int) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			web, program := told()
			keys := marked()
			if len(keys) >= least && slices.Equal(slices.Sorted(maps.Keys(web)), keys) && slices.Equal(slices.Sorted(maps.Keys(program)), keys) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("marked were %q, want %d and more; told were %v and %v", keys, least, web, program)
			}
		}
	}
	add := func(n int) {
		t.Helper()
		before := len(marked())
		owner.Append("INBOX", letter(n, boss, s.user, "urgent matter"), time.Now())
		messages++
		await(before + 1)
	}
	add(100)
	s.kill()
	s.start()
	s.until("all is known", func(a desk.AccountStatus) bool { return a.Messages == messages && a.Connected })
	add(101)
	web, program := told()
	for key, n := range web {
		if n != 1 || program[key] != 1 {
			t.Errorf("%s was told %d times by the webhook and %d times by the program", key, n, program[key])
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(bodies[len(bodies)-1], `"from":"`+boss+`"`) {
		t.Errorf("the sender is not in %s", bodies[len(bodies)-1])
	}
	if lines, err := os.ReadFile(log); err != nil || strings.Contains(string(lines), boss) {
		t.Errorf("with sender = false, told was %s (%v)", lines, err)
	}
}
