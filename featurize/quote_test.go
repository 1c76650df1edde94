// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"github.com/hinged/hinged/internal/testkit"
)

// quoteMail is a mail of testdata/quotes: its lines, and whose each of them is.
type quoteMail struct {
	name, kinds string
	lines       []string
}

func quoteMails(t testing.TB) (mails []quoteMail) {
	raw := testkit.Read(t, "testdata/quotes/answers.txt")
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		if name, found := strings.CutPrefix(line, "== "); found {
			mails = append(mails, quoteMail{name: name})
		} else if last := len(mails) - 1; last >= 0 {
			mails[last].kinds += line[:1]
			mails[last].lines = append(mails[last].lines, line[2:])
		}
	}
	return mails
}

// kindLetters are the letters of testdata/quotes by the marks of lines.
const kindLetters = "oqsp-"

func TestEachLineIsWhoseItIsInManyLanguages(t *testing.T) {
	languages := make(map[string]bool)
	for _, mail := range quoteMails(t) {
		language, _, _ := strings.Cut(mail.name, ",")
		languages[language] = true
		t.Run(mail.name, func(t *testing.T) {
			for _, ends := range []string{"\n", "\r\n"} {
				f := new(Featurizer)
				lines := f.plainLines([]byte(strings.Join(mail.lines, ends)))
				f.quotes.read(lines, false)
				for i, line := range lines {
					got, want := kindLetters[line.mark], mail.kinds[i]
					if want != ' ' && got != want && bytes.IndexFunc(line.text, unicode.IsLetter) >= 0 {
						t.Errorf("%q is %c, want %c", line.text, got, want)
					}
				}
			}
		})
	}
	if len(languages) < 15 {
		t.Errorf("%d languages", len(languages))
	}
}

func TestQuestionsAreCountedInOwnWordsOfAnyScriptAndNotInLinks(t *testing.T) {
	for text, want := range map[string]int{
		"Shall we go? Now?": 2,
		"See https://shop.example/find?q=rope&n=2 please": 0,
		"Is https://shop.example/find?q=rope right?":      1,
		"行きますか？ はい":                                       1,
		"هل تأتي؟":                                        1,
		"Πού είναι\u037e Εδώ":                             1,
	} {
		if got := questions([]byte(text)); got != want {
			t.Errorf("%q has %d questions, want %d", text, got, want)
		}
	}
}

func TestQuestionsOfAnotherAreNotCounted(t *testing.T) {
	m := newTest(t).Read([]byte("From: ines@harbour.example\nSubject: Re: Crane\n\nYes.\n\nOn Tue, Nov 3, 2026 at 9:15 AM Bob <bob@rivers.example> wrote:\n\nShall we go?\nNow?\n"))
	names := wordsWith(m, "")
	for _, want := range []string{"shape:questions 0", "shape:own lines 1", "body:yes", "quoted:shall"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s", want)
		}
	}
}

// checkQuotes says what is wrong with the marks of lines: each has one, and reading is done.
func checkQuotes(t *testing.T, text []byte) {
	f := new(Featurizer)
	lines := f.plainLines(text)
	n := len(lines)
	f.quotes.read(lines, false)
	if len(lines) != n {
		t.Fatalf("%d lines of %d", len(lines), n)
	}
	for i, line := range lines {
		if line.mark > markNothing {
			t.Errorf("line %d has mark %d", i, line.mark)
		}
		if line.mark == markPatch && len(line.text) == 0 {
			t.Errorf("line %d of a patch is empty", i)
		}
	}
}

func FuzzQuotations(f *testing.F) {
	for _, mail := range quoteMails(f) {
		f.Add([]byte(strings.Join(mail.lines, "\n")))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkQuotes(t, text) })
}

func TestSeedsOfFuzzQuotationsReachTheCode(t *testing.T) {
	seen := make(map[lineMark]bool)
	for _, mail := range quoteMails(t) {
		checkQuotes(t, []byte(strings.Join(mail.lines, "\n")))
		f := new(Featurizer)
		lines := f.plainLines([]byte(strings.Join(mail.lines, "\n")))
		f.quotes.read(lines, false)
		for _, line := range lines {
			seen[line.mark] = true
		}
	}
	if len(seen) != len(kindLetters) {
		t.Errorf("the seeds give the marks %v", seen)
	}
}

// Each text is of lines that make the reader look ahead or back.
func TestTimeForQuotationsIsLinearInTheLines(t *testing.T) {
	for _, line := range []string{
		"--", "-- ", "____", "From: a@b.example", "Bob <b@b.example> wrote", "a@b.example:", ">", "begin 644 x\nend", "-----BEGIN X-----", "<\n",
		"Sent from my phone", "This paragraph of more than forty bytes begins as lawyers do", strings.Repeat("A", 64), "> " + strings.Repeat("(<", 50), "", "To: x: To: x:",
	} {
		took := func(n int) time.Duration {
			text := bytes.Repeat([]byte(line+"\n"), n)
			best := time.Hour
			for range 3 {
				f := new(Featurizer)
				lines := f.plainLines(text)
				start := time.Now()
				f.quotes.read(lines, false)
				best = min(best, time.Since(start))
			}
			return best
		}
		if small, big := took(1000), took(16_000); big > 130*small+100*time.Millisecond {
			t.Errorf("%.20q: %v for 1000 lines, %v for 16000", line, small, big)
		}
	}
}

