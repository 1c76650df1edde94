// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// labelled are labels as they stand in mail, by what they mean, and a text that it can hold.
var labelled = []struct {
	encoding encoding.Encoding
	text     string
	labels   string // by commas
}{
	{unicode.UTF8, "Überraschung für Zoë", "utf-8,UTF8,utf_8,utf8mb4,utf8mb3,x-utf-8,unicode-1-1-utf-8,cp65001,\"utf-8\",charset=utf-8,utf-8;format=flowed, UTF-8 "},
	{charmap.Windows1252, "Überraschung – für “Zoë”", "iso-8859-1,ISO8859-1,iso8859_1,8859-1,iso_8859-1:1987,latin1,latin-1,l1,cp819,windows-1252,cp1252,win-1252,x-cp1252,ansi,cp-1252,iso-ir-100,'iso-8859-1',us-ascii,iso-8859-1//translit,x-unknown,unknown-8bit,default_charset"},
	{charmap.ISO8859_2, "Zażółć gęślą jaźń, proszę", "iso-8859-2,latin2,8859_2,iso8859-2"},
	{charmap.Windows1250, "Zażółć gęślą jaźń, proszę", "windows-1250,cp1250,win-1250,x-cp1250"},
	{charmap.Windows1251, "Привет соседям из третьего подъезда", "windows-1251,win-1251,cp1251,x-cp1251,cp-1251,win1251"},
	{charmap.KOI8R, "Привет соседям из третьего подъезда", "koi8-r,koi8,koi8r,cskoi8r,cp20866"},
	{charmap.KOI8U, "Вітаю сусідів із третього підїзду", "koi8-u,koi8-ru"},
	{charmap.CodePage866, "Привет соседям из третьего подъезда", "cp866,ibm866,866"},
	{charmap.ISO8859_5, "Привет соседям", "iso-8859-5"},
	{charmap.MacintoshCyrillic, "Привет соседям", "x-mac-cyrillic,x-mac-ukrainian"},
	{charmap.CodePage850, "Überraschung für", "cp850,ibm850"},
	{charmap.CodePage437, "Überraschung für", "cp437,ibm437"},
	{charmap.CodePage852, "Zażółć gęślą", "cp852,ibm852"},
	{charmap.CodePage858, "Überraschung für", "cp858"},
	{charmap.Macintosh, "Überraschung für", "macintosh,x-mac-roman,mac,macroman"},
	{charmap.ISO8859_7, "Καλημέρα γείτονες", "iso-8859-7,greek"},
	{charmap.Windows1253, "Καλημέρα γείτονες", "windows-1253,cp1253"},
	{charmap.Windows1254, "Günaydın komşular", "windows-1254,iso-8859-9,latin5"},
	{charmap.Windows1255, "שלום לשכנים", "windows-1255"},
	{charmap.ISO8859_8, "שלום לשכנים", "iso-8859-8-i"},
	{charmap.Windows1256, "مرحبا بالجيران", "windows-1256"},
	{charmap.Windows1257, "Sveiki, kaimiņi", "windows-1257,cp1257"},
	{charmap.ISO8859_15, "Preis: 5 € für Zoë", "iso-8859-15,latin9,latin-9"},
	{charmap.Windows874, "สวัสดีเพื่อนบ้าน", "tis-620,tis620,iso8859-11,iso-8859-11,windows-874,cp874"},
	{japanese.ShiftJIS, "来週の会議は水曜日です", "shift_jis,cp932,ms932,windows-31j,x-sjis,sjis,shift-jis,ms_kanji"},
	{japanese.EUCJP, "来週の会議は水曜日です", "euc-jp,eucjp,x-euc-jp,ujis,eucjp-ms"},
	{japanese.ISO2022JP, "来週の会議は水曜日です", "iso-2022-jp,iso-2022-jp-ms,cp50221,csiso2022jp"},
	{korean.EUCKR, "다음 주 회의는 수요일입니다", "euc-kr,cp949,uhc,ks_c_5601-1987,ksc5601,ms949"},
	{simplifiedchinese.GB18030, "下周的会议改到星期三", "gb2312,gb_2312-80,gbk,cp936,x-gbk,gb18030,euc-cn"},
	{simplifiedchinese.HZGB2312, "下周的会议改到星期三", "hz-gb-2312"},
	{traditionalchinese.Big5, "下週的會議改到星期三", "big5,cp950,big5hkscs,big5-hkscs,x-big5"},
	{unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "Grüße, 会議", "utf-16,utf-16le"},
}

func TestAtMostFiveOf105LabelsAreUnread(t *testing.T) {
	var unread []string
	n := 0
	for _, l := range labelled {
		raw, err := l.encoding.NewEncoder().Bytes([]byte(l.text))
		if err != nil {
			t.Fatalf("%s: %v", l.labels, err)
		}
		for label := range strings.SplitSeq(l.labels, ",") {
			n++
			if got := string(newTest(t).decode(raw, label, nil)); got != l.text {
				unread = append(unread, label)
				t.Logf("%s: got %q, want %q", label, got, l.text)
			}
		}
	}
	if n < 105 || len(unread) > 5 {
		t.Errorf("%d labels, unread are %d: %q", n, len(unread), unread)
	}
}

