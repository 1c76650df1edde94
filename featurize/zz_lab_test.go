package featurize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLabDump(t *testing.T) {
	dir := os.Getenv("LAB")
	if dir == "" {
		t.Skip()
	}
	files, _ := filepath.Glob(dir + "/*.html")
	for _, n := range files {
		b, _ := os.ReadFile(n)
		f := newTest(t)
		f.reset()
		lines := f.readHTML(f.decodeCharset(b, "", true))
		var o bytes.Buffer
		for _, l := range lines {
			o.Write(l.text)
			o.WriteByte('\n')
		}
		os.WriteFile(strings.TrimSuffix(n, ".html")+".ours", o.Bytes(), 0o644)
		var h []string
		os.WriteFile(strings.TrimSuffix(n, ".html")+".hid", []byte(strings.Join(h, "\n")), 0o644)
	}
}
func TestLabCases(t *testing.T) {
	if os.Getenv("CASES") == "" {
		t.Skip()
	}
	raw, _ := os.ReadFile("/work/shared/cases/cases.json")
	var cs []struct {
		Name, Kind string
		Want, Bad  []string
	}
	json.Unmarshal(raw, &cs)
	for _, c := range cs {
		if c.Kind != "html-sight" {
			continue
		}
		m, _ := os.ReadFile("/work/shared/cases/" + c.Name + ".eml")
		x := newTest(t).Read(m)
		all := map[string]bool{}
		var names []string
		for _, n := range wordsOfAll(x) {
			all[n] = true
			names = append(names, n)
		}
		for _, w := range c.Want {
			if !all[w] {
				t.Errorf("%s: want %s", c.Name, w)
			}
		}
		for _, w := range c.Bad {
			if all[w] {
				t.Errorf("%s: bad %s", c.Name, w)
			}
		}
		fmt.Println(c.Name)
	}
}
func wordsOfAll(m *Message) []string { return wordsWith(m, "") }
