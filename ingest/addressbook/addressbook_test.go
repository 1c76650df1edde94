// SPDX-License-Identifier: Apache-2.0

package addressbook

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hinged/hinged/internal/testkit"
)

// utf16le is text in UTF-16 with a byte order mark.
func utf16le(text string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func card(lines ...string) string {
	return "BEGIN:VCARD\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VCARD\r\n"
}

const four = "VERSION:4.0"

func TestCardsOfAllVersionsGiveTheirAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		want    []string
		skipped int
	}{
		"version 4":              {text: card(four, "FN:Ann", "EMAIL;TYPE=home:ann@example.org", "item1.EMAIL;PREF=1:a@example.com"), want: []string{"ann@example.org", "a@example.com"}},
		"version 3, folded":      {text: card("VERSION:3.0", "EMAIL;TYPE=INTERNET;TY", " PE=HOME:ann@exam", "\tple.org"), want: []string{"ann@example.org"}},
		"version 2.1":            {text: card("VERSION:2.1", "EMAIL;INTERNET;HOME:ann@example.org"), want: []string{"ann@example.org"}},
		"a colon in a parameter": {text: card(four, `EMAIL;X-LABEL="a:b":ann@example.org`), want: []string{"ann@example.org"}},
		"a mark before UTF-8":    {text: "\ufeff" + card(four, "EMAIL:ann@example.org"), want: []string{"ann@example.org"}},
		"UTF-16":                 {text: utf16le(card(four, "FN:Änn", "EMAIL:ann@example.org")), want: []string{"ann@example.org"}},
		"Latin-1":                {text: card("VERSION:2.1", "FN:\xc4nn", "EMAIL:ann@example.org"), want: []string{"ann@example.org"}},
		"mailto":                 {text: card(four, "EMAIL;VALUE=uri:mailto:ann@example.org"), want: []string{"ann@example.org"}},
		"no line end at the end": {text: "BEGIN:VCARD\nEMAIL:ann@example.org\nEND:VCARD", want: []string{"ann@example.org"}},
		"a photo of ten lines and one of one": {
			text: card(four, "PHOTO;ENCODING=b:"+strings.Repeat("\r\n "+strings.Repeat("QUJD", 18), 10), "PHOTO:data:"+strings.Repeat("QUJD", 1<<18), "EMAIL:ann@example.org"), want: []string{"ann@example.org"}},
		"a card without an end":     {text: "BEGIN:VCARD\nEMAIL:a@example.org\n" + card(four, "EMAIL:b@example.org"), want: []string{"a@example.org", "b@example.org"}},
		"an address that is none":   {text: card(four, "EMAIL:nobody", "EMAIL:ann@example.org") + card(four, "EMAIL:b@example.org"), want: []string{"ann@example.org", "b@example.org"}, skipped: 1},
		"a card without an address": {text: card(four, "FN:Ann", "EMAIL:")},
	} {
		t.Run(name, func(t *testing.T) {
			b := new(Book)
			if err := b.readCards(strings.NewReader(c.text)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(b.Addresses, c.want) || b.Skipped != c.skipped {
				t.Errorf("got %q, %d skipped, want %q, %d", b.Addresses, b.Skipped, c.want, c.skipped)
			}
		})
	}
}

func TestAFileThatIsNoWholeAddressBookIsAnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "book.vcf")
	for want, text := range map[string]string{
		path + ": ends in the middle of a card": card(four, "EMAIL:a@example.org") + "BEGIN:VCARD\r\nEMAIL:b@exa",
		"no address is in it":                   "From: ann@example.org\n\nhello\n",
	} {
		write(t, path, text)
		if _, err := ReadPath(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, at := range map[string]string{"no such file": filepath.Join(dir, "none.vcf"), "no address is in it": t.TempDir()} {
		if _, err := ReadPath(at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryOfCardsIsOneBook(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.vcf"), card(four, "EMAIL:b@example.org"))
	write(t, filepath.Join(dir, "a.VCF"), card(four, "EMAIL:a@example.org"))
	write(t, filepath.Join(dir, "notes.txt"), "no card")
	b, err := ReadPath(dir)
	if want := []string{"a@example.org", "b@example.org"}; err != nil || !slices.Equal(b.Addresses, want) {
		t.Errorf("got %+v, %v, want %q", b, err, want)
	}
}

func TestABookOf50MiBWithPhotosTakesLittleMemory(t *testing.T) {
	testkit.Computes(t)
	path := filepath.Join(t.TempDir(), "book.vcf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	photo := "PHOTO;ENCODING=b;TYPE=JPEG:" + strings.Repeat("\r\n "+strings.Repeat("QUJD", 18), 140)
	for i := range 5000 {
		if _, err := f.WriteString(card("VERSION:3.0", photo, fmt.Sprintf("EMAIL:p%d@example.org", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := ReadPath(path)
	runtime.ReadMemStats(&after)
	if err != nil || len(b.Addresses) != 5000 || b.Skipped != 0 {
		t.Fatalf("got %d addresses, %d skipped, %v", len(b.Addresses), b.Skipped, err)
	}
	info, _ := os.Stat(path)
	allocated := after.TotalAlloc - before.TotalAlloc
	t.Logf("%d MiB read, %d KiB allocated", info.Size()>>20, allocated>>10)
	if info.Size() < 50<<20 || allocated > 8<<20 {
		t.Errorf("of %d bytes %d were allocated", info.Size(), allocated)
	}
}

func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	if _, err := ReadPath(os.DevNull); err == nil || !strings.Contains(err.Error(), "is neither a file nor a directory") {
		t.Errorf("a device: %v", err)
	}
	large := filepath.Join(t.TempDir(), "large.vcf")
	write(t, large, "")
	testkit.OK(t, os.Truncate(large, maxFile+1))
	if _, err := ReadPath(large); err == nil || !strings.Contains(err.Error(), "is larger than 256 MiB") {
		t.Errorf("a file of %d bytes: %v", maxFile+1, err)
	}
}

func TestABookHasALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.vcf")
	for n, whole := range map[int]bool{maxAddresses: true, maxAddresses + 1: false} {
		var text strings.Builder
		for i := range n {
			text.WriteString(card(four, fmt.Sprintf("EMAIL:p%d@example.org", i)))
		}
		write(t, path, text.String())
		if _, err := ReadPath(path); (err == nil) != whole {
			t.Errorf("%d addresses: got %v", n, err)
		}
	}
}

func FuzzReadCards(f *testing.F) {
	f.Add(card(four, "EMAIL:ann@\r\n example.org"))
	f.Add(utf16le(card(four, "EMAIL:ann@example.org")))
	f.Add(card(four, `EMAIL;X="a:b":ann@example.org`) + "BEGIN:VCARD")
	f.Fuzz(func(t *testing.T, text string) {
		b := new(Book)
		_ = b.readCards(strings.NewReader(text))
		for _, a := range b.Addresses {
			if len(a) > maxLine || strings.ContainsAny(a, " \r\n") || !strings.Contains(a, "@") {
				t.Errorf("address %q", a)
			}
		}
	})
}
