// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
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

func TestHowMuchIsHiddenIsAFact(t *testing.T) {
	for _, c := range []struct {
		words string
		want  []string
	}{
		{"", nil},
		{"&nbsp; &zwnj; &#847; - ", nil},
		{"three hidden words", []string{"hidden text"}},
		{strings.Repeat("nine ", 9), []string{"hidden text", "hidden words 8+"}},
		{strings.Repeat("many ", 200), []string{"hidden text", "hidden words 128+"}},
	} {
		m := readHTMLOf(t, `<script>no words</script><title>none</title><div style="display:none">`+c.words+`</div>seen`)
		if got := wordsWith(m, "html:"); !slices.Equal(got, c.want) {
			t.Errorf("%.20q: got %q, want %q", c.words, got, c.want)
		}
	}
}

func TestLinesAreThoseOfThePage(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"pre keeps its lines", "<pre>one\n  two\n\nthree</pre>four", "one|  two|three|four"},
		{"pre by a rule", `<p style="white-space:pre-line">one  two` + "\n" + `three</p>`, "one two|three"},
		{"cells of a row stand beside one another", "<table><tr><td>one<td>two<tr><td>three</table>", "one two|three"},
		{"cells without a table", "<td>one</td><td>two</td>", "one two"},
		{"links as blocks", `<a href=x style="display:block">one</a><a href=y style="display:block">two</a>`, "one|two"},
		{"links as buttons", `<a href=x style="display:inline-block">one</a><a href=y style="display:inline-block">two</a>`, "one two"},
		{"blocks as lines", `<p style="display:inline">one</p><p style="display:inline">two</p>`, "onetwo"},
		{"white space", "one \t\n two&nbsp; <b> three</b>", "one two three"},
		{"a word with a hidden part", `se<span style="display:none">x</span>en`, "seen"},
		{"a chance to break", "some<wbr>thing", "something"},
		{"blockquotes are another's", "one<blockquote>two<blockquote>three</blockquote></blockquote>four", "one|>two|>three|four"},
		{"a page within one blockquote is the writer's", "<blockquote>one<p>two</blockquote>", "one|two"},
		{"items and their choice", "<ul><li>one<li>two</ul><select><option>three<option>four</select>", "one|two|three|four"},
		{"formatting goes on", "<p><b>one</p>two", "one|two"},
	} {
		fz := newTest(t)
		fz.reset()
		var got []string
		for _, line := range fz.readHTML([]byte(c.doc)) {
			got = append(got, []string{"", ">", "?"}[line.mark]+string(line.text))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %s: got %q, want %q", c.name, c.doc, strings.Join(got, "|"), c.want)
		}
	}
}

// Documents that would take square time, or more, if nothing bounded it.
func TestHostileHTMLIsReadWithinBounds(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, doc := range map[string]string{
		"nested tables":     strings.Repeat("<table><tr><td>x", 40_000),
		"many bodies":       strings.Repeat("<body a=b>", 100_000),
		"selectors":         "<style>" + strings.Repeat("div div div div div div x{color:red}", 4000) + "</style>" + strings.Repeat("<div>", 400) + strings.Repeat("<x>y</x>", 50_000),
		"siblings":          "<style>" + strings.Repeat("b ~ b ~ p:first-of-type{color:red}", 1000) + "</style>" + strings.Repeat("<!----><b></b>", 50_000),
		"attributes":        "<style>" + strings.Repeat("[style*=x]{color:red}", 1000) + "</style>" + strings.Repeat("<p style='"+strings.Repeat("y", 50_000)+"'>x", 20),
		"open formatting":   strings.Repeat("<p><b><i><u>x</p>", 30_000),
		"ends of nothing":   strings.Repeat("<span>", 500) + strings.Repeat("</x>", 300_000),
		"blocks in a sheet": "<style>" + strings.Repeat("@media screen{", 100_000) + "</style>x",
	} {
		fz := newTest(t)
		fz.reset()
		start := processorTime()
		fz.readHTML([]byte(doc))
		if took := processorTime() - start; took > 5*slowdown*time.Second {
			t.Errorf("%s: %v", name, took)
		}
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

// plainTags compares the attributes that plainAttributes finds with those of the Tokenizer.
func plainTags(t *testing.T, doc []byte) (plain int) {
	t.Helper()
	z := html.NewTokenizer(bytes.NewReader(doc))
	for token := z.Next(); token != html.ErrorToken; token = z.Next() {
		if token != html.StartTagToken && token != html.SelfClosingTagToken {
			continue
		}
		var tree htmlTree
		source := bytes.Clone(z.Raw())
		if !tree.plainAttributes(source) {
			continue
		}
		plain++
		var want, got []string
		for more := true; more; {
			var key, value []byte
			if key, value, more = z.TagAttr(); len(key) > 0 {
				want = append(want, string(key)+"="+string(value))
			}
		}
		for i, a := range tree.attrs {
			got = append(got, a.Key+"="+string(tree.text[tree.fixes[i].start:tree.fixes[i].end]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
	return plain
}

const tagsToCompare = `<td align="left" style="font-size:0px; color:#fff"><br /><a
 href="https://quay.example/?a=1" class="x y">x</a><p id=x><p id='y'><p hidden><p a="1&amp;2"><p A="b"><p a="b"c="d"><p a="b" a="c"><p a = "b"><p a="<p>"><x-y a="b"/><p/a="b">`

func TestPlainAttributesAreThoseOfTheTokenizer(t *testing.T) {
	if n := plainTags(t, []byte(tagsToCompare)); n != 4 {
		t.Errorf("%d tags are plain, want 4", n)
	}
}

func FuzzPlainAttributes(f *testing.F) {
	f.Add([]byte(tagsToCompare))
	f.Fuzz(func(t *testing.T, doc []byte) { plainTags(t, doc) })
}
