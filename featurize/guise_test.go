// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"testing"
)

func guise(t *testing.T, header string) Guise {
	t.Helper()
	f, err := New(DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f.Read([]byte(header + "\r\nSubject: hello\r\n\r\nhello\r\n")).Guise
}

// TestALookAlikeIsSeenUnderTheNameOfAnother: the eye takes each of these for Nordbank or for
// Anna Winter, at another home.
func TestALookAlikeIsSeenUnderTheNameOfAnother(t *testing.T) {
	bank := guise(t, "From: Nordbank <service@mail.nordbank.example>")
	anna := guise(t, "From: Anna Winter <anna@winter-mail.example>")
	if bank.Own == 0 || anna.Own == 0 {
		t.Fatalf("no names: %+v, %+v", bank, anna)
	}
	for from, whose := range map[string]Guise{
		"Nordbank <service@nordbank-secure.example>":              bank,
		"Kundenservice <info@n0rdbank.example>":                   bank,
		"Service <noreply@norddbank.example>":                     bank,
		"service@nordbank.example.account-17.com":                 bank,
		"Nordbank <noreply@verify3fa.example>":                    bank,
		"\"Nordbank Security Team\" <notification@x7f3q.example>": bank,
		"Anna Winter <anna.winter77@postbox24.example>":           anna,
		"ANNA WINTER <a@zmail.example>":                           anna,
	} {
		g := guise(t, "From: "+from)
		if g.Home == whose.Home || !slices.ContainsFunc(whose.Names[:whose.Own], func(name uint64) bool { return slices.Contains(g.Names, name) }) {
			t.Errorf("%s is not taken for it: %+v, %+v", from, g, whose)
		}
	}
	for _, from := range []string{"Ostbank <service@ostbank.example>", "Anna Sommer <anna@sommer.example>", "Service <info@hosting.example>"} {
		g := guise(t, "From: "+from)
		for _, name := range append(slices.Clone(bank.Names[:bank.Own]), anna.Names[:anna.Own]...) {
			if slices.Contains(g.Names, name) {
				t.Errorf("%s is taken for another", from)
			}
		}
	}
	if g := guise(t, "From: Nordbank <service@nordbank.com>"); g.Home != bank.Home {
		t.Error("one company in two countries has two homes")
	}
}

func TestForgedMailIsWhatAServerSays(t *testing.T) {
	from := "From: Nordbank <service@nordbank.example>"
	for field, want := range map[string]bool{
		"Authentication-Results: mx.example.org; spf=pass; dmarc=fail header.from=nordbank.example": true,
		"Authentication-Results: mx.example.org; spf=fail; dkim=pass; dmarc=pass":                   false,
		"Authentication-Results: mx.example.org; dmarc=none (\"dmarc=fail\")":                       false,
		"X-Other: dmarc=fail": false,
	} {
		if got := guise(t, field+"\r\n"+from).Failed; got != want {
			t.Errorf("%s: failed is %v", field, got)
		}
	}
	if g := guise(t, "List-Post: <mailto:list@example.org>\r\n"+from); g.Home != 0 || g.Own != 0 {
		t.Errorf("mail of a list has the guise %+v", g)
	}
	long := "From: "
	for range 400 {
		long += "abcdefg hijklmn-opqrstu."
	}
	if g := guise(t, long+" <a@b.example>"); len(g.Names) > maxGuises {
		t.Errorf("%d names are seen", len(g.Names))
	}
}
