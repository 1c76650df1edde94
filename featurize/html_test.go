// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func readHTMLOf(t testing.TB, doc string) *Message {
	t.Helper()
	return newTest(t).Read([]byte("Content-Type: text/html; charset=utf-8\n\n" + doc))
}

func TestTextIsNotGluedAcrossHTMLTags(t *testing.T) {
	for _, c := range []struct {
		name, doc string
		want      []string
	}{
		{"table cells", "<table><tr><td>one</td><td>two</td></tr></table>", []string{"one", "two"}},
		{"line break and paragraph", "one<br>two<p>three<br/>four", []string{"one", "two", "three", "four"}},
		{"list items and headings", "<h1>one</h1><ul><li>two<li>three</ul>", []string{"one", "two", "three"}},
		{"inline tags join", "<b>on</b>e t<i>w</i>o", []string{"one", "two"}},
		{"line ends in the source are spaces", "one\ntwo\r\nthree\tfour", []string{"one", "two", "three", "four"}},
		{"character references", "f&uuml;nf&nbsp;sechs &#x41;", []string{"fünf", "sechs", "a"}},
		{"script and style are left out", "<style>s1</style>one <script>var s2</script><!-- s3 -->two", []string{"one", "two"}},
		{"hidden text is left out", `<span style="DISPLAY : none">h <span>h2</span> h3</span>one`, []string{"one"}},
		{"text of size 0 is left out", `<p style="font-size:0px">h</p>one`, []string{"one"}},
		{"alternative text of pictures", `one<img alt="two">three`, []string{"one", "two", "three"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := wordsWith(readHTMLOf(t, c.doc), "body:"); !slices.Equal(got, c.want) {
				t.Errorf("%q: got %q, want %q", c.doc, got, c.want)
			}
		})
	}
}

func TestHTMLGivesHostsQuotesAndHiddenTextAsFeatures(t *testing.T) {
	m := readHTMLOf(t, `<a href="https://Click.Shop.example:8080/x">go</a><img src="http://pic.example/y">`+
		`<blockquote>said before</blockquote><div style="display:none">secret</div>`)
	if got, want := wordsWith(m, "host:"), []string{"click.shop.example", "shop.example", "pic.example"}; !slices.Equal(got, want) {
		t.Errorf("hosts: got %q, want %q", got, want)
	}
	if got, want := wordsWith(m, "quoted:"), []string{"said", "before"}; !slices.Equal(got, want) {
		t.Errorf("quoted: got %q, want %q", got, want)
	}
	if got := wordsWith(m, "html:"); !slices.Equal(got, []string{"hidden text"}) {
		t.Errorf("hidden text: got %q", got)
	}
}

var htmlSeeds = []string{
	"<table><td>one<td>two</table>", "<p style='display:none'>x</p>y", "<script>x</script>z<!-- c -->", "<a href=http://h.example>l</a>",
	"<<<>>> & &amp; &#0; &#xffffff; t", "<blockquote><blockquote>q", "<img alt='a b' src=//c>d", "<textarea><p>x",
}

func FuzzHTML(f *testing.F) {
	for _, seed := range htmlSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		fz := newTest(t)
		fz.reset()
		text := fz.readHTML(doc)
		// Entities shrink; quote marks are at most four bytes for each line.
		if lines := bytes.Count(text, []byte{'\n'}) + 1; len(text) > 3*len(doc)+4*lines+64 {
			t.Errorf("%d bytes of text from %d bytes of HTML", len(text), len(doc))
		}
		if bytes.Contains(text, []byte("\n\n")) || bytes.ContainsAny(text, "\r\t") {
			t.Errorf("text %q has empty lines or control characters", text)
		}
		// A block before the document breaks its first word from what is before.
		again := string(fz.readHTML(append([]byte("lead<div>"), doc...)))
		if !strings.HasPrefix(again, "lead\n") && again != "lead" {
			t.Errorf("text %q: the block did not break the word", again)
		}
	})
}

func TestSeedsOfFuzzHTMLReachTheCode(t *testing.T) {
	for _, seed := range htmlSeeds {
		fz := newTest(t)
		fz.reset()
		if text := fz.readHTML([]byte(seed)); len(bytes.TrimSpace(text)) == 0 {
			t.Errorf("seed %q gives no text", seed)
		}
	}
}

// tagOf gives the tag that the tokenizer gives, whatever the source of a tag looks like.
func TestTagsAreThoseOfTheTokenizer(t *testing.T) {
	docs := slices.Clone(htmlSeeds)
	for _, tag := range []string{"p", "DIV", "Table", "bLocKquote", "nosuchtag", "a\x00b", "x-y", "\x00", "p\x00", "é", strings.Repeat("a", 40), "script", "TEXTAREA", "annotation-xml"} {
		for _, end := range []string{">", "/>", " >", "\n>", "\r>", "\r\n>", "\t\f>", " class='x > y'>", "/ >", "/x>", "=1>", "<", ""} {
			docs = append(docs, "<"+tag+end, "</"+tag+end, "x<"+tag+end+"y</"+tag+end+"z", "< "+tag+end, "</ "+tag+end, "<//"+tag+end, "</"+tag+"/>")
		}
	}
	random, some := rand.New(rand.NewPCG(1, 2)), []string{"<", ">", "/", " ", "p", "DIV", "\x00", "=", "'", "a", "\n", "!", "?", "-"}
	for range 20_000 {
		doc := ""
		for range 1 + random.IntN(12) {
			doc += some[random.IntN(len(some))]
		}
		docs = append(docs, doc)
	}
	known := 0
	for _, doc := range docs {
		z := html.NewTokenizer(strings.NewReader(doc))
		for token := z.Next(); token != html.ErrorToken; token = z.Next() {
			if token != html.StartTagToken && token != html.EndTagToken && token != html.SelfClosingTagToken {
				continue
			}
			raw := string(z.Raw())
			name, _ := z.TagName()
			want := atom.Lookup(name)
			if got := tagOf([]byte(raw)); got != want {
				t.Fatalf("%q: tag %q is %v, want %v", doc, raw, got, want)
			}
			if want != 0 {
				known++
			}
		}
	}
	if known < 400 {
		t.Errorf("only %d tags were known", known)
	}
}
