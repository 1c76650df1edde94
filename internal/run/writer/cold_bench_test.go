// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"testing"

	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
)

// BenchmarkCold measures what comes before the decision of a message whose account is not in
// memory, over the accounts of BenchmarkScale: reading the state, and that with deriving what
// the filter needs.
func BenchmarkCold(b *testing.B) {
	s := newScale(b, 10)
	s.play(b, 60)
	each := func(name string, open func(account string) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				testkit.OK(b, open(s.names[i%len(s.names)]))
			}
		})
	}
	each("load", func(account string) error { _, err := s.store.Load(account); return err })
	each("open", func(account string) error { _, err := writer.Open(s.store, account); return err })
}
