// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

// twoFolders spreads generated mail over two folders, one file a message.
func twoFolders(t *testing.T, n int) (good, bad string, important int) {
	t.Helper()
	dir := t.TempDir()
	good, bad = filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	mail := testkit.NewMail(13)
	for i := range n {
		m := mail.Next()
		folder := bad
		if m.Important {
			folder = good
			important++
		}
		// Names that sort against the order of arrival.
		save(t, folder, fmt.Sprintf("%04d.eml", n-i), m.Raw)
	}
	return good, bad, important
}

func TestFoldersArePlayedInOrderOfDate(t *testing.T) {
	good, bad, important := twoFolders(t, 120)
	s := streamOf(t, []source{{good, model.Important}, {bad, model.Ordinary}}, 1<<20)
	defer s.close()
	var names []string
	err := s.each(func(m mail) error {
		names = append(names, filepath.Base(m.Path))
		if want := map[bool]model.Label{true: model.Important, false: model.Ordinary}[strings.HasPrefix(m.Path, good)]; m.label != want {
			t.Errorf("%s: got label %v", m.Path, m.label)
		}
		return nil
	})
	testkit.OK(t, err)
	if want := slices.Sorted(slices.Values(names)); len(names) != 120 || !slices.IsSortedFunc(names, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("got %v, want the reverse of %v", names, want)
	}
	r := ran(t, Play{Important: []string{good}, Ordinary: []string{bad}, Options: testOptions()})
	if r.Examples != 120 || r.Important != important || r.Labels != "folders" || r.Lessons != 120 {
		t.Errorf("got %+v, want 120 examples, %d important", r, important)
	}
}

func TestLabelFileNamesMessagesByIDOrPath(t *testing.T) {
	good, bad, important := twoFolders(t, 60)
	var file strings.Builder
	file.WriteString("# labels\n\n")
	skipped := 0
	for i, folder := range []string{good, bad} {
		paths, err := filepath.Glob(filepath.Join(folder, "*"))
		testkit.OK(t, err)
		for k, path := range paths {
			word := []string{"important", "ordinary"}[i]
			raw, err := os.ReadFile(path)
			testkit.OK(t, err)
			_, rest, _ := strings.Cut(strings.ToLower(string(raw)), "\nmessage-id: <")
			id, _, _ := strings.Cut(rest, ">")
			switch {
			case i == 1 && k == 0:
				skipped++ // not in the file: played, not judged
			case k%3 == 0:
				fmt.Fprintf(&file, "%s\t%s\n", folder+"/./"+filepath.Base(path), word)
			case k%3 == 1:
				fmt.Fprintf(&file, "<%s>\t%s\r\n", id, word)
			default:
				fmt.Fprintf(&file, "%s\t%s\n", id, word)
			}
		}
	}
	file.WriteString("nobody@example.org\timportant\n")
	labels, err := ReadLabels(strings.NewReader(file.String()), "labels.txt")
	testkit.OK(t, err)
	r := ran(t, Play{Paths: []string{good, bad}, Labels: labels, Options: testOptions()})
	if r.Messages != 60 || r.Examples != 60-skipped || r.Important != important || r.LabelsUnmatched != 1 || r.Labels != "file" {
		t.Errorf("got %+v, want 60 messages, %d examples, %d important, 1 unmatched", r, 60-skipped, important)
	}
}

func TestLabelFileMistakesComeWithTheirLines(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"no tab", "a@b important\n", "l:1: no tab between the message and its label"},
		{"no message", "\timportant\n", "l:1: no Message-ID or path before the tab"},
		{"unknown label", "a\timportant\nb\tspam\n", `l:2: unknown label "spam", want "important" or "ordinary"`},
		{"contradiction", "a\timportant\n\n<a>\tordinary\n", `l:3: contradicts line 1, which says "important"`},
		{"two mistakes", "a\nb\n", "l:1: no tab between the message and its label\nl:2: no tab between the message and its label"},
		{"nothing", "# only this\n", "l:1: no label in the whole file"},
		{"empty", "", "l:1: no label in the whole file"},
		{"line too long", "a\timportant\n" + strings.Repeat("x", maxLabelLine+1), "l:2: bufio.Scanner: token too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadLabels(strings.NewReader(tt.file), "l")
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
	_, err := ReadLabels(strings.NewReader(strings.Repeat("bad\n", 1000)), "l")
	if n := strings.Count(err.Error(), "\n"); n != maxLabelErrors || !strings.HasSuffix(err.Error(), "and perhaps more") {
		t.Errorf("got %d lines of errors: %v", n+1, err)
	}
}

