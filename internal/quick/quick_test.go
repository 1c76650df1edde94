//go:build unix

package quick

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hinged/hinged/internal/passthrough"
)

func TestOnlyPlainCommandLinesGoTheShortWay(t *testing.T) {
	for _, tt := range []struct {
		args string
		want flags
	}{
		{"", flags{}},
		{"-p", flags{passthrough: true}},
		{"-pe --tempfail", flags{passthrough: true, embed: true, tempfail: true}},
		{"--passthrough --embed", flags{passthrough: true, embed: true}},
		{"-q -c a.toml -a me", flags{quiet: true, config: "a.toml", account: "me"}},
		{"--config a.toml --account=me.2_x-y", flags{config: "a.toml", account: "me.2_x-y"}},
		{"--socket /run/s --timeout 2s", flags{socket: "/run/s", timeout: 2 * time.Second}},
		{"--socket=a=b", flags{socket: "a=b"}},
	} {
		if tt.want.timeout == 0 {
			tt.want.timeout = Timeout
		}
		if got, ok := parse(strings.Fields(tt.args)); !ok || got != tt.want {
			t.Errorf("%q: got %+v, %v, want %+v", tt.args, got, ok, tt.want)
		}
	}
	for _, args := range []string{
		"-", "m.eml", "--json", "-M", "--help", "-h", "-ph", "-pq", "-c", "--config", "-cX", "-c=x", "--", "--passthrough=true", "-q -p",
		"--timeout 0s", "--timeout -1s", "--timeout soon", "--account a&b=c", "--account A", "--nonsense", "--nonsense x", "--socket s --config c",
	} {
		if got, ok := parse(strings.Fields(args)); ok {
			t.Errorf("%q: got %+v, want it left to the long way", args, got)
		}
	}
}

// serve is a daemon that reads one request and answers with fixed bytes.
func serve(t *testing.T, answer string) (socket string, request func() string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		var head, body []byte
		for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
			b := make([]byte, 1)
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			head = append(head, b...)
		}
		n := 0
		_, after, _ := strings.Cut(string(head), "Content-Length: ")
		_, _ = fmt.Sscan(after, &n)
		body = make([]byte, n)
		_, _ = io.ReadFull(c, body)
		got <- string(head) + string(body)
		_, _ = io.WriteString(c, answer)
	}()
	return socket, func() string { return <-got }
}

const body = "important\nimportant, score +1.274, threshold +0.801\nX-Hinged-Status: important; score=+1.27; threshold=0.80\nX-Hinged-Reason: a\n b\n"

var sound = fmt.Sprintf("HTTP/1.0 200 OK\r\nContent-Length: %d\r\nContent-Type: text/plain\r\n\r\n%s", len(body), body)

