// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"fmt"
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
		{"a picture's alternative text and titles are no words", `one<img alt="two" title="four"><a title="five">three</a>`, []string{"one", "three"}},
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
	"<<<>>> & &amp; &#0; &#xffffff; t", "<blockquote><blockquote>q", "<img alt='a b' src=//c>d", "<textarea><p>x</textarea>y",
}

func FuzzHTML(f *testing.F) {
	for _, seed := range htmlSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		fz := newTest(t)
		fz.reset()
		size, lines := 0, fz.readHTML(doc)
		for _, line := range lines {
			size += len(line.text)
			if len(bytes.TrimRight(line.text, " ")) == 0 || bytes.ContainsAny(line.text, "\n\r\t") {
				t.Errorf("line %q is empty or has control characters", line.text)
			}
		}
		if size > 3*len(doc)+64 {
			t.Errorf("%d bytes of text from %d bytes of HTML", size, len(doc))
		}
		once := fmt.Sprintf("%q", lines)
		if again := fmt.Sprintf("%q", fz.readHTML(doc)); again != once {
			t.Errorf("first %s, then %s", once, again)
		}
		// A block before the document breaks its first word from what is before.
		if again := fz.readHTML(append([]byte("lead<div>"), doc...)); len(again) == 0 || string(again[0].text) != "lead" {
			t.Errorf("text %q: the block did not break the word", again)
		}
	})
}

func FuzzCSS(f *testing.F) {
	for _, seed := range cssSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s := parseCSS(text, false); s.count > maxRules+1 {
			t.Errorf("%d rules", s.count)
		}
		if once, again := fmt.Sprint(parseCSS(text, true).declarations), fmt.Sprint(parseCSS(text, true).declarations); once != again {
			t.Errorf("first %s, then %s", once, again)
		}
		fz := newTest(t)
		fz.reset()
		fz.readHTML([]byte("<style>" + text + "</style><p class=a id=b style='" + text + "'>x<b>y"))
	})
}

var cssSeeds = []string{
	".a{color:#fff}#b>b{display:none!important}", "@media (max-width:9px){p{color:red}}", "p:first-child{font:0/0 a}", "d\\69splay:none",
	"background:url(x) rgba(1 2 3/4%)", "a,b~c+d[e=f]{margin:-9999px 0}", "color:hsl(1deg 2% 3%)", "clip:rect(0,0,0,0)",
}

func TestSeedsOfFuzzHTMLAndCSSReachTheCode(t *testing.T) {
	for _, seed := range htmlSeeds {
		fz := newTest(t)
		fz.reset()
		if lines := fz.readHTML([]byte(seed)); len(lines) == 0 {
			t.Errorf("seed %q gives no text", seed)
		}
	}
	for _, seed := range cssSeeds {
		if parseCSS(seed, false).count+len(parseCSS(seed, true).declarations) == 0 && !strings.HasPrefix(seed, "@") {
			t.Errorf("seed %q gives no rule", seed)
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
