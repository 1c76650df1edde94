// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/setup"
	"github.com/hinged/hinged/internal/testkit"
)

// walker takes a mailbox on one server through the steps of the matrix.
type walker struct {
	t      *testing.T
	server *testkit.MailServer
	mark   string
	site   *site
	owner  *testkit.Owner
	tls    []string // flags of init

	keywords bool // init found that the server takes new keywords

	past   int // messages that were there before hinged
	before map[string]map[uint32]string
	n      int    // letters delivered since
	inJunk uint32 // the letter that the owner moved there
	was    desk.AccountStatus
}

// matrixSteps are the columns, in the order in which they are taken. Each step
// leaves the daemon as it found it, from "bootstrap" on running.
var matrixSteps = []struct {
	name string
	do   func(*walker)
}{
	{"init", (*walker).init},
	{"check", (*walker).check},
	{"bootstrap", (*walker).bootstrap},
	{"marked", (*walker).marked},
	{"mark taken off", (*walker).takenOff},
	{"own mark", (*walker).ownMark},
	{"star", (*walker).star},
	{"answered", (*walker).answered},
	{"reply in Sent", (*walker).reply},
	{"junk keyword", (*walker).junkKeyword},
	{"to Junk", (*walker).toJunk},
	{"back from Junk", (*walker).backFromJunk},
	{"out of Junk", (*walker).outOfJunk},
	{"thrown away", (*walker).thrownAway},
	{"deleted for good", (*walker).deletedForGood},
	{"while away", (*walker).whileAway},
	{"kill -9", (*walker).kill},
}

var matrixFolders = []string{"INBOX", "Sent", "Junk", "Trash", "Drafts", "Archive"}

// prepare fills the mailbox with the past of an owner who answers and stars what the
// boss writes, and leaves the newsletter alone or throws it away unread.
func (w *walker) prepare(protection, config string) {
	dir := w.t.TempDir()
	connection := "poll_interval = \"200ms\"\n" + config
	if protection == "" {
		connection += "tls = \"none\"\n"
	} else {
		authority := filepath.Join(dir, "authority.pem")
		testkit.Write(w.t, authority, w.server.Certificate)
		w.tls = []string{"--ca-file", authority}
		connection += fmt.Sprintf("tls = %q\nca_file = %q\n", protection, authority)
	}
	w.site = siteFor(w.t, w.server.Login, dir, "debug", fmt.Sprintf("mark = [%q]\n", w.mark)+quick, connection)
	w.owner = w.server.Owner(w.t)
	date := time.Now().Add(-60 * 24 * time.Hour)
	put := func(folder string, raw []byte, flags ...string) {
		date = date.Add(5 * time.Hour)
		w.owner.Append(w.server.Folder(folder), raw, date, flags...)
		w.past++
	}
	for i := range 12 {
		flags := []string{`\Seen`, `\Flagged`}
		if i%2 == 0 {
			flags[1] = `\Answered`
		}
		id := 1000 + 10*i
		put("INBOX", letter(id, boss, w.server.User, "urgent matter"), flags...)
		if i%2 == 0 {
			put("Sent", letter(id+1, w.server.User, boss, "re: urgent matter", fmt.Sprintf("In-Reply-To: <l%d@example.com>", id)), `\Seen`)
		}
		put("INBOX", letter(id+2, news, "list@example.net", "weekly newsletter"), `\Seen`)
		put("Trash", letter(id+3, news, "list@example.net", "weekly newsletter"))
	}
	w.before = w.look()
}

// look lists the flags of every message by folder and UID.
func (w *walker) look() map[string]map[uint32]string {
	all := map[string]map[uint32]string{}
	for _, folder := range matrixFolders {
		all[folder] = map[uint32]string{}
		for _, m := range w.owner.All(w.server.Folder(folder)) {
			flags := slices.DeleteFunc(m.Flags, notOwners)
			all[folder][m.UID] = strings.Join(flags, " ")
		}
	}
	return all
}

