// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// tnefAttribute builds one of a TNEF stream, tnefProperty one that lies in such.
func tnefAttribute(id uint32, value []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{1}, id)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(value)))
	return append(append(b, value...), 0, 0)
}

func tnefProperty(id, kind uint16, value []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(id)<<16|uint32(kind))
	if id >= 0x8000 {
		b = append(append(b, make([]byte, 16)...), 1, 0, 0, 0, 4, 0, 0, 0, 'a', 0, 'b', 0)
	}
	if kind >= 0x0d && kind != 0x40 {
		b = binary.LittleEndian.AppendUint32(append(b, 1, 0, 0, 0), uint32(len(value)))
	}
	b = append(b, value...)
	return append(b, make([]byte, -len(value)&3)...)
}

func tnefStream(attributes ...[]byte) []byte {
	return append([]byte{0x78, 0x9f, 0x3e, 0x22, 1, 0}, bytes.Join(attributes, nil)...)
}

func mapiProperties(list ...[]byte) []byte {
	return append([]byte{byte(len(list)), 0, 0, 0}, bytes.Join(list, nil)...)
}

func utf16le(s string) (b []byte) {
	for _, unit := range utf16.Encode([]rune(s + "\x00")) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}

func winmail(stream []byte) string {
	return "Content-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString(stream)
}

var (
	tnefFile = slices.Concat(tnefAttribute(tnefAttachment, make([]byte, 14)), tnefAttribute(tnefTitle, []byte("PLAN~1.DOC\x00")),
		tnefAttribute(tnefAttachmentMAPI, mapiProperties(tnefProperty(0x3705, 3, []byte{1, 0, 0, 0}), tnefProperty(mapiFileName, mapiUnicode, utf16le("Pläne.docx")))))
	tnefSeeds = [][]byte{
		tnefStream(tnefAttribute(tnefCodePage, []byte{0xe3, 4, 0, 0, 0, 0, 0, 0}), tnefAttribute(tnefBody, []byte("\xef\xf0\xe8\xe2\xe5\xf2\x00"))),
		tnefStream(tnefAttribute(tnefProperties, mapiProperties(tnefProperty(0x8001, 0x40, make([]byte, 8)), tnefProperty(0x3007, 0x40, make([]byte, 8)), tnefProperty(mapiBody, mapiUnicode, utf16le("Grüße aus Köln")))), tnefFile, tnefFile),
		tnefStream(tnefAttribute(tnefProperties, mapiProperties(tnefProperty(mapiBody, mapiString8, []byte("stub")), tnefProperty(mapiHTML, 0x102, []byte("<p>bonjour <i>à tous"))))),
	}
)

func TestALetterInWinmailIsRead(t *testing.T) {
	cut := tnefStream(tnefAttribute(tnefBody, []byte("lesbar bis hier")))
	checkParts(t, []partCase{
		{"a body in the code page of the stream", winmail(tnefSeeds[0]), []string{"body:привет", "shape:attachments 0"}, []string{"attachment:.dat"}},
		{"a body in Unicode, and two files", winmail(tnefSeeds[1]), []string{"body:grüße", "body:köln", "attachment:.docx", "shape:attachments 2"}, []string{"attachment:.doc"}},
		{"a page", winmail(tnefSeeds[2]), []string{"body:bonjour", "body:tous"}, []string{"body:stub", "body:p"}},
		{"beside the letter", multipart("mixed", entity(utf8Plain, "Hallo"), winmail(tnefSeeds[1])), []string{"body:hallo", "attachment:.docx"}, []string{"body:köln"}},
		{"cut off", winmail(cut[:len(cut)-7]), []string{"body:lesbar"}, nil},
		{"none", winmail([]byte("no such stream")), []string{"attachment:.dat", "defect:winmail.dat", "shape:attachments 1"}, nil},
	})
}

// ber builds an element; inside -1 its length is not said.
func ber(tag byte, content ...[]byte) []byte {
	body := bytes.Join(content, nil)
	if tag&0x20 != 0 {
		return slices.Concat([]byte{tag, 0x80}, body, []byte{0, 0})
	}
	return slices.Concat([]byte{tag, 0x82, byte(len(body) >> 8), byte(len(body))}, body)
}

func signed(content ...[]byte) []byte {
	return ber(0x30, idSignedData, ber(0xa0, ber(0x30, []byte{2, 1, 1, 0x31, 0}, ber(0x30, idData, ber(0xa0, content...)), ber(0xa0, ber(0x30, ber(4, []byte("certificate")))))))
}

