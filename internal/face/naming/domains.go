// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Domains returns the domains of an account together with which the words in the names of
// senders are features, sorted, as far as its learnt messages tell. A domain of fewer than
// three of those is not named. It is not for the account's writer.
func Domains(ctx context.Context, s *boltfile.Store, account string) ([]string, error) {
	vectors, met := writer.NewVectors(s, account), map[string]int{}
	err := eachMessage(ctx, s.Lessons(account, 0), func(k store.MessageKey) (bool, error) {
		return false, countDomains(vectors, k, met)
	})
	maps.DeleteFunc(met, func(_ string, n int) bool { return n < after })
	return slices.Sorted(maps.Keys(met)), err
}

// countDomains counts one learnt message for each domain in it.
func countDomains(vectors namedVectors, k store.MessageKey, met map[string]int) error {
	x, err := vectors.Named(k)
	if errors.Is(err, store.ErrNotFound) {
		return nil // its words are gone
	}
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for f := range x.All() {
		if domain, ok := words.DomainOfName(f.Name); ok && !here[domain] {
			here[domain] = true
			met[domain]++
		}
	}
	return nil
}
