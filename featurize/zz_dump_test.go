package featurize

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestScratchDump(t *testing.T) {
	list, err := os.Open("/work/lab-parts/files.txt")
	if err != nil {
		t.Skip()
	}
	out, _ := os.Create("/work/lab-parts/ours.jsonl")
	defer out.Close()
	s := bufio.NewScanner(list)
	for s.Scan() {
		raw, err := os.ReadFile(s.Text())
		if err != nil {
			t.Fatal(err)
		}
		f := newTest(t)
		m := f.Read(raw)
		x := f.Freeze(m, History{})
		words := map[string]string{}
		var other []string
		for n := range x.All() {
			p, w, ok := strings.Cut(n.Name, ":")
			switch {
			case ok && (p == "body" || p == "quoted" || p == "signature" || p == "patch" || p == "opening"):
				words[w] = p
			case ok && (p == "attachment" || p == "html" || strings.HasPrefix(n.Name, "shape:attachments") && !strings.Contains(n.Name, "|")):
				other = append(other, n.Name)
			}
		}
		b, _ := json.Marshal(map[string]any{"file": s.Text(), "words": words, "other": other, "defects": m.Defects})
		out.Write(append(b, '\n'))
	}
}
