// SPDX-License-Identifier: Apache-2.0

package milter

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/d--j/go-milter"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// patient is far longer than anything takes on a busy machine.
const patient = time.Minute

// site is a server with accounts ann and bob of addresses at example.org.
type site struct {
	*Server
	t       *testing.T
	log     *testkit.Transcript
	mu      sync.Mutex
	decided []string // account, space, message
}

func start(t *testing.T, change func(*Options)) *site {
	t.Helper()
	s := &site{t: t, log: new(testkit.Transcript)}
	dir, err := os.MkdirTemp("", "m") //nolint:usetesting // the names of t.TempDir are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := Options{
		Socket: filepath.Join(dir, "milter.sock"),
		Log:    slog.New(slog.NewTextHandler(s.log, nil)),
		Settings: Settings{Deadline: patient, AccountOf: func(address string) string {
			name, _, _ := strings.Cut(address, "@")
			return map[string]string{"ann": "ann", "sales": "ann", "bob": "bob"}[name]
		}},
		Decide: func(_ context.Context, account string, mail []byte) (desk.Classification, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.decided = append(s.decided, account+" "+string(mail))
			return desk.Classification{Outcome: "important", Reason: "threshold", Score: 1, Threshold: 0.5}, nil
		},
	}
	if change != nil {
		change(&o)
	}
	if s.Server, err = Listen(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client returns a session of a mail server.
func (s *site) client() *milter.ClientSession {
	s.t.Helper()
	c := milter.NewClient("unix", s.o.Socket, milter.WithReadTimeout(patient), milter.WithWriteTimeout(patient))
	session, err := c.Session(milter.NewMacroBag())
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	s.greet(session)
	return session
}

// greet begins an SMTP connection.
func (s *site) greet(c *milter.ClientSession) {
	s.t.Helper()
	if _, err := c.Conn("host", milter.FamilyInet, 25, "127.0.0.1"); err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.Helo("host"); err != nil {
		s.t.Fatal(err)
	}
}

// field pairs of a message.
type fields [][2]string

// deliver sends a message and returns what is changed of it.
func deliver(t *testing.T, c *milter.ClientSession, to []string, header fields, body string) (changes []string) {
	t.Helper()
	acts, _, err := send(c, to, header, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range acts {
		changes = append(changes, fmt.Sprint(a.HeaderIndex, " ", a.HeaderName, ":", a.HeaderValue))
	}
	return changes
}

func send(c *milter.ClientSession, to []string, header fields, body string) ([]milter.ModifyAction, *milter.Action, error) {
	if _, err := c.Mail("sender@example.net", ""); err != nil {
		return nil, nil, err
	}
	for _, address := range to {
		if _, err := c.Rcpt(address, ""); err != nil {
			return nil, nil, err
		}
	}
	if _, err := c.DataStart(); err != nil {
		return nil, nil, err
	}
	for _, f := range header {
		if _, err := c.HeaderField(f[0], f[1], nil); err != nil {
			return nil, nil, err
		}
	}
	if _, err := c.HeaderEnd(); err != nil {
		return nil, nil, err
	}
	if body == "" {
		body = "\r\n"
	}
	return c.BodyReadFrom(strings.NewReader(body))
}

var (
	plain = fields{{"From", " boss@example.net"}, {"Subject", " one\n two"}}
	ours  = []string{"0 X-Hinged-Reason: nothing in it is known yet", "0 X-Hinged-Status: important; score=+1.00; threshold=0.50"}
)

func (s *site) want(what string, got, want any) {
	s.t.Helper()
	if !reflect.DeepEqual(got, want) {
		s.t.Errorf("%s: got %q, want %q\n%s", what, got, want, s.log)
	}
}

func TestAMessageOfOneAccountGetsOurFields(t *testing.T) {
	s := start(t, nil)
	c := s.client()
	s.want("changes", deliver(t, c, []string{"ann@example.org"}, plain, "Hello\r\n"), ours)
	s.want("decided by", s.decided, []string{"ann From: boss@example.net\r\nSubject: one\r\n two\r\n\r\nHello\r\n"})
	s.want("of two addresses of one account", deliver(t, c, []string{"ann@example.org", "sales@example.org"}, plain, ""), ours)
	s.want("status", s.Status().Messages, map[string]uint64{Decided: 2})
	s.want("held", s.held.Load(), int64(0))
}

// Nobody learns what another's account says, nor that there is one.
func TestAMessageOfSeveralGetsNone(t *testing.T) {
	s := start(t, nil)
	c := s.client()
	forged := append(fields{{"x-hinged-status", " important"}}, plain...)
	gone := []string{"1 x-hinged-status:"}
	for _, tt := range []struct{ to, result string }{
		{"ann@example.org bob@example.org", Several},
		{"ann@example.org carl@example.com", Several},
		{"carl@example.com ann@example.org", Several},
		{"carl@example.com dora@example.com", Nobody},
	} {
		before := s.Status().Messages[tt.result]
		s.want(tt.to, deliver(t, c, strings.Fields(tt.to), forged, "Hello\r\n"), gone)
		s.want(tt.to, s.Status().Messages[tt.result], before+1)
	}
	s.want("decided", s.decided, []string(nil))
}

func TestForgedFieldsAreTakenOut(t *testing.T) {
	s := start(t, nil)
	c := s.client()
	header := fields{{"X-Hinged-Status", " important"}, {"From", " a@example.net"}, {"X-HINGED-STATUS", " important; score=+9"}, {"X-Hinged-Other ", " x"}, {"X-Hinged-Odd\x01", " x"}, {"X-Hinge", " stays"}}
	got := deliver(t, c, []string{"ann@example.org"}, header, "X-Hinged-Status: in the body\r\n")
	s.want("number", len(got), 5)
	for i, want := range []string{"2 x-hinged-status:", "1 x-hinged-status:", "1 x-hinged-other:"} {
		if at := strings.Index(strings.Join(got, "\n"), want); at < 0 || i == 1 && at < strings.Index(strings.Join(got, "\n"), "2 x-hinged-status:") {
			t.Errorf("got %q, want %q, the last one first", got, want)
		}
	}
	s.want("our fields", got[3:], ours)
	s.want("decided by", s.decided, []string{"ann From: a@example.net\r\nX-Hinge: stays\r\n\r\nX-Hinged-Status: in the body\r\n"})
	many := make(fields, maxForged+1)
	for i := range many {
		many[i] = [2]string{"X-Hinged-Status", " important"}
	}
	s.want("of very many", len(deliver(t, c, []string{"carl@example.com"}, many, "")), maxForged)
	if !strings.Contains(s.log.String(), "more forged fields than are taken out") {
		t.Errorf("the log does not say so: %s", s.log)
	}
}

func TestWithoutADecisionAMessageIsAcceptedWithoutForgedFields(t *testing.T) {
	forged := append(fields{{"X-Hinged-Status", " important"}}, plain...)
	decide := func(c desk.Classification, err error) func(*Options) {
		return func(o *Options) {
			o.Decide = func(context.Context, string, []byte) (desk.Classification, error) { return c, err }
		}
	}
	for _, tt := range []struct {
		result string
		change func(*Options)
	}{
		{Failed, decide(desk.Classification{}, errors.New("no disk"))},
		{Nobody, decide(desk.Classification{}, fmt.Errorf("%w: ann", desk.ErrNoAccount))},
		{Failed, func(o *Options) {
			o.Decide = func(context.Context, string, []byte) (desk.Classification, error) { panic("secret plans") }
		}},
		{Late, func(o *Options) { o.budget = 10 }},
		{Late, func(o *Options) {
			o.Settings.Deadline = time.Millisecond
			o.Decide = func(ctx context.Context, _ string, _ []byte) (desk.Classification, error) {
				<-ctx.Done()
				return desk.Classification{}, ctx.Err()
			}
		}},
	} {
		t.Run(tt.result, func(t *testing.T) {
			s := start(t, tt.change)
			s.want("changes", deliver(t, s.client(), []string{"ann@example.org"}, forged, "Hello\r\n"), []string{"1 x-hinged-status:"})
			s.want("results", s.Status().Messages, map[string]uint64{tt.result: 1})
			testkit.Until(t, func() bool { return s.held.Load() == 0 }, "bytes stay held")
			if strings.Contains(s.log.String(), "secret plans") {
				t.Errorf("the log tells what was thrown: %s", s.log)
			}
		})
	}
}

// A decision that does not heed its deadline delays nothing, and the next message finds no
// room for another.
func TestADecisionThatHangsKeepsNoMailWaiting(t *testing.T) {
	release := make(chan struct{})
	s := start(t, func(o *Options) {
		o.Settings.Deadline = 10 * time.Millisecond
		o.Decide = func(context.Context, string, []byte) (desk.Classification, error) {
			<-release
			return desk.Classification{}, nil
		}
	})
	defer close(release)
	c := s.client()
	for i := range cap(s.deciding) + 1 {
		s.want(fmt.Sprint("message ", i), deliver(t, c, []string{"ann@example.org"}, plain, "Hello\r\n"), []string(nil))
	}
	s.want("results", s.Status().Messages, map[string]uint64{Late: uint64(cap(s.deciding)) + 1})
}

func TestALongMessageIsDecidedByItsBeginning(t *testing.T) {
	s := start(t, nil)
	c := s.client()
	s.want("changes", deliver(t, c, []string{"ann@example.org"}, plain, strings.Repeat("0123456789", maxMail/8)), ours)
	s.want("bytes", len(s.decided[0]), len("ann ")+maxMail)
	s.want("the next", deliver(t, c, []string{"bob@example.org"}, plain, "x"), ours)
}

func TestAMessageThatIsAbortedLeavesNothing(t *testing.T) {
	s := start(t, nil)
	c := s.client()
	if _, err := c.Mail("sender@example.net", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Rcpt("ann@example.org", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DataStart(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.HeaderField("X-Hinged-Status", " important", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Abort(nil); err != nil {
		t.Fatal(err)
	}
	s.want("changes", deliver(t, c, []string{"bob@example.org"}, plain, "x"), ours)
	if err := c.Reset(milter.NewMacroBag()); err != nil { // another client of the mail server (QUIT_NC)
		t.Fatal(err)
	}
	s.greet(c)
	s.want("of another", deliver(t, c, []string{"bob@example.org"}, plain, "x"), ours)
	gone := s.client()
	if _, err := gone.Mail("sender@example.net", ""); err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	s.settle(1)
	s.want("held", s.held.Load(), int64(0))
}

// settle waits until there are n connections.
func (s *site) settle(n int64) {
	s.t.Helper()
	for end := time.Now().Add(patient); s.connections.Load() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%d connections, want %d", s.connections.Load(), n)
		}
	}
}

func packet(code byte, data string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data)+1)), append([]byte{code}, data...)...)
}

