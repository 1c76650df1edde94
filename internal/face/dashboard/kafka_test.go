// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/face/desk"
	kafka "github.com/hinged/hinged/internal/run/stream"
)

// streaming is a host with a stream.
type streaming struct {
	fakeHost
	stream kafka.Status
}

func (h streaming) Status(ctx context.Context) (desk.Status, error) {
	s, err := h.fakeHost.Status(ctx)
	s.Running, s.Stream = true, &h.stream
	return s, err
}

func TestTheFirstPageSaysHowTheStreamIsToOperatorsAlone(t *testing.T) {
	t.Parallel()
	n, age := int64(1234), 90.0
	host := streaming{having("ann", "bob"), kafka.Status{
		Doing: "deciding and learning, but 1 of 2 partitions are stopped and need help", Connected: true, Lag: &n, OldestSeconds: &age, InTransaction: 7,
		Partitions: []kafka.PartitionStatus{{}, {Partition: 1, Stopped: true, Problem: "partition 1 is stopped: the log is gone"}},
	}}
	hash := quickHash(t, "correct horse")
	s := serving(t, Options{Host: host, Several: true, Users: []User{
		{Name: "op", PasswordHash: hash, Operator: true}, {Name: "both", PasswordHash: hash, Accounts: []string{"ann", "bob"}},
	}})
	said := []string{host.stream.Doing, "1234 records, the oldest for 1m30s; 7 of them wait for the end of a producer’s transaction", "the log is gone"}
	for user, sees := range map[string]bool{"op": true, "both": false} {
		b := browse(t, s)
		b.signIn(user, "correct horse", "/")
		page := strings.ReplaceAll(b.get("/").body, "&#39;", "’")
		for _, text := range said {
			if strings.Contains(page, text) != sees {
				t.Errorf("%s sees %q: %v, want %v", user, text, !sees, sees)
			}
		}
	}
	host.stream.Lag = nil
	s = serving(t, Options{Host: host, Several: true, Users: []User{{Name: "op", PasswordHash: hash, Operator: true}}})
	b := browse(t, s)
	b.signIn("op", "correct horse", "/")
	if page := b.get("/").body; !strings.Contains(page, "unknown how many records") {
		t.Errorf("with an unknown lag the page is\n%s", page)
	}
}
