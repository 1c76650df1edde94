// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"errors"
	"testing"

	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// A vector or names that can't be decoded are damage to the store: a partition is then taken over
// again, and doesn't stop.
func TestAVectorThatCantBeReadIsDamage(t *testing.T) {
	s, _ := open(t)
	k := store.MessageKey{1, 2, 3}
	err := s.Commit(account, store.NewState(), store.Batch{Features: []store.FeatureRecord{{Key: k, Data: []byte("no vector"), Names: []byte("no names")}}})
	testkit.OK(t, err)
	v := writer.NewVectors(s, account)
	if _, err := v.Vector(store.MessageKey{9}, nil); errors.Is(err, store.ErrDamaged) || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Vector of another: %v, want ErrNotFound", err)
	}
	if _, err := v.Vector(k, nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Vector: %v, want ErrDamaged", err)
	}
	if _, err := v.Features(k); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Features: %v, want ErrDamaged", err)
	}
	if _, err := writer.NewReplayVectors(s, account).Arriving(k); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Arriving: %v, want ErrDamaged", err)
	}
}
