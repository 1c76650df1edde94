// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"math/rand/v2"
	"net/mail"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var addressLists = []struct {
	value string
	plain bool
}{
	{`a@b`, true},
	{`a.b@example.org`, true},
	{` a@b , c@d`, true},
	{`<a@b>`, true},
	{`<a@b>,<c@d>`, true},
	{`Ann <a@b>`, true},
	{`Ann<a@b>`, true},
	{`Ann   <a@b>`, true},
	{`Ann B. Example <a-b_c+d@sub.example.org>, Bob <BOB@Example.ORG>`, true},
	{`"Example, Ann" <a@b>, c@d`, true},
	{`"Ann" <a@b>`, true},
	{`"" <a@b>`, true},
	{`.Ann.. <a@b>`, true},
	{`O'Hara <o'hara@b>`, true},
	{``, false},
	{`,a@b`, false},
	{`a@b,`, false},
	{`a@b,,c@d`, false},
	{`a@b c@d`, false},
	{`a@b; c@d`, false},
	{`Ann  B <a@b>`, false},
	{"Ann\tB <a@b>", false},
	{`Ann "B" <a@b>`, false},
	{`"Ann \"B\"" <a@b>`, false},
	{`"a"@b`, false},
	{`a@b (Ann)`, false},
	{`Ann (b) <a@b>`, false},
	{`=?utf-8?q?Ann?= <a@b>`, false},
	{`=?utf-8?q?Ann?=<a@b>`, false},
	{`Ann <a@[127.0.0.1]>`, false},
	{`Ann <.a@b>`, false},
	{`Ann <a..b@c>`, false},
	{`Ann <a.@b>`, false},
	{`Ann <a@b.>`, false},
	{`Ann <a@b`, false},
	{`Ann <a@>`, false},
	{`Ann < a@b >`, false},
	{`Ann <>`, false},
	{`Ann Bob@x`, false},
	{`group: a@b, c@d;`, false},
	{`Änn <a@b>`, false},
	{"\"\xff\" <a@b>", false},
	{`undisclosed-recipients:;`, false},
	{`@b`, false},
	{`a@`, false},
	{`a@ b`, false},
	{`a @b`, false},
}

