// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// multipart builds a multipart entity; each part is its header lines, a blank line and its
// body.
func multipart(kind string, parts ...string) string {
	boundary := fmt.Sprintf("=_%d", len(strings.Join(parts, kind))) // other than any within
	var b strings.Builder
	fmt.Fprintf(&b, "Content-Type: multipart/%s; boundary=\"%s\"\n\n", kind, boundary)
	for _, p := range parts {
		b.WriteString("--" + boundary + "\n" + p + "\n")
	}
	b.WriteString("--" + boundary + "--\n")
	return b.String()
}

// entity builds one with a body of some type.
func entity(kind, body string) string { return "Content-Type: " + kind + "\n\n" + body }

const utf8Plain = "text/plain; charset=utf-8"

// partCase is a body with the features that it must and must not give.
type partCase struct {
	name, raw string
	has, not  []string
}

func checkParts(t *testing.T, cases []partCase) {
	t.Helper()
	f := newTest(t)
	for _, c := range cases {
		m := f.Read([]byte("From: ann@example.net\nTo: owner@example.org\nMime-Version: 1.0\n" + c.raw))
		checkFeatures(t, m, f.Freeze(m, History{}))
		names := wordsWith(m, "")
		for _, want := range c.has {
			if !slices.Contains(names, want) {
				t.Errorf("%s: no %s; defects %q, features %q", c.name, want, m.Defects, names)
			}
		}
		for _, bad := range c.not {
			if slices.Contains(names, bad) {
				t.Errorf("%s: has %s", c.name, bad)
			}
		}
	}
}

const differing = "html:other words in plain text"

func TestOfAlternativesTheOneThatIsShownIsRead(t *testing.T) {
	plain, page := entity(utf8Plain, "Der Zug kommt um acht."), entity("text/html; charset=utf-8", "<p>Der Zug kommt um <b>acht</b>.")
	checkParts(t, []partCase{
		{
			"a text in both counts once", multipart("alternative", plain, page),
			[]string{"body:zug", "shape:own lines 1"},
			[]string{differing},
		},
		{
			"a stub beside a page", multipart("alternative", entity(utf8Plain, "Votre logiciel ne sait pas afficher le HTML, désolé."), page),
			[]string{"body:zug"},
			[]string{"body:logiciel", differing},
		},
		{
			"other words for the filter alone", multipart("alternative", entity(utf8Plain, "Minutes of the harbour council: dredging, moorings, the new crane."), entity("text/html", "Cheap watches, click now")),
			[]string{"body:watches", differing},
			[]string{"body:harbour", "body:dredging"},
		},
		{
			"other words in Japanese", multipart("alternative", entity(utf8Plain, "明日の会議は中止です"), entity("text/html; charset=utf-8", "<p>時計が安い")),
			[]string{"body:時計", differing},
			[]string{"body:会議"},
		},
		{
			"the plain text quotes, wraps and names its links", multipart("alternative", entity(utf8Plain, "> Treffen am\n> Montag im Hafen <https://hafen.example/very/long>"), entity("text/html", "<blockquote>Treffen am Montag im <a href=https://hafen.example/very/long>Hafen</a></blockquote>")),
			nil,
			[]string{differing},
		},
		{
			"a page of pictures shows no text", multipart("alternative", entity(utf8Plain, "Einladung zum Sommerfest"), entity("text/html", "<img src=cid:1><img src=cid:2>&nbsp;")),
			[]string{"body:sommerfest"},
			[]string{differing},
		},
		{
			"the page stands first", multipart("alternative", page, plain),
			[]string{"body:zug", "shape:own lines 1"}, nil,
		},
		{
			"the page is in a related part", multipart("alternative", plain, multipart("related", page, "Content-Type: image/png\nContent-ID: <1>\n\nx")),
			[]string{"body:zug", "shape:own lines 1", "shape:attachments 0"}, nil,
		},
		{
			"the alternatives are in a related part", multipart("related", multipart("alternative", plain, page), "Content-Type: image/png\nContent-ID: <1>\n\nx"),
			[]string{"body:zug", "shape:own lines 1", "shape:attachments 0"}, nil,
		},
		{
			"a page with a file is one of the alternatives", multipart("alternative", plain, multipart("mixed", page, "Content-Type: application/pdf; name=plan.pdf\n\nx", entity("text/html", "<p>Bis morgen"))),
			[]string{"body:zug", "body:morgen", "attachment:.pdf", "shape:own lines 2", "shape:attachments 1"}, nil,
		},
		{
			"AMP, a watch's page and a reaction", multipart("alternative", plain, entity("text/watch-html", "<b>watchword"), entity("text/x-amp-html", "<html amp4email>ampword"), page, entity("text/vnd.google.email-reaction+json", `{"emoji":"x"}`)),
			[]string{"body:zug", "shape:own lines 1"},
			[]string{"body:watchword", "body:ampword", "body:emoji"},
		},
		{
			"RTF and enriched text", multipart("alternative", plain, entity("text/enriched", "<bold>richword</bold>"), entity("text/rtf", `{\rtf1 rtfword}`)),
			[]string{"body:zug"},
			[]string{"body:richword", "body:rtfword", "body:rtf1"},
		},
		{
			"a page that is called plain text", entity("text/plain", "<!DOCTYPE html>\n<html><head><style>p{color:red}</style></head><p>Ciao"),
			[]string{"body:ciao"},
			[]string{"body:color", "body:html"},
		},
		{
			"XHTML", entity("application/xhtml+xml", "<p>Ciao</p>"),
			[]string{"body:ciao"}, []string{"body:p"},
		},
		{
			"an unknown kind of text alone", entity("text/markdown; charset=utf-8", "# Überschrift"),
			[]string{"body:überschrift"}, nil,
		},
		{
			"an unknown kind of text beside one", multipart("mixed", entity("text/x-setext", "oddword"), plain),
			[]string{"body:zug"}, []string{"body:oddword"},
		},
		{
			"AMP alone", entity("text/x-amp-html", "<p>ampword"),
			[]string{"body:ampword"}, []string{"body:p"},
		},
		{
			"a calendar's source", multipart("alternative", plain, page, entity("text/calendar", "BEGIN:VCALENDAR\nPRODID:x\nEND:VCALENDAR")),
			[]string{"body:zug"}, []string{"body:prodid", "body:vcalendar"},
		},
	})
}

