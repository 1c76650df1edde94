// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchText is English-like ASCII of the size of an ordinary mail.
func benchText() []byte {
	random := rand.New(rand.NewPCG(7, 8))
	var b bytes.Buffer
	for b.Len() < 12_000 {
		for range 8 + random.IntN(6) {
			word := make([]byte, 2+random.IntN(9))
			for i := range word {
				word[i] = "etaoinshrdlucmfw"[random.IntN(16)]
			}
			b.Write(word)
			b.WriteByte(" ,. "[random.IntN(4)])
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func BenchmarkReadAndFreeze(b *testing.B) {
	messages := sampleMails(b)
	messages["12KB"] = append([]byte(plainHeader+"\n"), benchText()...)
	for _, name := range []string{"12KB", "plain", "patch", "html", "japanese"} {
		for _, names := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/names=%v", name, names), func(b *testing.B) {
				o := testOptions()
				o.Names = names
				f, err := New(o)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(messages[name])))
				b.ReportAllocs()
				for b.Loop() {
					f.Freeze(f.Read(messages[name]), History{})
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}