// hello negotiates as Postfix does: all that there is.
var hello = packet('O', "\x00\x00\x00\x06\x00\x00\x01\xff\x00\x1f\xff\xff")

// dial connects and sends.
func (s *site) dial(sent ...[]byte) net.Conn {
	s.t.Helper()
	c, err := net.Dial("unix", s.o.Socket)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	_, _ = c.Write(bytes.Join(sent, nil)) // the server may have hung up
	return c
}

func TestAMailServerThatHangsFreesItsPlace(t *testing.T) {
	begun := [][]byte{hello, packet('M', "<a@example.net>\x00"), packet('R', "<ann@example.org>\x00"), packet('L', "Subject\x00 x\x00")}
	for _, tt := range []struct {
		name string
		sent [][]byte
	}{
		{"before it says anything", nil},
		{"in a length", [][]byte{{0, 0}}},
		{"after the negotiation", [][]byte{hello}},
		{"in a packet", [][]byte{hello, packet('M', "<a@example.net>\x00")[:9]}},
		{"in a message", begun},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, func(o *Options) {
				o.idle, o.patience = 300*time.Millisecond, 300*time.Millisecond
			})
			c := s.dial(tt.sent...)
			if err := c.SetReadDeadline(time.Now().Add(patient)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the server does not hang up")
			}
			s.settle(0)
			s.want("held", s.held.Load(), int64(0))
			if got := s.dial(hello); got != nil {
				var head [4]byte
				if _, err := io.ReadFull(got, head[:]); err != nil {
					t.Errorf("the next one gets no answer: %v", err)
				}
			}
		})
	}
}