// checkAddresses holds addresses against net/mail: where that reads a list, they agree.
func checkAddresses(t *testing.T, f *Featurizer, value string) (agreed bool) {
	t.Helper()
	got := f.addresses([]byte(value))
	want, err := (&mail.AddressParser{}).ParseList(value)
	if err != nil || strings.Contains(value, "=?") || strings.ContainsAny(value, "\x1b\\") {
		return false
	}
	for _, a := range want { // these are none of ours, or are limited
		if strings.ContainsAny(a.Address, "\"|<>(),;: \t") || strings.HasPrefix(a.Address, "'") || strings.HasSuffix(a.Address, "'") || len(a.Address) > 150 || !utf8.ValidString(a.Address) {
			return false
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%q: %d addresses, net/mail has %d", value, len(got), len(want))
	}
	plain := func(s string) string { return strings.NewReplacer(" ", "", "\t", "").Replace(s) }
	for i, m := range got {
		name := f.headerText(m.name)
		if m.address != CanonicalAddress(want[i].Address) || want[i].Name != "" && plain(name) != plain(want[i].Name) {
			t.Fatalf("%q: item %d is %q <%s>, want %+v", value, i, name, m.address, want[i])
		}
	}
	return true
}

func TestPlainAddressesAreThoseOfNetMail(t *testing.T) {
	reader := newTest(t)
	for _, list := range addressLists {
		if agreed := checkAddresses(t, reader, list.value); list.plain && !agreed {
			t.Errorf("%q: net/mail does not read it", list.value)
		}
	}
	rng := rand.New(rand.NewPCG(1, 7))
	plain := 0
	for range 100_000 {
		if checkAddresses(t, reader, scrambled(rng, `aA.@<>",; '=?-\()é`, addressLists[rng.IntN(len(addressLists))].value)) {
			plain++
		}
	}
	if plain < 1000 {
		t.Errorf("only %d of the scrambled lists are plain", plain)
	}
}

// scrambled returns s with a few characters replaced, added or taken out.
func scrambled(rng *rand.Rand, alphabet, s string) string {
	chars, runes := []rune(alphabet), []rune(s)
	for range 1 + rng.IntN(3) {
		at, c := rng.IntN(len(runes)+1), chars[rng.IntN(len(chars))]
		switch rest := runes[at:]; {
		case rng.IntN(3) == 0:
			runes = append(append(append([]rune{}, runes[:at]...), c), rest...)
		case len(rest) > 0 && rng.IntN(2) == 0:
			runes = append(append([]rune{}, runes[:at]...), rest[1:]...)
		case len(rest) > 0:
			runes = append([]rune{}, runes...)
			runes[at] = c
		}
	}
	return string(runes)
}

func FuzzAddresses(f *testing.F) {
	for _, list := range addressLists {
		f.Add(list.value)
	}
	f.Fuzz(func(t *testing.T, value string) { checkAddresses(t, newTest(t), value) })
}

var dates = []struct {
	value string
	plain bool
}{
	{"Thu, 18 Aug 2005 18:22:57 +0200", true},
	{"Thu, 18 Aug 2005 18:22:57 +0200 (CEST)", true},
	{"Thu, 18 Aug 2005 18:22:57 +0200 (Z)", true},
	{"Mon, 18 Aug 2005 18:22:57 -0330", true}, // it was a Thursday
	{"1 Jan 2000 00:00:00 +0000", true},
	{"Sat,  1 Jan 2000 00:00:00 +0000", true},
	{"Sat,   1 Jan 2000 00:00:00 +0000", false},
	{"01 Jan 0001 00:00:00 -0000", true},
	{"29 Feb 2020 23:59:59 +2359", true},
	{"", false},
	{"29 Feb 2021 23:59:59 +0000", false},
	{"31 Nov 2021 23:59:59 +0000", false},
	{"0 Jan 2021 23:59:59 +0000", false},
	{"1 Jan 0000 23:59:59 +0000", false},
	{"1 Jan 2021 24:00:00 +0000", false},
	{"1 Jan 2021 23:60:00 +0000", false},
	{"1 Jan 2021 23:59:60 +0000", false},
	{"1 Jan 2021 23:59:59 +2400", false},
	{"1 Jan 2021 23:59:59 +0060", false},
	{"1 Jan 2021 23:59 +0000", false},
	{"1 Jan 21 23:59:59 +0000", false},
	{"1 anF 2021 23:59:59 +0000", false},
	{"1 jan 2021 23:59:59 +0000", false},
	{"nTu, 1 Jan 2021 23:59:59 +0000", false},
	{"e W, 1 Jan 2021 23:59:59 +0000", false},
	{"Thu 18 Aug 2005 18:22:57 +0200", false},
	{"Thu,18 Aug 2005 18:22:57 +0200", false},
	{"Thu, 18 Aug 2005 18:22:57 GMT", false},
	{"Thu, 18 Aug 2005 18:22:57.5 +0200", false},
	{"Thu, 18 Aug 2005 18:22:57 +0200 (a (b))", false},
	{"Thu, 18 Aug 2005 18:22:57 +0200 ()", false},
	{"Thu, 18 Aug 2005 18:22:57 +0200 (CEST", false},
	{"Thu, 18 Aug 2005 18:22:57 +02000", false},
	{"Thu, 18 Aug 2005 18:22:57 0200", false},
}

// checkDate holds parseDate against net/mail: what that reads is the same instant, or the
// same time of the day where it has a zone by its name, which net/mail does not know.
func checkDate(t *testing.T, value string) (read bool) {
	t.Helper()
	got, read := parseDate([]byte(value))
	if year := got.Year(); read && (year < 1 || year > 9999) {
		t.Fatalf("%q is in the year %d", value, year)
	}
	want, err := mail.ParseDate(value)
	if err != nil || want.Year() < 1 {
		return read
	}
	const layout = "2006-01-02 15:04:05"
	if name, _ := want.Zone(); got.Format(layout) != want.Format(layout) || name == "" && !got.Equal(want.Truncate(time.Second)) {
		t.Fatalf("%q is %v, want %v", value, got, want)
	}
	return read
}

func TestPlainDatesAreThoseOfNetMail(t *testing.T) {
	for _, date := range dates {
		if read := checkDate(t, date.value); date.plain && !read {
			t.Errorf("%q is not read", date.value)
		}
	}
	rng := rand.New(rand.NewPCG(1, 8))
	read := 0
	for range 100_000 {
		if checkDate(t, scrambled(rng, "0123456789 ,:+-()JanFebThu", dates[rng.IntN(len(dates))].value)) {
			read++
		}
	}
	if read < 1000 {
		t.Errorf("only %d of the scrambled dates are read", read)
	}
}

func FuzzDate(f *testing.F) {
	for _, date := range dates {
		f.Add(date.value)
	}
	f.Fuzz(func(t *testing.T, value string) { checkDate(t, value) })
}