func TestAnArchiveIsPlayedInOrderOfDateHoweverItLies(t *testing.T) {
	mbox, important := testkit.Answered(150, 5)
	letters := strings.Split(string(mbox), "From someone@")[1:]
	for i := range letters {
		letters[i] = "From someone@" + letters[i]
	}
	dir := t.TempDir()
	play := func(paths ...string) *Result {
		t.Helper()
		r := ran(t, Play{Paths: paths, Options: testOptions(), Feedback: Delayed})
		return r
	}
	want := play(save(t, dir, "sorted", mbox))
	if want.Important != important || want.AveragePrecision == 0 {
		t.Fatalf("got %d important, want %d, average precision %v", want.Important, important, want.AveragePrecision)
	}
	slices.Reverse(letters)
	backwards := save(t, dir, "backwards", []byte(strings.Join(letters, "")))
	undated := save(t, dir, "undated", regexp.MustCompile(`(?m)^From someone@.*`).ReplaceAll(mbox, []byte("From mboxrd@z Thu Jan  1 00:00:00 1970")))
	half := len(letters) / 2
	one, two := save(t, dir, "folder/one", []byte(strings.Join(letters[half:], ""))), save(t, dir, "folder/two", []byte(strings.Join(letters[:half], "")))
	for name, r := range map[string]*Result{
		"newest first": play(backwards), "without dates": play(undated), "a folder": play(filepath.Join(dir, "folder")), "two archives": play(two, one),
	} {
		if r.Digest != want.Digest || r.AveragePrecision != want.AveragePrecision || r.F1 != want.F1 {
			t.Errorf("%s: got average precision %v and F1 %v, want %v and %v", name, r.AveragePrecision, r.F1, want.AveragePrecision, want.F1)
		}
	}
}

func TestFlagsInAnArchiveAreLabels(t *testing.T) {
	mail := testkit.NewMail(9)
	dir := t.TempDir()
	important := 0
	for i := range 60 {
		m := mail.Next()
		flags := "S"
		if m.Important {
			flags = "FS"
			important++
		}
		save(t, dir, fmt.Sprintf("cur/%d.%d.host:2,%s", m.Date.Unix(), i, flags), m.Raw)
		if i%20 == 0 {
			save(t, dir, fmt.Sprintf("cur/%d.own%d.host:2,FS", m.Date.Unix(), i), mail.Reply(m).Raw)
		}
	}
	p := Play{Paths: []string{dir}, FromFlags: true, Options: testOptions()}
	r := ran(t, p)
	if r.Messages != 63 || r.Own != 3 || r.Examples != 60 || r.Important != important || r.Labels != "flags" {
		t.Errorf("got %d messages, %d own, %d examples, %d important, labels %q; want 63, 3, 60, %d, flags", r.Messages, r.Own, r.Examples, r.Important, r.Labels, important)
	}
	p.Feedback = Delayed
	if _, err := p.Run(t.Context()); !errors.Is(err, ErrPlay) || !strings.Contains(err.Error(), "labels from flags have no time") {
		t.Errorf("delayed: got %v", err)
	}
}

func TestAnArchiveInWhichNothingIsImportantIsRefused(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	var mbox bytes.Buffer
	for i, from := range []string{"ann@example.org", "bob@example.org", "ann@example.org", owner} {
		testkit.AppendMbox(&mbox, simple(from, fmt.Sprintf("m%d", i), "elsewhere"), at.Add(time.Duration(i)*time.Hour))
	}
	path := save(t, dir, "m", mbox.Bytes())
	stranger := testOptions()
	stranger.Featurize.Owner = []string{"cem@example.org"}
	for _, tt := range []struct {
		name, want string
		play       Play
	}{
		{"no answer", "none of the owner's 1 messages answers one of the 3 others", Play{Options: testOptions()}},
		{"another owner", "no message is from the owner [cem@example.org]", Play{Options: stranger}},
		{"another owner, with who it may be", "Most are from ann@example.org, bob@example.org, " + owner, Play{Options: stranger}},
		{"no flag", "none of the 4 messages is flagged", Play{Options: testOptions(), FromFlags: true}},
	} {
		tt.play.Paths = []string{path}
		if r, err := tt.play.Run(t.Context()); !errors.Is(err, ErrPlay) || !strings.Contains(err.Error(), tt.want) || r != nil {
			t.Errorf("%s: got %v, %v; want ErrPlay with %q", tt.name, r, err, tt.want)
		}
	}
}

// TestAnswersAreThoseOfOneAfterTheOther has lists end within the stream and at its end.
func TestAnswersAreThoseOfOneAfterTheOther(t *testing.T) {
	for _, n := range []int{1, headersMessages - 1, headersMessages, 5*headersMessages + 7} {
		mbox, _ := testkit.Answered(n, 12)
		path := save(t, t.TempDir(), "m", mbox)
		open := func() *stream {
			s := streamOf(t, []source{{path, 0}}, 1<<20)
			t.Cleanup(func() { s.close() })
			return s
		}
		for _, h := range []heard{0, 0.5} {
			f := readerOf(t, testOptions().Featurize)
			want, wantOwn, wantTotal := answers{}, 0, 0
			err := open().each(func(m mail) error {
				wantTotal++
				if a := f.ReadHeader(m.Raw); a.FromOwner {
					wantOwn++
					want.add(a, wantTotal, h)
				}
				return nil
			})
			testkit.OK(t, err)
			got, own, total, err := findAnswers(t.Context(), open(), testOptions().Featurize, h, 2)
			if err != nil || own != wantOwn || total != wantTotal || !maps.Equal(got, want) {
				t.Errorf("%d messages: %d answers, %d own of %d, %v; want %d, %d of %d", n, len(got), own, total, err, len(want), wantOwn, wantTotal)
			}
		}
	}
}