// A packet a byte at a time, and a message a packet at a time, come to an end.
func TestDrippingEnds(t *testing.T) {
	s := start(t, func(o *Options) { o.idle, o.patience = 300*time.Millisecond, 30*time.Millisecond })
	for _, drip := range [][]byte{{0}, packet('L', "a\x00b\x00")} {
		c := s.dial(hello, packet('M', "<a@example.net>\x00"), packet('R', "<ann@example.org>\x00"))
		end := time.Now().Add(patient)
		for {
			if _, err := c.Write(drip); err != nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the server does not hang up")
			}
			time.Sleep(time.Millisecond) // the drip
		}
		s.settle(0)
	}
}

func TestTooManyConnectionsAreClosed(t *testing.T) {
	s := start(t, nil)
	a := s.client()
	for range maxConnections - 1 {
		s.dial(hello)
	}
	s.settle(maxConnections)
	if n, err := s.dial().Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("one too many was answered")
	}
	s.want("changes", deliver(t, a, []string{"ann@example.org"}, plain, "x"), ours)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	s.settle(maxConnections - 1)
	s.want("changes", deliver(t, s.client(), []string{"ann@example.org"}, plain, "x"), ours)
}

// garbage is what made the library panic, or make room for what never comes.
var garbage = [][]byte{
	{0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, {0x1f, 0xff, 0xff, 0xff, 'B'}, []byte("GET / HTTP/1.1\r\n\r\n"),
	packet('M', "no end"), packet('R', ""), packet('C', ""), packet('C', "host\x00"), packet('L', ""), packet('L', "a\x00b\x00c\x00"),
	packet('D', ""), packet('D', "M"), packet('D', "Cj\x00host\x00odd\x00"), packet('?', "x"), packet('O', ""), hello, packet('C', "a\x004"),
	packet('E', ""), packet('B', ""), packet('A', ""), packet('K', ""), packet('Q', ""), packet('T', ""), packet('U', ""), packet('H', ""),
}

func TestGarbageHarmsNobodyElse(t *testing.T) {
	s := start(t, nil)
	for _, g := range garbage {
		_ = s.dial(g).Close()
		_ = s.dial(hello, g, g).Close()
	}
	s.want("changes", deliver(t, s.client(), []string{"ann@example.org"}, plain, "x"), ours)
	s.settle(1) // all before were accepted before it
}

// FuzzServer sends anything behind the negotiation: the process lives, and nothing stays.
func FuzzServer(f *testing.F) {
	for _, g := range garbage {
		f.Add(g)
	}
	f.Add(bytes.Join([][]byte{
		packet('D', "M"), packet('M', "<a@example.net>\x00"), packet('R', "<ann@example.org>\x00"), packet('T', ""), packet('L', "X-Hinged-A\x00 x\x00"),
		packet('N', ""), packet('B', "x"), packet('E', ""), packet('A', ""), packet('M', "<>\x00"), packet('Q', ""),
	}, nil))
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := start(t, nil)
		c := s.dial(hello, sent)
		_ = c.(*net.UnixConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(patient))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the server does not hang up")
		}
		s.settle(0)
		if n := s.held.Load(); n != 0 {
			t.Fatalf("%d bytes are still held", n)
		}
	})
}

func TestStopEndsConnectionsAndRemovesTheSocket(t *testing.T) {
	s := start(t, nil)
	path := s.o.Socket
	_ = s.client()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket: %v, %v, want mode 0660", info, err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	// One that was left over is replaced, and no other file is.
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	o := s.o
	again, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = again // which the end of the test stops
	file := filepath.Join(t.TempDir(), "f")
	testkit.Write(t, file, "x")
	o.Socket = file
	if _, err := Listen(o); err == nil {
		t.Error("a file was replaced")
	}
}
