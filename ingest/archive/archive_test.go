// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// write makes a file below dir and returns its path.
func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t testing.TB, content string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstandard(t testing.TB, content string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(z.EncodeAll([]byte(content), nil))
}

// read returns copies of all messages and all errors behind paths.
func read(t testing.TB, o Options, paths ...string) ([]Message, []error) {
	t.Helper()
	r, err := Open(paths, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var messages []Message
	var errs []error
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) && err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is not the end
			break
		}
		if err != nil {
			if errs = append(errs, err); len(errs) > 100 {
				t.Fatalf("errors without end: %v", err)
			}
			continue
		}
		c := *m
		c.Raw = bytes.Clone(m.Raw)
		messages = append(messages, c)
	}
	if len(errs) == 0 {
		if done, total := r.Progress(); done != total && paths[0] != "-" {
			t.Errorf("read %d of %d bytes", done, total)
		}
	}
	return messages, errs
}

func bodies(messages []Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, string(m.Raw))
	}
	return all
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

const twoMessages = "From a@example.org Thu Aug 18 18:22:57 2005\nSubject: one\n\n>From the start\n>>From twice\n> From not\n\n" +
	"From b@example.org Fri Aug 19 01:02:03 2005 +0200\nSubject: two\n\nbody\n\n"

func TestMboxGivesMessagesUnquoted(t *testing.T) {
	want := []string{"Subject: one\n\nFrom the start\n>From twice\n> From not\n", "Subject: two\n\nbody\n"}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"plain": twoMessages, "gzip": gzipped(t, twoMessages), "zstd": zstandard(t, twoMessages),
		"two gzip members": gzipped(t, twoMessages[:50]) + gzipped(t, twoMessages[50:]),
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, dir, name, content)
			messages, errs := read(t, Options{}, path)
			if errs != nil {
				t.Fatal(errs)
			}
			same(t, bodies(messages), want)
			first, second := messages[0], messages[1]
			if first.Path != path || first.Index != 0 || second.Index != 1 || first.Offset != 0 || second.Offset != int64(strings.Index(twoMessages, "From b@")) {
				t.Errorf("got %+v and %+v", first, second)
			}
			if want := time.Date(2005, 8, 18, 18, 22, 57, 0, time.UTC); !first.Envelope.Equal(want) || !first.Date().Equal(want) {
				t.Errorf("got %v, want %v", first.Envelope, want)
			}
			if want := time.Date(2005, 8, 18, 23, 2, 3, 0, time.UTC); !second.Envelope.Equal(want) {
				t.Errorf("got %v, want %v", second.Envelope, want)
			}
			if first.Size != int64(len(first.Raw)) || second.Size != int64(len(second.Raw)) {
				t.Errorf("got sizes %d and %d", first.Size, second.Size)
			}
		})
	}
}

