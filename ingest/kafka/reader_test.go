package kafka

import (
	"fmt"
	"testing"
)

func TestWhatIsProducedIsReadBackInOrder(t *testing.T) {
	c := client(t, fake(t, 4))
	var want []Record
	for i := range 100 {
		want = append(want, Record{
			Partition: ByKey, Key: fmt.Appendf(nil, "account%d", i%7), Value: fmt.Appendf(nil, "value %d", i),
			Headers: []Header{{"a", []byte{0xff}}, {"a", nil}},
		})
	}
	offsets, err := c.Produce(t.Context(), testTopics.Input, want)
	if err != nil {
		t.Fatal(err)
	}
	marks, err := c.Watermarks(t.Context(), testTopics.Input)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int32][]Record{}
	for p, w := range marks {
		r := c.Read(testTopics.Input, int32(p), w.First)
		for r.Position() < w.End {
			b, err := r.Next(t.Context(), 9, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Records) > 9 {
				t.Fatalf("got %d records, want at most 9", len(b.Records))
			}
			got[int32(p)] = append(got[int32(p)], b.Records...)
		}
	}
	for i, w := range want {
		p := Partition(w.Key, 4)
		if int64(len(got[p])) <= offsets[i] {
			t.Fatalf("record %d is not in partition %d", i, p)
		}
		g := got[p][offsets[i]]
		if g.Offset != offsets[i] || string(g.Value) != string(w.Value) || string(g.Key) != string(w.Key) || len(g.Headers) != 2 || g.Headers[0].Value[0] != 0xff || g.Headers[1].Value != nil {
			t.Errorf("record %d came back as %+v", i, g)
		}
	}
}