func TestFilesAreNotTheLetter(t *testing.T) {
	letter := entity(utf8Plain, "Liste anbei, passt das?")
	attached := func(kind, disposition, body string) string {
		return "Content-Type: " + kind + "\nContent-Disposition: " + disposition + "\n\n" + body
	}
	mixed := func(part string) string { return multipart("mixed", letter, part) }
	one := []string{"body:liste", "shape:attachments 1", "shape:own lines 1", "shape:questions 1"}
	none := []string{"body:fileword"}
	checkParts(t, []partCase{
		{"a table", mixed(attached("text/csv", "attachment; filename=a.csv", "fileword?")), append(one, "attachment:.csv"), none},
		{"a log", mixed(attached("text/plain", "attachment; filename=boot.LOG", "fileword?")), append(one, "attachment:.log"), none},
		{"a page", mixed(attached("text/html", "ATTACHMENT; filename=login.htm", "<b>fileword")), append(one, "attachment:.htm"), none},
		{"a card", mixed(attached("text/vcard", `attachment; filename="card.vcf"`, "FN:fileword")), append(one, "attachment:.vcf"), none},
		{"a file without a name", mixed(attached("text/plain", "attachment", "fileword")), one, none},
		{"a second text with a name", mixed(entity("text/plain; name=notes.txt", "fileword")), append(one, "attachment:.txt"), none},
		{"a file before the letter", multipart("mixed", attached("text/html", "attachment; filename=x.html", "fileword"), letter), append(one, "attachment:.html"), none},
		{"nothing but a file", attached("text/html", "attachment; filename=x.html", "fileword"), []string{"attachment:.html", "shape:attachments 1"}, none},
		{"a letter that calls itself attached", attached("text/plain", "attachment", "Liste anbei"), []string{"body:liste", "shape:attachments 0"}, nil},
		{"a first text with a name", multipart("mixed", entity("text/plain; name=msg.txt", "Liste anbei")), []string{"body:liste", "shape:attachments 0"}, nil},
		{"a text shown below", mixed(attached("text/plain", "inline; filename=more.txt", "Und mehr")), []string{"body:liste", "body:mehr", "shape:attachments 0"}, nil},
		{"an attached patch", mixed(attached("text/x-patch", "attachment; filename=fix.patch", "--- a/src/x.c\n+++ b/src/x.c\n@@ -1 +1 @@\n-old\n+new")), []string{"path:src/x.c", "patch:new", "attachment:.patch"}, nil},
		{"a signature is no file", multipart("signed; protocol=x", letter, "Content-Type: application/pgp-signature; name=signature.asc\nContent-Disposition: attachment\n\nx"), []string{"body:liste", "shape:attachments 0"}, []string{"attachment:.asc"}},
		{"an encrypted message has no files", multipart("encrypted; protocol=x", entity("application/pgp-encrypted", "Version: 1"), entity("application/octet-stream; name=encrypted.asc", "x")), []string{"type:multipart/encrypted", "shape:attachments 0"}, []string{"attachment:.asc"}},
		{"a Macintosh file is one", mixed(multipart("appledouble", entity("application/applefile; name=plan.pdf", "x"), entity("application/pdf; name=plan.pdf", "y"))), append(one, "attachment:.pdf"), nil},
	})
}