func TestMboxOddities(t *testing.T) {
	dated := "From a@example.org Thu Aug 18 18:22:57 2005\n"
	for _, tt := range []struct {
		name, content string
		want          []string
	}{
		{"empty mbox", "", nil},
		{"only a From line", dated, []string{""}},
		{"From line without its end", strings.TrimSuffix(dated, "\n"), []string{""}},
		{"no From line is one message", "Subject: x\n\nFrom here on\n", []string{"Subject: x\n\nFrom here on\n"}},
		{"prose that begins with From", dated + "\nhello\n\nFrom where I stand\n", []string{"\nhello\n\nFrom where I stand\n"}},
		{"prose right behind a line", dated + "\nhello\nFrom where I stand\n", []string{"\nhello\nFrom where I stand\n"}},
		{"no blank line before the next", dated + "\na\n" + dated + "\nb\n", []string{"\na\n", "\nb\n"}},
		{"several blank lines", dated + "\na\n\n\n\n" + dated + "\nb\n\n", []string{"\na\n\n\n", "\nb\n"}},
		{"no line end at the end", dated + "\na\n\n" + dated + "\nb", []string{"\na\n", "\nb"}},
		{"CRLF", strings.ReplaceAll(dated+"S: a\n\nA\n>From x\n\n"+dated+"S: b\n\nB\n\n", "\n", "\r\n"), []string{"S: a\r\n\r\nA\r\nFrom x\r\n", "S: b\r\n\r\nB\r\n"}},
		{"undated From lines", "From a@example.org\n\n\nFrom now on\n\nFrom b@example.org\nb\nFrom c\n", []string{"\n", "", "b\nFrom c\n"}},
		{"empty messages", dated + "\n" + dated + "\n", []string{"", ""}},
		{"From lines next to each other", dated + dated + "\n\n", []string{"", "\n"}},
		{"From line too long", "From " + strings.Repeat("x", 5000) + "\n\nbody\n", []string{"From " + strings.Repeat("x", 5000) + "\n\nbody\n"}},
		{"later From line too long", dated + "\na\n\nFrom " + strings.Repeat("x", 5000) + strings.TrimPrefix(dated, "From"), []string{"\na\n\nFrom " + strings.Repeat("x", 5000) + strings.TrimPrefix(dated, "From")}},
		{"zero bytes", dated + "\na\x00b\n", []string{"\na\x00b\n"}},
		{"quoted first line", dated + ">From x\n", []string{"From x\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			messages, errs := read(t, Options{}, write(t, t.TempDir(), "m", tt.content))
			if errs != nil {
				t.Fatal(errs)
			}
			same(t, bodies(messages), tt.want)
		})
	}
}