func TestTextIsReadWhateverItsLabelSays(t *testing.T) {
	encoded := func(e encoding.Encoding, text string) string {
		out, err := e.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct{ name, raw, label, want string }{
		{"one bad byte in UTF-8 without a label", "Crème brûlée \xe9 à la carte", "", "Crème brûlée \ufffd à la carte"},
		{"one bad byte in UTF-8 with its label", "Crème brûlée \xe9 à la carte", "utf-8", "Crème brûlée \ufffd à la carte"},
		{"one bad byte in UTF-8 called latin1", "Crème brûlée où même l’été déjà \xe9 très sucré", "iso-8859-1", "Crème brûlée où même l’été déjà \ufffd très sucré"},
		{"latin1 called UTF-8", "H\xf6he und Gr\xf6\xdfe", "utf-8", "Höhe und Größe"},
		{"KOI8 called UTF-8", encoded(charmap.KOI8R, "Завтра во дворе собрание жильцов"), "utf-8", "Завтра во дворе собрание жильцов"},
		{"Windows-1251 without a label", encoded(charmap.Windows1251, "Завтра во дворе собрание жильцов"), "", "Завтра во дворе собрание жильцов"},
		{"Shift JIS called ASCII", encoded(japanese.ShiftJIS, "明日の朝に荷物が届きます"), "us-ascii", "明日の朝に荷物が届きます"},
		{"Latin-2 without a label", encoded(charmap.ISO8859_2, "Proszę przesłać umowę do końca tygodnia, dziękuję bardzo"), "unknown", "Proszę przesłać umowę do końca tygodnia, dziękuję bardzo"},
		{"Windows quotes called ASCII", "It\x92s na\xefve", "us-ascii", "It’s naïve"},
		{"a few letters outside ASCII", "Ma\xdfe", "", "Maße"},
		{"ISO-2022-JP called ASCII", encoded(japanese.ISO2022JP, "荷物 arrives"), "us-ascii", "荷物 arrives"},
		{"UTF-8 called UTF-16", "Crème\n", "utf-16", "Crème\n"},
		{"UTF-8 called Shift JIS", "明日", "shift_jis", "明日"},
		{"a byte order mark of UTF-8", "\xef\xbb\xbfété", "iso-8859-1", "été"},
		{"a byte order mark of UTF-16", "\xfe\xff\x00H\x00\xf6", "us-ascii", "Hö"},
		{"big-endian UTF-16 without a mark", "\x00H\x00\xf6", "utf-16", "Hö"},
		{"UTF-7", "H+APY-he +- 2+AKI 1", "unicode-1-1-utf-7", "Höhe + 2¢ 1"},
		{"what only looks like UTF-7", "C++ and a + b", "utf-7", "C++ and a + b"},
		{"ISO-2022-KR", "\x1b$)C\x0e>H3g\x0f hi", "iso-2022-kr", string(must(korean.EUCKR.NewDecoder().Bytes([]byte("\xbe\xc8\xb3\xe7")))) + " hi"},
	} {
		got := strings.ToValidUTF8(string(newTest(t).decode([]byte(c.raw), c.label, nil)), "\ufffd")
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestAGuessIsTheSameEveryTime(t *testing.T) {
	for _, text := range []string{"H\xf6he", "\xcf\xf0\xe8\xe2\xe5\xf2", "\x83\x65\x83\x58\x83\x67", "\xbf\xc0\xdf\xee\xa1\xb1"} {
		first := guess([]byte(text))
		for range 50 {
			if got := guess([]byte(text)); got != first {
				t.Fatalf("%q: got %s and %s", text, first, got)
			}
		}
	}
}

func FuzzCharset(f *testing.F) {
	for _, l := range labelled {
		raw, _ := l.encoding.NewEncoder().Bytes([]byte(l.text))
		f.Add(raw, strings.Split(l.labels, ",")[0], false)
	}
	f.Add([]byte("<meta charset=koi8-r>\xd0\xd2\xc9"), "", true)
	f.Add([]byte("a+AKI-+"), "utf-7", false)
	f.Fuzz(func(t *testing.T, text []byte, label string, html bool) {
		held := bytes.Clone(text)
		var second func([]byte) string
		if html {
			second = metaCharset
		}
		got := slices.Clone(newTest(t).decode(text, label, second))
		if !bytes.Equal(text, held) {
			t.Fatal("the text was changed")
		}
		if again := newTest(t).decode(text, label, second); !bytes.Equal(got, again) {
			t.Fatalf("got %q and %q", got, again)
		}
		if len(got) > 4*len(text)+4 {
			t.Fatalf("%d bytes of %d", len(got), len(text))
		}
		if utf8.Valid(text) && !bytes.ContainsAny(text, "\x1b\x00~+") && charsetName(label) != "utf-7" && !bytes.HasPrefix(text, []byte("\ufeff")) && !bytes.Equal(got, text) {
			t.Fatalf("valid UTF-8 became %q", got)
		}
	})
}
