package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/testkit"
)

// BenchmarkFilter starts `hinged classify`, as it is released, and `bogofilter -t`
// once for each of 400 messages, in turn, the message on standard input, and
// reports how many a second each gets done, and the ratio. Both have learnt the
// same 4,000 messages before. Each iteration is one round over all messages. The
// mail is generated, or that of the mbox file in HINGED_BENCH_MBOX, whose owner,
// HINGED_BENCH_OWNER, found important what he answered.
func BenchmarkFilter(b *testing.B) {
	bogofilter, err := exec.LookPath("bogofilter")
	if err != nil {
		b.Skip("there is no bogofilter here to compare with (package bogofilter)")
	}
	dir := b.TempDir()
	important, ordinary, rest := filterMail(b, 4000, 400)
	run := func(stdin []byte, name string, args ...string) {
		b.Helper()
		cmd := exec.Command(name, args...)
		cmd.Stdin = bytes.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s %q: %v\n%s", name, args, err, tail(string(out)))
		}
	}
	hinged := filepath.Join(dir, "hinged")
	// With cgo the program would be linked dynamically, which is as slow to start as
	// all the rest together.
	run(nil, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-tags", "prod", "-ldflags", "-s -w", "-o", hinged, "github.com/hinged/hinged/cmd/hinged")

	words := filepath.Join(dir, "words")
	if err := os.Mkdir(words, 0o700); err != nil {
		b.Fatal(err)
	}
	run(important, bogofilter, "-d", words, "-M", "-s")
	run(ordinary, bogofilter, "-d", words, "-M", "-n")

	// A daemon without a mail server: it answers all the same.
	config := filepath.Join(dir, "hinged.toml")
	if err := os.WriteFile(config, []byte(`
state_dir = "state"
socket = "socket"
log_level = "error"

[[account]]
name = "me"
owner = ["`+filterOwner()+`"]
imap = {address = "127.0.0.1:1", tls = "none", username = "me", password_file = "password"}
`), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("tulip\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	watch := exec.Command(hinged, "run", "--config", config)
	if err := watch.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = watch.Wait() }()
	defer func() { _ = watch.Process.Kill() }()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if c, err := control.Dial(context.Background(), filepath.Join(dir, "socket")); err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) {
			b.Fatal("the daemon's socket did not appear")
		}
	}
	for label, mail := range map[string][]byte{"--important": important, "--ordinary": ordinary} {
		file := filepath.Join(dir, "mail.mbox")
		if err := os.WriteFile(file, mail, 0o600); err != nil {
			b.Fatal(err)
		}
		run(nil, hinged, "learn", "--config", config, label, file)
	}

	once := func(file, name string, args ...string) time.Duration {
		stdin, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		defer stdin.Close()
		cmd := exec.Command(name, args...)
		cmd.Stdin = stdin
		began := time.Now()
		err = cmd.Run()
		took := time.Since(began)
		// 1 and 2 are outcomes of both.
		if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 2) {
			b.Fatalf("%s %q: %v", name, args, err)
		}
		return took
	}
	var files []string
	for i, raw := range rest {
		file := filepath.Join(dir, fmt.Sprintf("%d.eml", i))
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			b.Fatal(err)
		}
		files = append(files, file)
	}
	var ratios []float64
	var ours, theirs time.Duration
	round := func() (us, them time.Duration) {
		for _, file := range files {
			us += once(file, hinged, "classify", "--config", config)
			them += once(file, bogofilter, "-d", words, "-t")
		}
		return us, them
	}
	round() // both warm
	for b.Loop() {
		us, them := round()
		ours, theirs = ours+us, theirs+them
		ratios = append(ratios, them.Seconds()/us.Seconds())
	}
	slices.Sort(ratios)
	n := float64(len(ratios) * len(rest))
	b.ReportMetric(n/ours.Seconds(), "hinged/s")
	b.ReportMetric(n/theirs.Seconds(), "bogofilter/s")
	b.ReportMetric(ratios[len(ratios)/2], "ratio-median")
	b.ReportMetric(ratios[0], "ratio-worst")
}

