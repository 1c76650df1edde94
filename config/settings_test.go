// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestSettingsAreReadAsInAFile(t *testing.T) {
	j := DefaultAccount().Judging
	given, err := j.Set([]string{"learner.kind=perceptron", `threshold.mode = "budget"`, "threshold.share=0.05", "settle=5m", `rule=[{match="From:Boss@Example.org", label="important"}]`})
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultAccount().Judging
	want.Learner.Kind, want.Threshold.Mode, want.Threshold.Share = "perceptron", "budget", 0.05
	want.Settle, want.Rules = Duration(300e9), []Rule{{Match: "from:boss@example.org", Label: "important"}}
	if !reflect.DeepEqual(j, want) {
		t.Errorf("got\n%+v\nwant\n%+v", j, want)
	}
	if len(given) != 5 || given["threshold.share"] != 0.05 || given["learner.kind"] != "perceptron" {
		t.Errorf("given are %v", given)
	}
	for _, tt := range []struct{ settings, want string }{
		{"learner.window", `--set:1: not a setting, got "learner.window"`},
		{"learner.kind=dual|mark=$X", "--set:2: mark: unknown key"},
		{"learner.kind=dual|learner.kind=margin", "--set:2: not valid TOML"},
		{"imap.address=x", "--set:1: imap: unknown key"},
		{"settle=soon|keep_days=-1", "--set:1: settle: "},
		{"keep_days=-1", "--set:1: keep_days: out of range"},
		{"learner.margin=2", `has no effect with kind = "dual"`},
		{"=1", "--set:1: not valid TOML"},
	} {
		j := DefaultAccount().Judging
		if _, err := j.Set(strings.Split(tt.settings, "|")); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.settings, err, tt.want)
		}
	}
}