func TestTruncatedGzipGivesWhatItHadAndThenTheError(t *testing.T) {
	// Random-looking text, so that a cut in the file is a cut in the text.
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "From a@example.org Thu Aug 18 18:22:57 2005\nSubject: %d\n\n%x\n\n", i, i*i*7919)
	}
	whole := gzipped(t, b.String())
	dir := t.TempDir()
	path := write(t, dir, "cut.mbox.gz", whole[:len(whole)/2])
	after := write(t, dir, "whole.mbox", twoMessages)
	messages, errs := read(t, Options{}, path, after)
	if len(errs) != 1 || !errors.Is(errs[0], io.ErrUnexpectedEOF) || !strings.Contains(errs[0].Error(), path+" at offset ") {
		t.Fatalf("got errors %v, want one unexpected EOF that names the file", errs)
	}
	if n := len(messages); n < 300 || n > 900 {
		t.Errorf("got %d messages of 1000 from half the file", n)
	}
	if last := messages[len(messages)-1]; string(last.Raw) != "Subject: two\n\nbody\n" {
		t.Errorf("the next file was not read: got %q", last.Raw)
	}
	single := write(t, dir, "one.eml.gz", gzipped(t, "Subject: x\n\n"+b.String())[:len(whole)/2])
	messages, errs = read(t, Options{}, single)
	if len(messages) != 1 || len(errs) != 1 || !errors.Is(errs[0], io.ErrUnexpectedEOF) || !strings.HasPrefix(string(messages[0].Raw), "Subject: x\n\nFrom a@") {
		t.Errorf("got %d messages and %v", len(messages), errs)
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, content, want string }{
		{"gzip header only", "\x1f\x8b\x08", "unexpected EOF"},
		{"gzip with a bad sum", func() string {
			z := []byte(gzipped(t, "Subject: x\n\nbody\n"))
			z[len(z)-5] ^= 0xff
			return string(z)
		}(), "checksum"},
		{"xz", "\xfd7zXZ\x00...", "compressed with xz"},
		{"bzip2", "BZh91AY&SY", "compressed with bzip2"},
		{"zip", "PK\x03\x04....", "a zip archive; unpack it"},
		{"zstd garbage", "\x28\xb5\x2f\xfdxxxxxxxxxxxx", "at offset 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, dir, tt.name, tt.content)
			_, errs := read(t, Options{}, path)
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.want) || !strings.Contains(errs[0].Error(), path) {
				t.Errorf("got %v, want %q and the path", errs, tt.want)
			}
		})
	}
	if _, err := Open([]string{filepath.Join(dir, "none")}, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestSizeLimitKeepsTheBeginningAndCountsTheRest(t *testing.T) {
	dated := "From a@example.org Thu Aug 18 18:22:57 2005\n"
	const limit = 100
	for _, tt := range []struct {
		name string
		size int
	}{{"below", limit - 1}, {"at", limit}, {"just over", limit + 1}, {"a block", blockBytes}, {"many blocks", 5*blockBytes + 17}} {
		t.Run(tt.name, func(t *testing.T) {
			// Lines that look like separators at a glance, so that the skipping is tried at them.
			long := strings.Repeat("From x\nFr\n\n", tt.size/11+1)[:tt.size-1] + "\n"
			path := write(t, t.TempDir(), "m", dated+"short\n\n"+dated+long+"\n"+dated+"last\n")
			messages, errs := read(t, Options{MaxBytes: limit}, path)
			if errs != nil {
				t.Fatal(errs)
			}
			if got := bodies(messages); len(got) != 3 || got[0] != "short\n" || got[2] != "last\n" {
				t.Fatalf("got %.200q", got)
			}
			m := messages[1]
			if want := long[:min(limit, len(long))]; string(m.Raw) != want || m.Size != int64(len(long)) {
				t.Errorf("got %d bytes of %d, want %d of %d", len(m.Raw), m.Size, len(want), len(long))
			}
			if last := messages[2]; last.Offset != int64(len(dated+"short\n\n"+dated+long+"\n")) {
				t.Errorf("got offset %d", last.Offset)
			}
			single := write(t, t.TempDir(), "m.eml", "Subject: "+long)
			messages, errs = read(t, Options{MaxBytes: limit}, single)
			if errs != nil || len(messages) != 1 || len(messages[0].Raw) != min(limit, len(long)+9) || messages[0].Size != int64(len(long)+9) {
				t.Errorf("single: got %d bytes of %d (%v)", len(messages[0].Raw), messages[0].Size, errs)
			}
		})
	}
}

func TestGreatMessage(t *testing.T) {
	body := strings.Repeat("a line of an attachment that goes on and on and on\n", 1<<20)
	path := write(t, t.TempDir(), "m", "From a@example.org Thu Aug 18 18:22:57 2005\nSubject: great\n\n"+body+"\nFrom b@example.org Thu Aug 18 18:22:58 2005\nSubject: small\n\nx\n")
	messages, errs := read(t, Options{}, path)
	if errs != nil || len(messages) != 2 || string(messages[0].Raw) != "Subject: great\n\n"+body || string(messages[1].Raw) != "Subject: small\n\nx\n" {
		t.Errorf("got %d messages, %v", len(messages), errs)
	}
}

func TestMaildirGivesTimeOrderAndFlags(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "cur/1000000002.M1.host:2,FRS", "2")
	write(t, dir, "cur/999999999.M1.host:2,", "0")
	write(t, dir, "new/1000000001.M1.host", "1")
	write(t, dir, "tmp/1000000000.M1.host", "never")
	write(t, dir, "cur/1000000004.M1.host,S=12:2,Pab", "4")
	write(t, dir, "cur/.hidden", "never")
	write(t, dir, "dovecot-keywords", "0 $Important\n1 $label1\nx y\n")
	write(t, dir, "dovecot-uidlist", "never")
	write(t, dir, ".Sent/cur/1000000003.M1.host;2,ST", "3")
	write(t, dir, ".Sent/maildirfolder", "")
	write(t, dir, ".Lists.directory/Go/cur/1000000006.M1.host:2,", "6")
	write(t, dir, "Lists/Go/new/1000000005.M1.host!2,D", "5")
	if err := os.MkdirAll(filepath.Join(dir, "new"), 0o755); err != nil {
		t.Fatal(err)
	}
	messages, errs := read(t, Options{}, dir)
	if errs != nil {
		t.Fatal(errs)
	}
	same(t, bodies(messages), []string{"0", "1", "2", "3", "4", "5", "6"})
	var flags [][]string
	for _, m := range messages {
		flags = append(flags, m.Flags)
	}
	same(t, flags, [][]string{nil, nil, {`\Flagged`, `\Answered`, `\Seen`}, {`\Seen`, `\Deleted`}, {"$Forwarded", "$Important", "$label1"}, {`\Draft`}, nil})
}

