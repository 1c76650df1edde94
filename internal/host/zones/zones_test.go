// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"
)

// The version is part of fingerprints, so it changes with the data.
func TestTheVersionIsThatOfTheData(t *testing.T) {
	const want = "2025c 8f55634d05f8bca1f7bc7c69c5933428c69357e0bdf565e5ba224e3f88ff12e8"
	if got := fmt.Sprintf("%s %x", Version, sha256.Sum256(packed)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// ZONEINFO comes first in time.LoadLocation, as the files of the machine come before
// those of the program.
func TestTheMachinesZonesAreNotAsked(t *testing.T) {
	t.Setenv("ZONEINFO", t.TempDir())
	for name, want := range map[string]string{
		"": "12:00 UTC", "UTC": "12:00 UTC", "Europe/Zurich": "14:00 CEST", "Asia/Kathmandu": "17:45 +0545", "America/Sao_Paulo": "09:00 -03",
	} {
		zone, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := time.Date(2025, 7, 1, 12, 0, 0, 0, time.UTC).In(zone).Format("15:04 MST"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"Local", "Europe", "Europe/Bern", "../UTC", "/etc/localtime"} {
		if zone, err := Load(name); err == nil {
			t.Errorf("%q: got %v, want an error", name, zone)
		}
	}
}