// unchanged fails the test unless every message is as it was before hinged came.
func (w *walker) unchanged(after string) {
	w.t.Helper()
	now := w.look()
	for _, folder := range matrixFolders {
		if !maps.Equal(now[folder], w.before[folder]) {
			w.t.Fatalf("after %s %s holds %v, before %v", after, folder, now[folder], w.before[folder])
		}
	}
}

func (w *walker) init() {
	config := filepath.Join(w.site.dir, "of-init.toml")
	args := append([]string{
		"init", "--json", "--config", config, "--address", w.server.User, "--server", w.server.Addr,
		"--password-file", filepath.Join(w.site.dir, "password"), "--state-dir", filepath.Join(w.site.dir, "state-of-init"),
	}, w.tls...)
	out, err := w.site.hinged(args...)
	var answer struct {
		Found setup.Found `json:"found"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(out[max(0, strings.Index(out, "{")):]), &answer)
	}
	if err != nil {
		w.t.Fatalf("init: %v\n%s", err, out)
	}
	uses := map[string]string{}
	for _, f := range answer.Found.Folders {
		uses[f.Use] = f.Name
	}
	for _, folder := range matrixFolders[1:] {
		if use := strings.ToLower(folder); uses[use] != w.server.Folder(folder) {
			w.t.Errorf("init takes %q for the folder %s; want %q", uses[use], use, w.server.Folder(folder))
		}
	}
	// Six messages are starred already: hinged's stars would be lost among them.
	if mark := strings.Join(answer.Found.Suggest.Marks, " "); mark != w.mark {
		w.t.Errorf("init proposes the mark %s, want %s", mark, w.mark)
	}
	w.keywords = answer.Found.NewKeywords
	if w.keywords != (w.mark == "$Important") {
		w.t.Errorf("init says %v about whether INBOX takes new keywords", w.keywords)
	}
	w.t.Logf("init found %+v", answer.Found)
	w.unchanged("init")
	out, err = w.site.hinged("check", "--no-write", "--config", config)
	if err != nil {
		w.t.Errorf("check of what init wrote: %v\n%s", err, out)
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
}

func (w *walker) check() {
	out, err := w.site.hinged("check", "--config", w.site.config)
	tried := "is off again"
	if !w.keywords {
		tried = "not tried: the server takes no new keywords"
	}
	if err != nil || strings.Contains(out, "FAIL") || !strings.Contains(out, tried) {
		w.t.Fatalf("check: %v\n%s", err, out)
	}
	w.t.Logf("check:\n%s", out)
	w.unchanged("check")
}

func (w *walker) bootstrap() {
	r := w.site.bootstrap()
	// All but what lies in Drafts, where nothing does.
	if !r.Complete || r.Read != w.past || r.Messages != w.past || r.Own != 6 {
		w.t.Fatalf("bootstrap read %d messages of %d and knows %d, %d own; want %d, 6 own", r.Read, r.Total, r.Messages, r.Own, w.past)
	}
	if r.Important != 12 {
		w.t.Fatalf("bootstrap found %d messages important, want 12", r.Important)
	}
	w.unchanged("bootstrap")
	w.site.start()
	w.was = w.site.until("the mailbox open", func(a desk.AccountStatus) bool {
		return a.Connected && len(a.Mailboxes) >= 5 && a.Pending == 0
	})
	if w.was.Messages != uint64(w.past) || w.was.Important != 12 || w.was.Ordinary != 12 {
		w.t.Fatalf("the daemon knows %d messages, learnt %d important and %d ordinary; want %d, 12 and 12",
			w.was.Messages, w.was.Important, w.was.Ordinary, w.past)
	}
	w.unchanged("the start of the daemon")
}

// deliver puts a letter into a folder and waits until it was taken in and, if it is
// important, marked.
func (w *walker) deliver(folder, from, words string) (uid uint32, id int) {
	w.t.Helper()
	w.n++
	uid = w.owner.Append(w.server.Folder(folder), letter(w.n, from, w.server.User, words), time.Now().Add(-time.Minute))
	w.arrived("a letter in " + folder)
	return uid, w.n
}

// stranger delivers a letter from somebody who has not written before, so that no
// lesson of one step decides another's letters.
func (w *walker) stranger(folder string) (uid uint32, id int) {
	w.t.Helper()
	return w.deliver(folder, fmt.Sprintf("stranger%d@example.net", w.n), fmt.Sprintf("matter%d", w.n))
}

// markedLetter delivers letters of the boss's until one is marked. The owner stars
// those that are not.
func (w *walker) markedLetter() uint32 {
	w.t.Helper()
	for range 8 {
		uid, _ := w.deliver("INBOX", boss, "urgent matter")
		if f := w.flags(uid); len(f) > 0 {
			if !slices.Equal(f, ingest.CanonicalFlags([]string{w.mark})) {
				w.t.Fatalf("the boss's letter has the flags %q, want the mark and nothing else", f)
			}
			return uid
		}
		w.owner.Set("INBOX", uid, `\Flagged`)
		w.lesson("a star for the boss's letter", true)
	}
	w.t.Fatal("none of eight letters of the boss's was marked")
	return 0
}

func (w *walker) arrived(what string) {
	w.t.Helper()
	w.was.Messages++
	w.site.until(what, func(a desk.AccountStatus) bool { return a.Messages == w.was.Messages && a.MarksIntended == 0 })
}

func (w *walker) flags(uid uint32) []string {
	w.t.Helper()
	flags, there := w.owner.Flags("INBOX", uid)
	if !there {
		w.t.Fatalf("message %d is gone", uid)
	}
	return slices.DeleteFunc(flags, notOwners)
}

// notOwners says of a flag that it tells neither the owner nor hinged anything: \Recent
// is the server's, and $Hinged only names who has set a mark.
func notOwners(flag string) bool { return flag == `\recent` || flag == "$hinged" }

// lesson waits until exactly one more lesson was learnt, and demands that it is
// of this class.
func (w *walker) lesson(what string, important bool) {
	w.t.Helper()
	w.site.wantLesson(&w.was, what, important)
}

// wantLesson waits until exactly one lesson more than in was is learnt, of this class.
func (s *site) wantLesson(was *desk.AccountStatus, what string, important bool) {
	s.t.Helper()
	want := *was
	if important {
		want.Important++
	} else {
		want.Ordinary++
	}
	now := s.until("a lesson: "+what, func(a desk.AccountStatus) bool {
		return a.Important+a.Ordinary > was.Important+was.Ordinary && a.Pending == 0 && a.MarksIntended == 0
	})
	if now.Important != want.Important || now.Ordinary != want.Ordinary {
		s.t.Fatalf("%s: learnt %d important and %d ordinary; want %d and %d", what, now.Important, now.Ordinary, want.Important, want.Ordinary)
	}
	*was = now
}

// wantTakenBack waits until a lesson that a message is ordinary is taken back, and no other is.
func (s *site) wantTakenBack(was *desk.AccountStatus, what string) {
	s.t.Helper()
	*was = s.until(what, func(a desk.AccountStatus) bool {
		return a.Important == was.Important && a.Ordinary == was.Ordinary-1 && a.Pending == 0
	})
}

func (w *walker) marked() {
	w.markedLetter()
	uid, _ := w.deliver("INBOX", news, "weekly newsletter")
	if f := w.flags(uid); len(f) != 0 {
		w.t.Fatalf("the newsletter has the flags %q", f)
	}
}

func (w *walker) takenOff() {
	uid := w.markedLetter()
	w.owner.Clear("INBOX", uid, w.mark)
	w.lesson("the mark taken off", false)
	if f := w.flags(uid); len(f) != 0 {
		w.t.Fatalf("it has the flags %q", f)
	}
}

func (w *walker) ownMark() {
	uid, _ := w.deliver("INBOX", news, "weekly newsletter")
	w.owner.Set("INBOX", uid, w.mark)
	w.lesson("the owner's own mark", true)
}

func (w *walker) star() {
	uid, _ := w.stranger("INBOX")
	w.owner.Set("INBOX", uid, `\Flagged`)
	w.lesson("a star", true)
}

func (w *walker) answered() {
	uid, _ := w.stranger("INBOX")
	w.owner.Set("INBOX", uid, `\Answered`)
	w.lesson("an answer, by its flag", true)
}

func (w *walker) reply() {
	_, id := w.stranger("INBOX")
	w.n++
	w.owner.Append(w.server.Folder("Sent"),
		letter(w.n, w.server.User, "stranger@example.net", "re: that matter", fmt.Sprintf("In-Reply-To: <l%d@example.com>", id)), time.Now(), `\Seen`)
	w.arrived("the reply in Sent")
	w.lesson("an answer, by the copy in Sent", true)
}

func (w *walker) junkKeyword() {
	uid, _ := w.stranger("INBOX")
	w.owner.Set("INBOX", uid, "$Junk")
	w.lesson("called junk", false)
}

func (w *walker) toJunk() {
	uid, _ := w.stranger("INBOX")
	w.inJunk = w.owner.Move("INBOX", uid, w.server.Folder("Junk"))
	w.lesson("moved to Junk", false)
}

func (w *walker) backFromJunk() {
	w.owner.Move(w.server.Folder("Junk"), w.inJunk, "INBOX")
	w.site.wantTakenBack(&w.was, "what was moved to Junk taken back")
}

func (w *walker) outOfJunk() {
	uid, _ := w.stranger("Junk")
	w.owner.Move(w.server.Folder("Junk"), uid, "INBOX")
	w.lesson("taken out of Junk, where it was delivered", true)
}

func (w *walker) thrownAway() {
	uid, _ := w.stranger("INBOX")
	w.owner.Move("INBOX", uid, w.server.Folder("Trash"))
	w.lesson("thrown away unread", false)
}

// deletedForGood: \Deleted and EXPUNGE in one breath, as a program without a Trash does.
func (w *walker) deletedForGood() {
	uid, _ := w.stranger("INBOX")
	w.owner.Expunge("INBOX", uid)
	w.lesson("deleted for good, unread", false)
}

func (w *walker) whileAway() {
	uid, _ := w.stranger("INBOX")
	w.site.end()
	w.owner.Set("INBOX", uid, `\Answered`)
	w.site.start()
	w.lesson("an answer while the daemon was away", true)
}

// kill ends the daemon at once after each of four things and demands that all of
// them were learnt once, that no mark is missing or set twice, and that the state is
// that of a replay.
func (w *walker) kill() {
	uid, other := w.markedLetter(), w.markedLetter()
	third := w.markedLetter()
	for _, now := range []struct {
		what      string
		do        func()
		important bool
	}{
		{"the mark taken off, and a kill", func() { w.owner.Clear("INBOX", uid, w.mark) }, false},
		{"an answer, and a kill", func() { w.owner.Set("INBOX", other, `\Answered`) }, true},
		{"moved to Junk, and a kill", func() { w.owner.Move("INBOX", third, w.server.Folder("Junk")) }, false},
	} {
		now.do()
		w.site.kill()
		w.site.start()
		w.lesson(now.what, now.important)
	}
	w.n++
	w.owner.Append("INBOX", letter(w.n, boss, w.server.User, "urgent matter"), time.Now().Add(-time.Minute))
	w.site.kill()
	w.site.start()
	w.arrived("a letter, and a kill")
	// A message that comes last has everything before it settled.
	w.markedLetter()
	st := w.site.until("everything settled", func(a desk.AccountStatus) bool { return a.Pending == 0 && a.MarksIntended == 0 })
	if st.Important != w.was.Important || st.Ordinary != w.was.Ordinary || st.MarksRefused != 2 {
		w.t.Fatalf("learnt %d important and %d ordinary, want %d and %d; %d marks refused, want 2",
			st.Important, st.Ordinary, w.was.Important, w.was.Ordinary, st.MarksRefused)
	}
	for seen, flags := range w.look()["INBOX"] {
		if strings.Contains(flags, "hingedcheck") {
			w.t.Errorf("message %d has the flags %q", seen, flags)
		}
	}
	w.site.end()
	w.site.wantReplay("at the end")
}
