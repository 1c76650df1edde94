// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"os"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
)

// The test binary plays another process too, see storetest.Role.
func TestMain(m *testing.M) {
	if os.Getenv(storetest.Role) == "mover" {
		os.Exit(runMover(os.Args[1]))
	}
	os.Exit(m.Run())
}