func TestTheSearchForAnswersEndsWithItsContext(t *testing.T) {
	mbox, _ := testkit.Answered(3*headersMessages, 13)
	s := streamOf(t, []source{{save(t, t.TempDir(), "m", mbox), 0}}, 1<<20)
	defer s.close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := findAnswers(ctx, s, testOptions().Featurize, 0, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// kinds are ways in which the owner's mail may refer to a message: header lines with its number.
var kinds = []string{
	"Subject: Re: boat %[1]d\nIn-Reply-To: <q%[1]d@x>", "Subject: boat\nReferences: <a@x> <q%[1]d@x>", "Subject: SV: Boat  %[1]d",
	"Subject: Re: boat %[1]d\nIn-Reply-To: <q%[1]d@x>\nAuto-Submitted: auto-replied", "Subject: Fwd: boat %[1]d\nIn-Reply-To: <q%[1]d@x>",
	"Subject: unsubscribe\nIn-Reply-To: <q%[1]d@x>", "Subject: boat %[1]d",
	"Subject: Ja: boat %[1]d\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nMETHOD:REPLY\nBEGIN:VEVENT\nATTENDEE;PARTSTAT=ACCEPTED:me\n",
	"Subject: Ja: boat %[1]d\nIn-Reply-To: <q%[1]d@x>\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nMETHOD:REPLY\nBEGIN:VEVENT\nATTENDEE;PARTSTAT=DECLINED:me\n",
}

// TestWhatIsAnsweredIsWhatTheFilterLearns plays every kind of owner's mail, after a day and
// after 40 days, and other mail with the same subject; the first three kinds and an accepted
// invitation are answers.
func TestWhatIsAnsweredIsWhatTheFilterLearns(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []string
	put := func(days float64, from, to, id, header string) {
		when := at.Add(time.Duration(days * 24 * float64(time.Hour)))
		all = append(all, when.Format(time.RFC3339)+"\x00"+fmt.Sprintf("From x %s\nDate: %s\nFrom: %s\nTo: %s\nMessage-ID: <%s>\n%s\n\ntext\n\n",
			when.Format(time.ANSIC), when.Format(time.RFC1123Z), from, to, id, header))
	}
	want := map[uint64]bool{}
	for i, kind := range append(slices.Clone(kinds), kinds...) {
		wait := 1.5
		if i >= len(kinds) {
			wait = 40
		}
		from := fmt.Sprintf("p%d@x", i)
		put(float64(i), from, owner, fmt.Sprintf("old%d@x", i), fmt.Sprintf("Subject: Re: Boat %d", i))
		put(float64(i)+0.1, from, owner, fmt.Sprintf("q%d@x", i), fmt.Sprintf("Subject: Boat %d", i))
		put(float64(i)+0.2, "eve@x", owner, fmt.Sprintf("e%d@x", i), fmt.Sprintf("Subject: Boat %d", i))
		put(float64(i)+wait, owner, from, fmt.Sprintf("own%d@example.org", i), fmt.Sprintf(kind, i))
		if k := i % len(kinds); k < 2 || i < len(kinds) && (k == 2 || k == 7) {
			want[xxhash.Sum64String(fmt.Sprintf("q%d@x", i))] = true
		}
	}
	slices.Sort(all)
	var mbox []byte
	for _, m := range all {
		_, m, _ = strings.Cut(m, "\x00")
		mbox = append(mbox, m...)
	}
	path := save(t, t.TempDir(), "m", mbox)
	s := streamOf(t, []source{{path, 0}}, 1<<20)
	defer s.close()
	o := testOptions()
	found, own, total, err := findAnswers(t.Context(), s, o.Featurize, 0, 2)
	if err != nil || own != 2*len(kinds) || total != len(all) {
		t.Fatalf("%d own of %d, %v", own, total, err)
	}
	got, learnt := map[uint64]bool{}, map[uint64]bool{}
	for id := range found {
		got[id] = true
	}
	st := plain(t, path, o)
	for _, k := range st.IDs.Keys() {
		if known, _ := st.IDs.Get(k); known.Answered {
			m, _ := st.Messages.Get(string(known.Message[:]))
			learnt[uint64(m.ID)] = true
		}
	}
	if !maps.Equal(got, want) || !maps.Equal(learnt, want) {
		t.Errorf("%d are answered and %d learnt, want %d:\n%v\n%v\n%v", len(got), len(learnt), len(want), got, learnt, want)
	}
}
