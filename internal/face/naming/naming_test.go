// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/store"
)

func TestWithoutKeptNamesNoWordAndNobodyIsNamed(t *testing.T) {
	x := featurize.DefaultOptions()
	x.Names = false
	f, err := featurize.New(x)
	if err != nil {
		t.Fatal(err)
	}
	features := f.Freeze(f.Read([]byte("From: a@example.org\n\nhello there\n")), featurize.History{})
	n := newNaming(fixed{features}, features.Vector())
	for i := range 5 {
		if err := n.read(store.MessageKey{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for index, name := range n.names {
		if _, nobody := words.ImpersonalName(index); name != "constant" && !nobody {
			t.Errorf("%x is named %q", index, name)
		}
	}
}

// fixed gives every message the same features.
type fixed struct{ x *featurize.Features }

func (v fixed) Named(store.MessageKey) (*featurize.Features, error) { return v.x, nil }