func TestTheShortWay(t *testing.T) {
	const raw = "X-Hinged-A: 1\r\nSubject: a\r\n\r\nb"
	for _, tt := range []struct {
		args, want string
		code       int
	}{
		{"", "-: important, score +1.274, threshold +0.801\n", 0},
		{"-q", "", 0},
		{"-p --account me", "X-Hinged-Status: important; score=+1.27; threshold=0.80\r\nX-Hinged-Reason: a\r\n b\r\nSubject: a\r\n\r\nb", 0},
	} {
		socket, request := serve(t, sound)
		var a attempt
		var out, errs bytes.Buffer
		code, done := a.try(append(strings.Fields(tt.args), "--socket", socket), strings.NewReader(raw), &out, &errs)
		if !done || code != tt.code || out.String() != tt.want || errs.Len() > 0 {
			t.Errorf("%q: got %v, exit code %d, %q and %q, want %d and %q", tt.args, done, code, out.String(), errs.String(), tt.code, tt.want)
		}
		account := ""
		if strings.Contains(tt.args, "me") {
			account = "me"
		}
		if got, want := request(), fmt.Sprintf("POST /v1/filter?account=%s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s", account, len(raw), raw); got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
}

func TestWhateverGoesWrongIsLeftToTheLongWayWithTheWholeMessage(t *testing.T) {
	long := strings.Repeat("x", maxMessage+1)
	broken := errors.New("broken")
	sockets := map[string]string{"no daemon": filepath.Join(t.TempDir(), "none"), "a socket's path is too long": "/" + strings.Repeat("x", 200)}
	for name, answer := range map[string]string{
		"no answer": "", "an error": strings.Replace(sound, "200 OK", "404 Not Found", 1), "a broken one": sound[:len(sound)-1],
		"HTTP/1.1": strings.Replace(sound, "1.0", "1.1", 1), "no HTTP": body, "another outcome": strings.ReplaceAll(sound, "important\nimportant,", "excellent\nexcellent,"),
		"too long": sound + strings.Repeat("x", 2*maxAnswer), "no length": "HTTP/1.0 200 OK\r\n\r\n" + body,
		"a field of the message's": strings.Replace(strings.Replace(sound, "X-Hinged-Reason", "Subject", 1), fmt.Sprint(len(body)), fmt.Sprint(len(body)-8), 1),
	} {
		sockets[name], _ = serve(t, answer)
	}
	deaf := filepath.Join(t.TempDir(), "deaf")
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", deaf)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sockets["a daemon that hangs"] = deaf
	for name, socket := range sockets {
		for _, raw := range []string{"Subject: a\n\nb", strings.Repeat("y", maxMessage)} {
			var a attempt
			var out, errs bytes.Buffer
			stdin := strings.NewReader(raw)
			if code, done := a.try([]string{"-p", "--socket", socket, "--timeout", "50ms"}, stdin, &out, &errs); done || out.Len()+errs.Len() > 0 {
				t.Errorf("%s: done with exit code %d, %q and %q", name, code, out.String(), errs.String())
			}
			if got, err := io.ReadAll(a.rest(stdin)); err != nil || string(got) != raw {
				t.Errorf("%s: %d bytes of the message are left, want %d (%v)", name, len(got), len(raw), err)
			}
			if a.deadline.IsZero() {
				t.Errorf("%s: the time that went by does not count", name)
			}
		}
	}
	for name, stdin := range map[string]io.Reader{
		"a long message": strings.NewReader(long), "in pieces": iotest.HalfReader(strings.NewReader(long)),
	} {
		var a attempt
		if _, done := a.try([]string{"--socket", "none"}, stdin, io.Discard, io.Discard); done || !a.deadline.IsZero() {
			t.Errorf("%s: done, or asked", name)
		}
		if got, err := io.ReadAll(a.rest(stdin)); err != nil || string(got) != long {
			t.Errorf("%s: %d bytes are left, want %d (%v)", name, len(got), len(long), err)
		}
	}
	var a attempt
	stdin := io.MultiReader(strings.NewReader("Subject"), iotest.ErrReader(broken), strings.NewReader("never"))
	if _, done := a.try([]string{"--socket", "none"}, stdin, io.Discard, io.Discard); done {
		t.Error("done with half a message")
	}
	if got, err := io.ReadAll(a.rest(stdin)); !errors.Is(err, broken) || string(got) != "Subject" {
		t.Errorf("after an error in reading: got %q, %v", got, err)
	}
	if _, done := a.try([]string{"--config", filepath.Join(t.TempDir(), "none.toml")}, stdin, io.Discard, io.Discard); done {
		t.Error("done without a configuration")
	}
	if untouched := strings.NewReader("x"); new(attempt).rest(untouched) != untouched {
		t.Error("standard input is not left alone")
	}
}

func TestAnswersThatCannotBeWrittenAreErrors(t *testing.T) {
	for args, want := range map[string]int{"": passthrough.ExitError, "-e": passthrough.ExitError, "--tempfail": passthrough.ExitAgain, "-p": passthrough.ExitAgain, "-pe": passthrough.ExitAgain} {
		socket, _ := serve(t, sound)
		full, err := os.Open(os.DevNull) // for reading only
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		code, done := new(attempt).try(append(strings.Fields(args), "--socket", socket), strings.NewReader("a"), full, &errs)
		if err := full.Close(); err != nil {
			t.Fatal(err)
		}
		if !done || code != want || !strings.HasPrefix(errs.String(), "hinged: ") {
			t.Errorf("%q: got %v, exit code %d and %q, want %d", args, done, code, errs.String(), want)
		}
	}
}
