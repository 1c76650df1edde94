// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Pin logs what must stay as it is while the code is rebuilt, for make pins, which compares
// it with scripts/pins.txt. group is the line's first word: make pins says of a whole group
// that it was left out, when nothing of it was logged. what says of which run it is, and
// ends in the word "state" if a format alone may change it. A long value is logged as its
// SHA-256.
func Pin(tb testing.TB, group, what, value string) {
	tb.Helper()
	kind := "decided"
	if strings.HasSuffix(what, "state") {
		kind = "format"
	}
	if len(value) > 300 {
		value = fmt.Sprintf("%x", sha256.Sum256([]byte(value)))
	}
	tb.Logf("pin %s %s %s %s", kind, group, what, value)
}

// PinAccounts pins what a test's accounts came to: the digests of model and state of each,
// and what the values of a decisions topic say was decided, by which score.
func PinAccounts(tb testing.TB, group string, digests map[string][2]string, decisions [][]byte) {
	tb.Helper()
	var decided, models, states []string
	for _, value := range decisions {
		var d struct {
			Account     string  `json:"account"`
			MessageID   string  `json:"message_id"`
			Decision    string  `json:"decision"`
			Mark        bool    `json:"mark"`
			Score       float64 `json:"score"`
			Threshold   float64 `json:"threshold"`
			Probability float64 `json:"probability"`
			Reason      string  `json:"reason"`
		}
		if err := json.Unmarshal(value, &d); err != nil {
			tb.Fatal(err)
		}
		decided = append(decided, fmt.Sprintf("%+v", d))
	}
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		models = append(models, name+" "+digests[name][0])
		states = append(states, name+" "+digests[name][1])
	}
	if decisions != nil {
		slices.Sort(decided)
		decided = slices.Compact(decided) // one may be there twice
		Pin(tb, group, tb.Name()+" decisions", fmt.Sprintf("%d: %x", len(decided), sha256.Sum256(fmt.Append(nil, decided))))
	}
	Pin(tb, group, tb.Name()+" models", fmt.Sprintf("%d: %x", len(models), sha256.Sum256(fmt.Append(nil, models))))
	Pin(tb, group, tb.Name()+" state", fmt.Sprintf("%d: %x", len(states), sha256.Sum256(fmt.Append(nil, states))))
}