func filterOwner() string {
	if o := os.Getenv("HINGED_BENCH_OWNER"); o != "" {
		return o
	}
	return "owner@example.org"
}

// filterMail returns two mboxes to learn from, train messages together, and then
// test messages that follow.
func filterMail(b *testing.B, train, test int) (important, ordinary []byte, rest [][]byte) {
	b.Helper()
	var all [][]byte
	var yes []bool
	if from := os.Getenv("HINGED_BENCH_MBOX"); from != "" {
		all, yes = answeredMail(b, from)
	} else {
		mail := testkit.NewMail(7)
		for range train + test {
			m := mail.Next()
			all, yes = append(all, m.Raw), append(yes, m.Important)
		}
	}
	if len(all) < train+test {
		b.Fatalf("%d messages, want %d", len(all), train+test)
	}
	for i, raw := range all[:train] {
		text := strings.ReplaceAll("\n"+strings.ReplaceAll(string(raw), "\r\n", "\n"), "\nFrom ", "\n>From ")
		text = "From x@example.org Thu Jan  1 00:00:00 2026" + text + "\n"
		if yes[i] {
			important = append(important, text...)
		} else {
			ordinary = append(ordinary, text...)
		}
	}
	return important, ordinary, all[train : train+test]
}

// answeredMail reads the messages of an mbox that are not the owner's own, and
// which of them the owner answered.
func answeredMail(b *testing.B, path string) (all [][]byte, yes []bool) {
	b.Helper()
	o := featurize.DefaultOptions()
	o.Owner = []string{filterOwner()}
	reader, err := featurize.New(o)
	if err != nil {
		b.Fatal(err)
	}
	mail, err := archive.Open([]string{path}, archive.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer mail.Close()
	answered := map[string]bool{}
	var ids []string
	for {
		m, err := mail.Next()
		if err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is no end
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		read := reader.Read(m.Raw)
		if !read.Own {
			all, ids = append(all, bytes.Clone(m.Raw)), append(ids, read.MessageID)
			continue
		}
		for _, id := range read.InReplyTo {
			answered[id] = true
		}
	}
	for _, id := range ids {
		yes = append(yes, answered[id])
	}
	return all, yes
}

// The whole of a mail filter: the program starts, asks the daemon, and the
// message comes out with what the daemon decided; and when the daemon is killed
// under it, the message comes out as it was.
func TestMailPassesThroughWhetherOrNotTheDaemonLives(t *testing.T) {
	s := newSite(t, "")
	s.start()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	const raw = "X-Hinged-Status: important; score=+9.99; threshold=0.00\r\nFrom: a@example.org\r\n\r\nbody\x00\r\r\n\nend"
	pass := func() (string, string, int) {
		var out, errs bytes.Buffer
		cmd := exec.Command(path, "classify", "-p", "-e", "--socket", s.socket)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(raw), &out, &errs
		_ = cmd.Run()
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	_, plain, _ := strings.Cut(raw, "\r\n")
	out, errs, code := pass()
	fields, isPlain := strings.CutSuffix(out, plain)
	if code != 0 || errs != "" || !isPlain || !strings.HasPrefix(fields, "X-Hinged-Status: unsure; score=") || strings.Contains(fields, "9.99") {
		t.Errorf("with a daemon: exit code %d, %q and %q", code, out, errs)
	}
	s.kill()
	out, errs, code = pass()
	if code != 0 || out != plain || !strings.Contains(errs, "passed through without a decision") {
		t.Errorf("without one: exit code %d, %q and %q", code, out, errs)
	}
	if got := fmt.Sprint(strings.Count(errs, "\n")); got != "1" {
		t.Errorf("the error has %s lines: %q", got, errs)
	}
}
