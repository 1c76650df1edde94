// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"strings"
	"testing"
)

func BenchmarkMbox(b *testing.B) {
	one := "From a@example.org Thu Aug 18 18:22:57 2005\nSubject: one\n\n" + strings.Repeat("> a line of some text, as long as lines mostly are\nand a shorter one\n", 100) + "\n"
	content := strings.Repeat(one, 20_000)
	dir := b.TempDir()
	for _, bb := range []struct{ name, path string }{
		{"plain", write(b, dir, "plain", content)}, {"gzip", write(b, dir, "gzip", gzipped(b, content))}, {"zstd", write(b, dir, "zstd", zstandard(b, content))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := Open([]string{bb.path}, Options{})
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for {
					if _, err := r.Next(); err != nil {
						break
					}
					n++
				}
				if n != 20_000 {
					b.Fatalf("got %d messages", n)
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
