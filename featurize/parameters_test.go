// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"maps"
	"mime"
	"strings"
	"testing"
	"unicode/utf8"
)

var looseNames = []struct{ disposition, ext string }{
	{`attachment; filename=plan.pdf`, ".pdf"},
	{`attachment; filename="Plan für Müller.PDF"`, ".pdf"},
	{`attachment; filename="plan.pdf.  "`, ".pdf"},
	{`attachment; filename="C:\mail\plan.d\plan.pdf"`, ".pdf"},
	{`attachment; filename="a/b.c/plan"`, ""},
	{`attachment; filename=plan von heute (2).pdf; size=3`, ".pdf"},
	{`attachment; filename=plan.pdf (der neue)`, ".pdf"},
	{`attachment; filename="plan; der "neue".pdf"; size=3`, ".pdf"},
	{`attachment; filename="plan \"neu\".pdf"; size=a b`, ".pdf"},
	{`attachment; filename="plan.pdf; size=3`, ".pdf"},
	{`attachment; filename="plan.pdf" size=3`, ".pdf"},
	{`attachment;; filename = plan.pdf ;`, ".pdf"},
	{`attachment; filename="=?utf-8?B?UGxhbiBmw7xyIE3DvGxsZXIucGRm?="`, ".pdf"},
	{`attachment; filename="=?utf-8?Q?Plan_f=C3=BCr?= =?utf-8?Q?_M=C3=BCller=2Epdf?="`, ".pdf"},
	{`attachment; filename==?iso-8859-1?Q?Pl=E4ne=2Epdf?=`, ".pdf"},
	{`attachment; filename*=iso-8859-1'de'Pl%E4ne.pdf`, ".pdf"},
	{`attachment; filename*=utf-8''Pl%C3%A4ne%2Epdf; x y`, ".pdf"},
	{`attachment; filename*1*=%2Epd; filename*2=f; filename*0*=koi8-r''%F0%CC%C1%CE`, ".pdf"},
	{`attachment; filename*0="plan.p"; filename*1="df"; x y`, ".pdf"},
	{`attachment; filename*=utf-8''100%.pdf; x y`, ".pdf"},
	{`attachment; filename=old.doc; filename*=utf-8''new.pdf`, ".pdf"},
	{"attachment; filename=\"Pl\xe4ne.pdf\"", ".pdf"},
	{`attachment; filename="nameless"`, ""},
	{`attachment; filename="Dr. No"`, ""},
	{`attachment filename=plan.pdf`, ".pdf"},
}

func TestTheEndOfAFileNameIsReadInLooseForms(t *testing.T) {
	f := newTest(t)
	for _, c := range looseNames {
		typed := strings.Replace(strings.ReplaceAll(c.disposition, "filename", "name"), "attachment", "application/octet-stream", 1)
		for _, header := range []string{"Content-Disposition: " + c.disposition, "Content-Type: " + typed} {
			m := f.Read([]byte("From: a@b.example\n" + header + "\nContent-Type: application/octet-stream\n\nx"))
			got := strings.Join(wordsWith(m, "attachment:"), " ")
			if got != c.ext {
				t.Errorf("%s: got %q, want %q", header, got, c.ext)
			}
		}
	}
}

// What the mime package can read, the loose reader reads alike.
func TestSoundParametersAreReadAsTheMimePackageReadsThem(t *testing.T) {
	for _, value := range []string{
		`text/plain`, `text/plain; charset=utf-8`, `multipart/mixed; boundary="a;b\"c"; x=y`, `a/b; n*0="x"; n*1*=%C3%A4; m=1`,
		`attachment; filename*=utf-8''%e2%82%ac.txt`, `attachment; filename="a\\b.txt"`, `TEXT/HTML ; CharSet = "x y"`,
	} {
		head, params, err := mime.ParseMediaType(value)
		if err != nil {
			t.Fatal(value, err)
		}
		got, loose := looseParameters(value)
		if got != head || len(loose) != len(params) {
			t.Errorf("%s: got %q %q, want %q %q", value, got, loose, head, params)
		}
		for k, v := range params {
			if loose[k] != v {
				t.Errorf("%s: %s is %q, want %q", value, k, loose[k], v)
			}
		}
	}
}

func FuzzParameters(f *testing.F) {
	for _, c := range looseNames {
		f.Add(c.disposition)
	}
	f.Add(`a; n*0*0=x; n*0=y; n*1=z; n*0*1=w`)
	f.Fuzz(func(t *testing.T, value string) {
		fz := newTest(t)
		fz.reset()
		head, params := looseParameters(value)
		size := len(head)
		for k, v := range params {
			size += len(k) + len(v)
		}
		if _, again := looseParameters(value); !maps.Equal(params, again) {
			t.Errorf("read again: got %q, then %q", params, again)
		}
		if size > 4*len(value)+64 {
			t.Errorf("%d bytes of parameters from %d", size, len(value))
		}
		if ext := fz.extensionOf(value); len(ext) > 16 || !utf8.ValidString(ext) || ext != "" && ext[0] != '.' {
			t.Errorf("end of the name is %q", ext)
		}
	})
}
