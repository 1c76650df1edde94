// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// The size of a recorded terminal, in characters.
const (
	recordedColumns = 80
	recordedRows    = 32
)

// Pauses in seconds: between two keys, before a command is typed, before its output,
// and the longest that is recorded while nothing is shown.
const (
	keyPause     = 0.045
	commandPause = 2
	enterPause   = 0.3
	longestPause = 1.5
)

// recording is a terminal, somebody who types commands into it, and all that it shows.
type recording struct {
	t   *testing.T
	env []string
	dir string // where the commands run

	mu     sync.Mutex
	events []recorded
	clock  float64 // seconds since the beginning
}

// recorded is what the terminal showed at one moment.
type recorded struct {
	at   float64 // seconds since the beginning
	text string
}

// show records what the terminal shows after a pause in seconds.
func (r *recording) show(pause float64, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock += min(pause, longestPause)
	r.events = append(r.events, recorded{r.clock, text})
}

// act is what somebody does once a command has shown something new.
type act struct {
	after *regexp.Regexp // of what the command has shown since the last act
	do    func()         // nil: nothing
	text  string         // then typed, as it is
}

// enter types a line at a prompt.
func enter(prompt, text string) act {
	return act{after: regexp.MustCompile(regexp.QuoteMeta(prompt) + `$`), text: text + "\r"}
}

// run types a command, does the acts in their order, and returns what the command
// showed. The command must succeed and every act have its turn.
func (r *recording) run(command string, acts ...act) string {
	r.t.Helper()
	r.show(commandPause, "\x1b[1;32m$\x1b[0m ")
	for _, c := range command {
		r.show(keyPause, string(c))
	}
	r.show(enterPause, "\r\n")
	cmd := exec.Command("bash", "-c", command)
	cmd.Env, cmd.Dir = r.env, r.dir
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: recordedRows, Cols: recordedColumns})
	if err != nil {
		r.t.Fatal(err)
	}
	defer terminal.Close()
	watchdog := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	shown := make(chan string)
	go r.read(terminal, shown)
	var all, since bytes.Buffer
	for text := range shown {
		all.WriteString(text)
		since.WriteString(text)
		for len(acts) > 0 && acts[0].after.Match(since.Bytes()) {
			since.Reset()
			if acts[0].do != nil {
				acts[0].do()
			}
			if _, err := io.WriteString(terminal, acts[0].text); err != nil {
				r.t.Fatal(err)
			}
			acts = acts[1:]
		}
	}
	if err := cmd.Wait(); err != nil || len(acts) > 0 {
		r.t.Fatalf("%s: %v; %d acts had no turn\n%s", command, err, len(acts), tail(all.String()))
	}
	return all.String()
}

// read records what a terminal shows until its program ends, and hands it on. While
// nobody takes it, it goes on recording.
func (r *recording) read(terminal *os.File, shown chan<- string) {
	defer close(shown)
	chunks := make(chan string)
	go func() {
		defer close(chunks)
		last := time.Now()
		for buffer := make([]byte, 4096); ; {
			n, err := terminal.Read(buffer)
			if n > 0 {
				r.show(time.Since(last).Seconds(), string(buffer[:n]))
				last = time.Now()
				chunks <- string(buffer[:n])
			}
			if err != nil {
				// A terminal whose program has ended gives EIO on Linux.
				if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO) {
					r.t.Error(err)
				}
				return
			}
		}
	}()
	waiting := ""
	for chunks != nil || waiting != "" {
		to := shown
		if waiting == "" {
			to = nil
		}
		select {
		case text, ok := <-chunks:
			if waiting += text; !ok {
				chunks = nil
			}
		case to <- waiting:
			waiting = ""
		}
	}
}

// write writes the recording in asciinema's format, version 2: a line of JSON with the
// size, then one for each event (docs.asciinema.org/manual/asciicast/v2).
func (r *recording) write(path string) {
	r.t.Helper()
	r.show(longestPause, "")
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(map[string]any{"version": 2, "width": recordedColumns, "height": recordedRows, "title": "The first ten minutes with hinged"}); err != nil {
		r.t.Fatal(err)
	}
	for _, e := range r.events {
		if err := lines.Encode([]any{e.at, "o", e.text}); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		r.t.Fatal(err)
	}
}