func TestFolderByPathAndByDate(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a/1.eml", "Date: Mon, 03 Jan 2005 10:00:00 +0000\n\n3")
	write(t, dir, "a/2", "Received: from x\n\tby y; Sun, 02 Jan 2005\n 10:00:00 +0000\nDate: Mon, 03 Jan 2011 10:00:00 +0000\n\n2")
	write(t, dir, "b/3.eml", "Subject: no date\n\n9")
	write(t, dir, "b/4.eml.gz", gzipped(t, "Date: 4 Jan 2005 10:00:00 GMT (comment) x)\n\n4"))
	write(t, dir, "b/5", "From x@example.org Sat Jan  1 10:00:00 2005\nDate: Sat, 01 Jan 2005 22:00:00 +0000\n\n1\nFrom here Sat Jan  1 10:00:00 2005 is no second message\n")
	write(t, dir, "b/6.mbox", "From x@example.org Wed Jan  5 10:00:00 2005\n\n5\n\nFrom x@example.org Wed Jan  5 11:00:00 2005\n\n6\n")
	write(t, dir, ".git/config", "never")
	write(t, dir, "b/.mh_sequences", "never")
	messages, errs := read(t, Options{}, dir)
	if errs != nil {
		t.Fatal(errs)
	}
	last := func(messages []Message) string {
		order := ""
		for _, m := range messages {
			_, body, _ := bytes.Cut(m.Raw, []byte("\n\n"))
			if len(body) == 0 {
				body = m.Raw[1:]
			}
			order += string(body[:1])
		}
		return order
	}
	if got := last(messages); got != "3219456" {
		t.Errorf("by path: got %s, want 3219456", got)
	}
	if want := time.Date(2005, 1, 1, 10, 0, 0, 0, time.UTC); !messages[2].Envelope.Equal(want) {
		t.Errorf("got %v, want %v", messages[2].Envelope, want)
	}
	messages, errs = read(t, Options{Order: ByDate}, dir)
	if errs != nil {
		t.Fatal(errs)
	}
	if got := last(messages); got != "1234569" {
		t.Errorf("by date: got %s, want 1234569", got)
	}
}

func TestPathsComeInTheirOrder(t *testing.T) {
	dir := t.TempDir()
	a, b := write(t, dir, "a", "a"), write(t, dir, "b", "b")
	messages, errs := read(t, Options{Stdin: strings.NewReader("stdin")}, b, "-", a)
	if errs != nil {
		t.Fatal(errs)
	}
	same(t, bodies(messages), []string{"b", "stdin", "a"})
	if messages[1].Path != "-" {
		t.Errorf("got path %q", messages[1].Path)
	}
	messages, errs = read(t, Options{Stdin: strings.NewReader(gzipped(t, twoMessages))}, "-")
	if errs != nil || len(messages) != 2 {
		t.Errorf("got %d messages from standard input, %v", len(messages), errs)
	}
}

func TestLinksToFilesAreFollowedAndLinksToFoldersAreNot(t *testing.T) {
	dir := t.TempDir()
	outside := write(t, t.TempDir(), "x", "To: x\n\n")
	write(t, dir, "a", "To: a\n\n")
	for name, target := range map[string]string{"b": outside, "c": dir} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	messages, errs := read(t, Options{}, dir)
	if errs != nil {
		t.Fatal(errs)
	}
	same(t, bodies(messages), []string{"To: a\n\n", "To: x\n\n"})
}

