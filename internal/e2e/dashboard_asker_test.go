// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hinged/hinged/internal/testkit"
)

// askerVariable has the test's program be what asks a dashboard: see asker.
const askerVariable = "HINGED_E2E_ASKER"

// asker asks a dashboard for what BenchmarkDashboardLoad wants, in a process of its own
// that yields to all others at once: who asks is elsewhere, where the load is real. A nice
// one would not: Linux lets it end its slice while a daemon that woke up waits.
type asker struct {
	Base        string // of the dashboard's addresses, without / at the end
	Name        string // of somebody who may sign in
	Password    string
	Token       string
	Browsers    int // that watch
	Connections int // that classifications come over
	Rate        int // classifications a second

	http   *http.Client
	events atomic.Int64
}

// asked is what became of it.
type asked struct {
	Classified []float64 // seconds that each took who asked
	Events     int64     // that browsers were told of
}

// beside is a running asker.
type beside struct {
	tb  testing.TB
	cmd *exec.Cmd
	in  io.Closer // its closing ends it
	out io.Reader
}

// start starts a, which asks until end.
func (a *asker) start(tb testing.TB) *beside {
	tb.Helper()
	order, err := json.Marshal(a)
	if err != nil {
		tb.Fatal(err)
	}
	b := &beside{tb: tb, cmd: exec.Command("chrt", "--idle", "0", os.Args[0])}
	b.cmd.Env = append(os.Environ(), askerVariable+"="+string(order))
	b.cmd.Stderr = os.Stderr
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	if b.out, err = b.cmd.StdoutPipe(); err != nil {
		tb.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	return b
}

// end ends it and returns what became of what it asked.
func (b *beside) end() (got asked) {
	b.tb.Helper()
	_ = b.in.Close()
	err := json.NewDecoder(b.out).Decode(&got)
	if err = errors.Join(err, b.cmd.Wait()); err != nil {
		b.tb.Fatalf("who asks: %v", err)
	}
	return got
}

// runAsker is the process of an asker.
func runAsker(order string) (code int) {
	var a asker
	err := json.Unmarshal([]byte(order), &a)
	if err == nil {
		var got asked
		if got, err = a.run(); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(got)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// run asks until standard input ends.
func (a *asker) run() (got asked, err error) {
	if err := a.signIn(); err != nil {
		return got, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	all, ctx := errgroup.WithContext(ctx)
	for n := range a.Browsers {
		all.Go(func() error { return a.watch(ctx, []string{"/a/me/", "/a/me/messages"}[n%2]) })
	}
	var mu sync.Mutex
	for n := range a.Connections {
		all.Go(func() error {
			took, err := a.classify(ctx, n)
			mu.Lock()
			defer mu.Unlock()
			got.Classified = append(got.Classified, took...)
			return err
		})
	}
	err = all.Wait()
	got.Events = a.events.Load()
	return got, err
}

// signIn signs in as a browser does.
func (a *asker) signIn() error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	a.http = &http.Client{Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	page, err := a.page("/login")
	if err != nil {
		return err
	}
	field := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(page)
	if field == nil {
		return fmt.Errorf("no form to sign in: %s", page)
	}
	resp, err := a.http.PostForm(a.Base+"/login", url.Values{"csrf": {html.UnescapeString(field[1])}, "name": {a.Name}, "password": {a.Password}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if strings.HasSuffix(resp.Request.URL.Path, "/login") {
		return fmt.Errorf("signing in: %s", resp.Status)
	}
	return nil
}

// page gets a page.
func (a *asker) page(path string) (string, error) {
	resp, err := a.http.Get(a.Base + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, resp.Status)
	}
	return string(out), err
}

var liveAddress = regexp.MustCompile(`data-live="([^"]+)"`)

// watch reads what an open page is told, until ctx is done.
func (a *asker) watch(ctx context.Context, path string) error {
	page, err := a.page(path)
	if err != nil {
		return err
	}
	live := liveAddress.FindStringSubmatch(page)
	if live == nil {
		return fmt.Errorf("%s is not live", path)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Base+html.UnescapeString(live[1]), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := a.http.Do(r)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("watching %s: %s", path, resp.Status)
	}
	in := bufio.NewReader(resp.Body)
	for {
		line, err := in.ReadString('\n')
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watching %s: %w", path, err)
		}
		if strings.HasPrefix(line, "event:") {
			a.events.Add(1)
		}
	}
}

// classify sends messages over connection number n, until ctx is done, and returns how
// long each took.
func (a *asker) classify(ctx context.Context, n int) (took []float64, err error) {
	mail := testkit.NewMail(uint64(100 + n))
	host := strings.TrimPrefix(a.Base, "http://")
	var requests [][]byte
	for range 100 {
		m := mail.Next()
		requests = append(requests, append(fmt.Appendf(nil,
			"POST /api/v1/classify HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: message/rfc822\r\nContent-Length: %d\r\n\r\n",
			host, a.Token, len(m.Raw)), m.Raw...))
	}
	c, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	every := time.Second * time.Duration(a.Connections) / time.Duration(a.Rate)
	began := time.Now().Add(every * time.Duration(n) / time.Duration(a.Connections))
	for i := 0; ctx.Err() == nil; i++ {
		// One that was late is made up for: who sends would not wait.
		time.Sleep(time.Until(began.Add(time.Duration(i) * every)))
		sent := time.Now()
		if _, err := c.Write(requests[i%len(requests)]); err != nil {
			return took, err
		}
		if err := answered(in); err != nil {
			return took, err
		}
		took = append(took, time.Since(sent).Seconds())
	}
	return took, nil
}

// answered reads an answer, which must be a good one.
func answered(in *bufio.Reader) error {
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("classify: %s", resp.Status)
	}
	return err
}