func TestALetterThatIsSignedAsAWholeIsRead(t *testing.T) {
	inner := []byte("Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nDie Br=C3=BCcke ist gesperrt.\r\n")
	part := func(kind string, data []byte) string {
		return "Content-Type: " + kind + "\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString(data)
	}
	const kind = "application/pkcs7-mime; smime-type=signed-data; name=smime.p7m"
	has, not := []string{"body:brücke", "body:gesperrt", "shape:own lines 1", "shape:attachments 0"}, []string{"attachment:.p7m", "body:certificate"}
	whole, pieces := signed(ber(4, inner)), signed(ber(0x24, ber(4, inner[:50]), ber(4, inner[50:])))
	nested := []byte(part(kind, whole))
	checkParts(t, []partCase{
		{"in one string", part(kind, whole), has, not},
		{"in pieces", part(kind, pieces), has, not},
		{"cut off behind the text", part(kind, whole[:len(whole)-30]), has, not},
		{"under its old name", part("application/x-pkcs7-mime", whole), has, not},
		{"as a file of no type", multipart("mixed", part("application/octet-stream; name=smime.p7m", whole)), has, not},
		{"signed twice", part(kind, signed(ber(4, nested))), has, not},
		{"encrypted", part("application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m", bytes.ReplaceAll(whole, idSignedData, []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03"))), []string{"shape:own lines 0", "shape:attachments 0"}, not},
	})
}

func TestContainersAreReadWithinBounds(t *testing.T) {
	deep := []byte("needle")
	for range 40 {
		deep = []byte("Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: binary\n\n" + string(ber(0x30, idSignedData, idData, []byte{0xa0, 0x80, 4, 0x84, 0, 0xff, 0xff, 0xff}, deep)))
	}
	big := strings.Repeat("wort ", 1<<20)
	for name, raw := range map[string]string{
		"signed 40 times":                  string(deep),
		"a million strings in pieces":      "Content-Type: application/pkcs7-mime\n\n" + string(slices.Concat([]byte{0x30, 0x80}, idSignedData, idData, bytes.Repeat([]byte{0x24, 0x80}, 1<<20))),
		"a million properties":             winmail(tnefStream(tnefAttribute(tnefProperties, bytes.Repeat([]byte{0xff, 0xff, 0xff, 0x7f}, 1<<20)))),
		"many big messages in base64":      multipart("mixed", slices.Repeat([]string{"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte("Subject: x\n\n"+big[:1<<20]))}, 10)...),
		"alternatives with all the words":  multipart("alternative", entity("text/plain", big), entity("text/html", big)),
		"a thousand alternatives":          multipart("mixed", slices.Repeat([]string{multipart("alternative", entity("text/plain", "a b"), entity("text/html", "c d"))}, 400)...),
		"multiparts with no boundary":      "Content-Type: multipart/mixed\n\n" + strings.Repeat("--a\nContent-Type: multipart/mixed\n\n", 100_000),
		"a field of a million parameters":  "Content-Disposition: attachment" + strings.Repeat(`; a*1*="`, 8000) + "\nContent-Type: image/x\n\nx",
		"uuencoded lines of false lengths": "Content-Transfer-Encoding: x-uuencode\n\nbegin 1 x\n" + strings.Repeat("_\n", 1<<20),
	} {
		t.Run(name, func(t *testing.T) { readWithin(t, []byte(plainHeader+raw), maxTime) })
	}
}

func FuzzTNEF(f *testing.F) {
	for _, seed := range tnefSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fz := newTest(t)
		fz.reset()
		fz.readTNEF(data)
		if content := signedContent(data); len(content) > len(data) {
			t.Errorf("%d bytes signed of %d", len(content), len(data))
		}
	})
}

func TestSeedsOfFuzzTNEFReachTheCode(t *testing.T) {
	for i, seed := range tnefSeeds {
		fz := newTest(t)
		fz.reset()
		if !fz.readTNEF(seed) || fz.body.shown == 0 {
			t.Errorf("seed %d gives no text", i)
		}
	}
}

// partSeeds are bodies of many kinds.
var partSeeds = []string{
	multipart("alternative", entity(utf8Plain, "eins zwei"), entity("text/html", "<p>eins zwei"), entity("text/calendar", "BEGIN:VCALENDAR")),
	multipart("mixed", entity(utf8Plain, "eins"), "Content-Type: message/rfc822\n\nSubject: zwei\n\n"+multipart("related", entity("text/html", "drei"))),
	multipart("digest", "\nSubject: eins\n\nzwei"), winmail(tnefSeeds[2]), "Content-Type: multipart/mixed; boundary=b\n\n--c\nContent-Type: text/plain\n\neins\n--c",
	"Content-Transfer-Encoding: x-uue\n\nbegin 1 x\n#96EN\nend", "Content-Type: application/pkcs7-mime\n\n" + string(signed(ber(4, []byte("\neins")))),
}

func FuzzParts(f *testing.F) {
	for _, seed := range partSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		fz := newTest(t)
		m := fz.Read(raw)
		checkFeatures(t, m, fz.Freeze(m, History{}))
		if got, want := describe(fz, fz.Read(raw)), describe(newTest(t), newTest(t).Read(raw)); got != want {
			t.Errorf("read again: got\n%s\nwant\n%s", got, want)
		}
		if fz.body.others != 0 || fz.body.seen != nil {
			t.Error("a message or an alternative within was not left")
		}
	})
}

func TestSeedsOfFuzzPartsReachTheCode(t *testing.T) {
	for i, seed := range partSeeds {
		if m := newTest(t).Read([]byte(seed)); len(wordsWith(m, "body:"))+len(wordsWith(m, "quoted:")) == 0 {
			t.Errorf("seed %d gives no words; defects %q", i, m.Defects)
		}
	}
}
