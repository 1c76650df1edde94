// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// pin logs what a process comes to, for make pins.
func pin(t *testing.T, p *process, out *cluster) {
	t.Helper()
	all := map[string][2]string{}
	for n := range digests(t, p.store) {
		st, err := p.store.Load(n)
		if err != nil {
			t.Fatal(err)
		}
		model, state := store.Digest(st)
		all[n] = [2]string{model, state}
	}
	var decisions [][]byte
	for _, r := range out.all(testTopics.Decisions) {
		decisions = append(decisions, r.Value)
	}
	testkit.PinAccounts(t, "stream", all, decisions)
}