func TestMarkupSaysWhoWrote(t *testing.T) {
	for _, c := range []struct {
		name, tag string
		want      lineMark
		following bool
	}{
		{"a plain blockquote", `<blockquote>`, markQuoted, false},
		{"Thunderbird's", `<blockquote type="cite" cite="mid:1">`, markQuoted, false},
		{"an indentation of Gmail", `<blockquote style="margin:0 0 0 40px;border:none;padding:0px">`, markNone, false},
		{"Gmail's wrapper, in which people answer", `<div class="gmail_quote gmail_quote_container">`, markNone, false},
		{"Gmail's attribution", `<div dir="ltr" class="gmail_attr">`, markQuoted, false},
		{"the same, shown by Yahoo and sent on", `<div class="yiv0123456789gmail_attr">`, markQuoted, false},
		{"the same, sent on by Gmail", `<div class="m_-1234567890gmail_attr">`, markQuoted, false},
		{"Outlook on the web", `<div id="x_divRplyFwdMsg">`, markQuoted, true},
		{"twice sent on", `<div id="x_x_divRplyFwdMsg">`, markQuoted, true},
		{"Outlook's section", `<span id="OLK_SRC_BODY_SECTION">`, markQuoted, false},
		{"Outlook on a phone", `<div id="mail-editor-reference-message-container">`, markQuoted, false},
		{"Hotmail's rule", `<hr id="stopSpelling">`, markQuoted, true},
		{"Yahoo", `<div id="ydp12345678" class="ydp12345678yahoo_quoted">`, markQuoted, false},
		{"Proton", `<div class="protonmail_quote">`, markQuoted, false},
		{"Spark", `<div name="messageReplySection">`, markQuoted, false},
		{"GMX", `<div name="quote" style="margin:10px 5px">`, markQuoted, false},
		{"a class of that name", `<td class="quote">`, markNone, false},
		{"Gmail's signature", `<div class="gmail_signature" data-smartmail="gmail_signature">`, markSignature, false},
		{"Thunderbird's signature", `<pre class="moz-signature" cols="72">`, markSignature, false},
		{"Outlook's signature", `<div id="x_Signature">`, markSignature, false},
		{"Apple's signature", `<div id="AppleMailSignature">`, markSignature, false},
		{"the signatures of a petition", `<div class="signatures">`, markNone, false},
		{"a paragraph", `<p class="MsoNormal" style="margin:0">`, markNone, false},
	} {
		root, err := html.Parse(strings.NewReader(c.tag + "x"))
		if err != nil {
			t.Fatal(err)
		}
		n := root.FirstChild.LastChild.FirstChild
		if strings.HasPrefix(c.tag, "<td") {
			n = &html.Node{Type: html.ElementNode, Data: "td", Attr: []html.Attribute{{Key: "class", Val: "quote"}}}
		}
		if got, following := markOf(n); got != c.want || following != c.following {
			t.Errorf("%s: %s is %d and following %v, want %d and %v", c.name, c.tag, got, following, c.want, c.following)
		}
	}
}

func TestWhatMarkupMarksEndsSignaturesAndFollowsAttributions(t *testing.T) {
	lines := []textLine{
		{text: []byte("Fine.")}, {text: []byte("-- ")}, {text: []byte("Ines")},
		{text: []byte("On Tue, Nov 3, 2026 at 9:15 AM Bob wrote:")}, {text: []byte("Who comes?"), mark: markQuoted}, {text: []byte("I come.")},
		{text: []byte("Ines Duarte"), mark: markSignature},
	}
	new(quoteReader).read(lines, false)
	var got []byte
	for _, line := range lines {
		got = append(got, kindLetters[line.mark])
	}
	if string(got) != "o-sqqos" {
		t.Errorf("got %s", got)
	}
}

func TestForwardIsKnownByItsContentUnlessTheSubjectAnswers(t *testing.T) {
	const text = "\n\nSee.\n\n---------- Forwarded message ---------\nFrom: Bob <bob@rivers.example>\nDate: Tue, Nov 3, 2026\nSubject: Crane\nTo: Ines <i@harbour.example>\n\nLook\n"
	for subject, want := range map[string]bool{"Crane": true, "Re: Crane": false} {
		f := newTest(t)
		m := f.Read([]byte("From: ines@harbour.example\nSubject: " + subject + text))
		if f.structure.forward != want {
			t.Errorf("%s: forward is %v", subject, f.structure.forward)
		}
		if names := wordsWith(m, "body:"); !slices.Equal(names, []string{"see"}) {
			t.Errorf("%s: own words %q", subject, names)
		}
	}
}