func TestMessagesWithinAreAnothersWords(t *testing.T) {
	letter := entity(utf8Plain, "Seht ihr das auch so?")
	inner := "Subject: Kranwartung\nContent-Type: " + multipart("mixed", entity("text/plain", "Der Kran steht still. Warum?"), "Content-Type: application/pdf; name=kran.pdf\n\nx")[len("Content-Type: "):]
	packed := base64.StdEncoding.EncodeToString([]byte(inner))
	has := []string{"body:seht", "quoted:kranwartung", "quoted:kran", "shape:questions 1", "shape:own lines 1", "shape:attachments 1"}
	not := []string{"body:kran", "opening:kran", "attachment:.pdf"}
	checkParts(t, []partCase{
		{"forwarded as a file", multipart("mixed", letter, "Content-Type: message/rfc822; name=kran.eml\nContent-Disposition: attachment\n\n"+inner), append(has, "attachment:.eml"), not},
		{"in base64", multipart("mixed", letter, "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"+packed), has, not},
		{"said to be base64", multipart("mixed", letter, "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"+inner), has, not},
		{"message/global", multipart("mixed", letter, "Content-Type: message/global\n\n"+inner), has, not},
		{"in a digest", multipart("digest", "\n"+inner), []string{"quoted:kran", "shape:attachments 1", "shape:own lines 0"}, not},
		{
			"a bounce", multipart("report; report-type=delivery-status", entity(utf8Plain, "Nicht zugestellt"), entity("message/delivery-status", "Action: failed\nDiagnostic-Code: smtp; mailbox full"), entity("text/rfc822-headers", "Subject: Kranwartung?")),
			[]string{"body:zugestellt", "quoted:mailbox", "quoted:kranwartung", "shape:own lines 1", "shape:questions 0"},
			[]string{"body:mailbox", "body:kranwartung"},
		},
		{
			"a report of abuse", multipart("report; report-type=feedback-report", entity(utf8Plain, "Abuse"), entity("message/feedback-report", "User-Agent: reporter"), "Content-Type: message/rfc822\n\n"+inner),
			[]string{"body:abuse", "quoted:reporter", "quoted:kran", "shape:questions 0"}, not,
		},
		{"a pointer to a file elsewhere", multipart("mixed", letter, entity("message/external-body; access-type=URL", "Content-Type: text/plain\n\nghostword")), []string{"body:seht"}, []string{"body:ghostword", "quoted:ghostword"}},
	})
}

func TestTransferEncodingsAreKnownByLooseNames(t *testing.T) {
	words := base64.StdEncoding.EncodeToString([]byte("überfällige Rechnung"))
	for name, body := range map[string]string{
		`"base64"`: words, "base64; x=y": words, "BASE64 (as they say)": words, "base-64": words, "base 64,": words,
		`'quoted-printable'`: "=C3=BCberf=C3=A4llige Rech=\nnung", "quoted printable": "=C3=BCberf=C3=A4llige Rech=  \nnung", "Quoted_Printable;": "=c3=bcberf=c3=a4llige Rechnung",
		"8-bit": "überfällige Rechnung", "7 bit": "überfällige Rechnung", "none": "überfällige Rechnung", "(?)": "überfällige Rechnung",
	} {
		checkParts(t, []partCase{{name, "Content-Transfer-Encoding: " + name + "\nContent-Type: " + utf8Plain + "\n\n" + body, []string{"body:überfällige", "body:rechnung"}, []string{"defect:unknown transfer encoding"}}})
	}
	checkParts(t, []partCase{
		{"uuencode", "Content-Transfer-Encoding: x-uue\n\nbegin 644 a.txt\n5=F5R<W!A=&5T92!,:65F97)U;F<A\n`\nend\n", []string{"body:verspatete", "body:lieferung"}, []string{"body:f5r"}},
		{"a uuencoded picture", "Content-Transfer-Encoding: uuencode\n\nbegin 644 a.gif\n(1TE&.#EA    0\n`\nend\n", []string{"shape:own lines 0"}, nil},
	})
}

func TestMultipartsOfWrongBoundariesAreRead(t *testing.T) {
	body := "--xx\nContent-Type: text/plain\n\nnoch lesbar\n--xx\nContent-Type: application/pdf; name=a.pdf\n\nJVBER\n--xx--\n"
	has := []string{"body:lesbar", "attachment:.pdf", "shape:own lines 1"}
	for _, parameters := range []string{"boundary=yy", "", `boundary="xx`, "boundary='xx'", `boundary=xx"`, `boundary="x x"`, " boundary = xx ;", "Boundary=\"xx\" charset=\"a\""} {
		checkParts(t, []partCase{{parameters, "Content-Type: multipart/mixed; " + parameters + "\n\n" + body, has, []string{"body:pdf"}}})
	}
	checkParts(t, []partCase{
		{"no semicolon", "Content-Type: multipart/mixed boundary=xx\n\n" + body, has, nil},
		{"cut off within the first part", "Content-Type: multipart/alternative; boundary=xx\n\n--xx\nContent-Type: text/plain\n\nnoch les", []string{"body:noch"}, nil},
		{"cut off within a header", "Content-Type: multipart/mixed; boundary=xx\n\n--xx\n\nnoch lesbar\n--xx\nContent-Ty", []string{"body:lesbar"}, nil},
	})
}
