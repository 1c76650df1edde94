// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/bootstrap"
	"github.com/hinged/hinged/internal/testkit"
)

// lived fills a server's mailboxes with the past of an owner who answers and stars
// what is important, throws away, junks and leaves alone the rest. It returns the
// number of messages.
func lived(owner *testkit.Owner, seed uint64, n int) (messages int) {
	mail := testkit.NewMail(seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for range n {
		m := mail.Next()
		messages++
		box, flags := "INBOX", []string{`\Seen`}
		switch chance := rng.IntN(10); {
		case m.Important && chance < 7:
			flags = append(flags, `\Answered`)
			answer := mail.Reply(m)
			owner.Append("Sent", answer.Raw, answer.Date, `\Seen`)
			messages++
		case m.Important && chance < 9:
			flags = append(flags, `\Flagged`)
		case m.Important:
			box = "Archive"
		case chance < 3:
			box, flags = "Trash", nil
		case chance < 4:
			box, flags = "Junk", []string{"$Junk"}
		case chance < 5:
			flags = append(flags, "$Junk")
		case chance < 9:
			flags = nil // what is read and kept is a small yes
		}
		owner.Append(box, m.Raw, m.Date, flags...)
	}
	return messages
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// bootstrap reads the past and returns the report.
func (s *site) bootstrap(args ...string) bootstrap.Report {
	s.t.Helper()
	out, err := s.hinged(append([]string{"bootstrap", "--config", s.config, "--months", "0", "--json"}, args...)...)
	var r bootstrap.Report
	if err == nil {
		err = json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &r)
	}
	if err != nil {
		s.t.Fatalf("bootstrap: %v\n%s", err, out)
	}
	return r
}

// TestBootstrapKilledAtRandomPoints: two stores read the past of one mailbox,
// which they do not change. One is left alone, the other's reading is killed with
// -9 again and again. Both must end in the same state; and the daemon that takes
// over reads and learns nothing again.
func TestBootstrapKilledAtRandomPoints(t *testing.T) {
	t.Parallel()
	imap := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := imap.Owner(t)
	messages := lived(owner, 21, 1500)
	before := flagsOf(owner)
	proxy := testkit.StartProxy(t, imap.Addr)
	calm := siteAt(t, imap, proxy.Addr, t.TempDir(), "")
	rough := testkit.StartProxy(t, imap.Addr)
	shaken := siteAt(t, imap, rough.Addr, t.TempDir(), "")
	want := calm.bootstrap()
	if !want.Complete || want.Read != messages || want.Messages != messages {
		t.Fatalf("read %d of %d, knows %d; want all %d", want.Read, want.Total, want.Messages, messages)
	}
	j := &want.Judgement
	if j.Messages < 1000 || j.Important < 200 || j.Messages-j.Important < 600 {
		t.Errorf("only %d messages judged, %d of them important", j.Messages, j.Important)
	}
	if j.F1 < 0.8 || j.KnownF1() == 0 {
		t.Errorf("the decisions have %+v", j)
	}
	calm.wantReplay("after bootstrap")

	path := program(t)
	rng := rand.New(rand.NewPCG(8, 8))
	kills, done := 0, false
	for !done {
		cmd := exec.Command(path, "bootstrap", "--config", shaken.config, "--months", "0")
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// After so many bytes and not after a time: a fast machine would be done
		// before it was killed. The bytes grow, so that it comes to an end.
		cuts := rough.Cuts()
		rough.CutAfter(int64(250_000 + rng.IntN(500_000) + 60_000*kills))
		late := time.Duration(rng.IntN(30)) * time.Millisecond
		stop, cut := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(cut)
			for rough.Cuts() == cuts {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
			time.Sleep(late)
		}()
		select {
		case err := <-ended:
			close(stop)
			if err != nil {
				t.Fatalf("bootstrap: %v\n%s", err, log.String())
			}
			done = true
		case <-cut:
			_ = cmd.Process.Signal(syscall.SIGKILL) // it may have ended by itself
			<-ended
			kills++
			if kills%4 == 0 {
				shaken.wantReplay(fmt.Sprintf("after kill %d", kills))
			}
		}
	}
	rough.CutAfter(-1)
	t.Logf("%d messages, %d kills", messages, kills)
	if kills < 5 {
		t.Errorf("only %d kills", kills)
	}
	got := shaken.bootstrap()
	if got.Total != 0 || !got.Complete {
		t.Errorf("after its end it found %d more to read, complete is %v", got.Total, got.Complete)
	}
	got.Read, got.Total = want.Read, want.Total
	for _, questions := range [][]desk.Question{got.Questions, want.Questions} {
		for i := range questions { // the words of mail that old are kept by none but who has just read it
			q := &questions[i]
			q.From, q.Subject, q.Facts, q.For, q.Against = "", nil, nil, nil, nil
		}
	}
	if g, w := asJSON(t, got), asJSON(t, want); g != w {
		t.Errorf("killed %d times the report is\n%s\nundisturbed\n%s", kills, g, w)
	}
	shaken.wantReplay("at the end")
	if c, s := calm.digests(), shaken.digests(); c != s {
		t.Errorf("undisturbed\n%s\nkilled %d times\n%s\n%s", c, kills, s, differences(t, calm, shaken))
	}

	// The daemon goes on from there.
	calm.pin([]string{asJSON(t, want.Judgement)})
	ended := calm.digests()
	calm.start()
	st := calm.until("all mailboxes looked at", func(a desk.AccountStatus) bool { return a.Connected })
	calm.end()
	if st.Messages != uint64(messages) || calm.digests() != ended {
		t.Errorf("the daemon knows %d messages of %d; its state is\n%s\nbefore it was\n%s", st.Messages, messages, calm.digests(), ended)
	}
	said := proxy.Commands()
	for _, word := range []string{"STORE", "COPY", "MOVE", "APPEND", "EXPUNGE", "CREATE"} {
		if said[word] != 0 {
			t.Errorf("%d times %s on the wire", said[word], word)
		}
	}
	if after := flagsOf(owner); len(after) != len(before) {
		t.Errorf("%d messages in INBOX, before %d", len(after), len(before))
	} else {
		for uid, f := range after {
			if f != before[uid] {
				t.Errorf("message %d has the flags %q, before %q", uid, f, before[uid])
			}
		}
	}
}