// A shell that completes a name puts a slash behind it. What Dovecot keeps in a Maildir is
// no message.
func TestAMaildirIsReadOnceHoweverItIsNamed(t *testing.T) {
	dir := t.TempDir()
	maildir, link := filepath.Join(dir, "Maildir"), filepath.Join(dir, "link")
	write(t, maildir, "cur/1.a:2,S", "once\n")
	write(t, maildir, "dovecot-uidlist", "3 V1 N2\n")
	if err := os.Symlink(maildir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{maildir, maildir + "/", link, link + "/"} {
		messages, errs := read(t, Options{}, path)
		if len(errs) > 0 {
			t.Error(path, errs)
		}
		same(t, bodies(messages), []string{"once\n"})
		for _, m := range messages {
			same(t, m.Path, filepath.Join(path, "cur/1.a:2,S"))
		}
	}
}

func TestAnEmptyFileIsAMessageUnlessItMayBeAnMbox(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "")
	write(t, dir, "b.eml", "")
	messages, errs := read(t, Options{}, dir)
	if errs != nil || len(messages) != 1 || len(messages[0].Raw) != 0 {
		t.Errorf("in a folder: got %d messages, %v", len(messages), errs)
	}
	messages, errs = read(t, Options{Stdin: strings.NewReader("")}, "-")
	if errs != nil || len(messages) != 1 || len(messages[0].Raw) != 0 {
		t.Errorf("standard input: got %d messages, %v", len(messages), errs)
	}
}

func TestCloseInTheMiddleLeavesNothingRunning(t *testing.T) {
	path := write(t, t.TempDir(), "m", strings.Repeat(twoMessages, 100_000))
	r, err := Open([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != io.EOF { //nolint:errorlint // exactly the end
		t.Errorf("got %v behind Close, want io.EOF", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestFromLineDates(t *testing.T) {
	utc := time.Date(2005, 8, 8, 18, 22, 57, 0, time.UTC)
	for _, tt := range []struct {
		line string
		want time.Time
	}{
		{"From a@b Mon Aug  8 18:22:57 2005", utc},
		{"From a@b Mon Aug 08 18:22:57 2005\r\n", utc},
		{"From a b@c Mon Aug 8 18:22:57 2005", utc},
		{"From - Mon Aug  8 18:22:57 2005", utc},
		{"From Mon Aug  8 18:22:57 2005", utc},
		{"From a@b  Mon Aug  8 18:22 2005", utc.Add(-57 * time.Second)},
		{"From a@b Mon Aug  8 18:22:57 +0200 2005", utc.Add(-2 * time.Hour)},
		{"From a@b Mon Aug  8 18:22:57 2005 -0330", utc.Add(210 * time.Minute)},
		{"From a@b Mon Aug  8 18:22:57 PDT 2005 remote from host", utc},
		{"From a@b", time.Time{}},
		{"From where I stand, Mon is a day", time.Time{}},
		{"From a@b Mon Aug 32 18:22:57 2005", time.Time{}},
		{"From a@b Mon Aug 8 25:22:57 2005", time.Time{}},
		{"From a@b Mon Aug 8 18:22:57", time.Time{}},
		{"Fro", time.Time{}},
	} {
		if got := fromLineDate([]byte(tt.line)); !got.Equal(tt.want) {
			t.Errorf("%q: got %v, want %v", tt.line, got, tt.want)
		}
	}
}

func TestHeaderDateIsQuickOnAHostileHeader(t *testing.T) {
	raw := []byte("Received: x\n" + strings.Repeat(" \n", headerBytes/2) + "Date: Mon, 03 Jan 2005 10:00:00 +0000\n")
	// Of three runs the fastest counts: the machine may be busy.
	best := time.Duration(1<<63 - 1)
	for range 3 {
		start := time.Now()
		if got := headerDate(raw, "date"); !got.IsZero() {
			t.Errorf("got %v from behind the limit", got)
		}
		best = min(best, time.Since(start))
	}
	if best > time.Second {
		t.Errorf("it took %v", best)
	}
}
