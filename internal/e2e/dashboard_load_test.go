// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// The load of BenchmarkDashboardLoad.
var (
	loadSeconds  = testkit.FromEnv("HINGED_LOAD_SECONDS", 6) // of each phase, with the load and without
	loadRounds   = testkit.FromEnv("HINGED_LOAD_ROUNDS", 10)
	loadBrowsers = testkit.FromEnv("HINGED_LOAD_BROWSERS", 50)
	loadRate     = testkit.FromEnv("HINGED_LOAD_RATE", 1000) // classifications a second
)

const (
	loadLessons     = 1500 // that the account has learnt
	loadArrivals    = 4    // messages a second, with and without the load
	loadConnections = 8    // that classifications come over
	warmUp          = 2 * time.Second
)

// BenchmarkDashboardLoad measures what browsers that watch and programs that classify
// cost the mail that arrives meanwhile: 50 browsers and 1,000 classifications a second for
// a minute, in ten parts, with as long without them before or after. The ratios are the medians of
// those of each round, since a neighbour on the machine disturbs one round and not the
// next. The mail server is one in this process that tells of news at once, so that the
// time from a message's arrival there to its committed decision is the daemon's. Run with
// -benchtime 1x.
func BenchmarkDashboardLoad(b *testing.B) {
	for range b.N {
		l := newLoad(b)
		var quiet, loaded []phase
		for n := range loadRounds {
			first := l.run(loadSeconds, n%2 == 1) // in turns, should one that comes later be slower
			second := l.run(loadSeconds, n%2 == 0)
			if n%2 == 1 {
				first, second = second, first
			}
			quiet, loaded = append(quiet, first), append(loaded, second)
		}
		l.site.end()
		decided := l.decided()
		for i := range quiet {
			quiet[i].wait(b, decided)
			loaded[i].wait(b, decided)
		}
		report := func(unit string, of func(phase) float64) {
			q, w := each(quiet, of), each(loaded, of)
			b.ReportMetric(median(q), unit+"-quiet")
			b.ReportMetric(median(w), unit+"-loaded")
			b.ReportMetric(median(ratios(w, q)), unit+"-ratio")
		}
		report("ms-decided", func(p phase) float64 { return median(p.waits) * 1000 })
		report("µs-read-and-judged", func(p phase) float64 { return p.took / float64(p.scored) * 1e6 })
		b.ReportMetric(median(each(loaded, func(p phase) float64 { return p.rate })), "classified/s")
		b.ReportMetric(median(each(loaded, func(p phase) float64 { return median(p.asked.Classified) * 1000 })), "ms-classify")
		b.ReportMetric(mean(each(loaded, func(p phase) float64 { return float64(p.asked.Events) })), "events")
		// What teaching took is given back by the middle.
		first, last := loaded[len(loaded)/2].before, loaded[len(loaded)-1].after
		b.ReportMetric(float64(first)/(1<<20), "MiB-middle")
		b.ReportMetric(float64(last)/(1<<20), "MiB-end")
		b.ReportMetric(0, "ns/op")
		if last > first*3/2 {
			b.Errorf("the daemon grew from %d to %d bytes", first, last)
		}
	}
}

func each(phases []phase, of func(phase) float64) (out []float64) {
	for _, p := range phases {
		out = append(out, of(p))
	}
	return out
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}

// phase is what was measured in some seconds.
type phase struct {
	arrived       []arrival
	waits         []float64 // seconds from a message's arrival to its decision
	took          float64   // seconds, the daemon's own measure of reading and deciding
	scored        int
	asked         asked
	rate          float64 // classifications a second
	before, after uint64  // bytes of memory that the daemon has
}

// load is a daemon with a dashboard, and what asks something of it.
type load struct {
	*testing.B
	site   *site
	mail   *testkit.Provider
	letter *testkit.Mail
	base   string // of the dashboard's addresses, without / at the end
	n      int    // messages that arrived
}

func newLoad(b *testing.B) *load {
	b.Helper()
	l := &load{B: b, mail: testkit.StartGmail(b), letter: testkit.NewMail(15)}
	l.site = siteFor(b, l.mail.Login, b.TempDir(), "debug", quick, "tls = \"none\"\nauth = \"xoauth2\"")
	l.base = "http://" + l.site.withDashboard("", "")
	l.site.start()
	l.site.until("the mailbox open", func(a desk.AccountStatus) bool { return a.Connected && len(a.Mailboxes) >= 4 })
	l.teach()
	return l
}

// teach teaches the account by the API.
func (l *load) teach() {
	l.Helper()
	labels := map[bool][]desk.Message{}
	for range loadLessons {
		m := l.letter.Next()
		labels[m.Important] = append(labels[m.Important], desk.Message{Content: &m.Raw})
	}
	for important, messages := range labels {
		label := "ordinary"
		if important {
			label = "important"
		}
		for part := range slices.Chunk(messages, 500) {
			body, err := json.Marshal(desk.LabelRequest{Label: label, Messages: part})
			if err != nil {
				l.Fatal(err)
			}
			l.api(ownersToken, "POST", "/api/v1/label", "application/json", body)
		}
	}
}

// api asks the API with a token.
func (l *load) api(token, method, path, kind string, body []byte) []byte {
	l.Helper()
	r, err := http.NewRequest(method, l.base+path, bytes.NewReader(body))
	if err != nil {
		l.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		l.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		l.Fatalf("%s: %s %v\n%.500s", path, resp.Status, err, out)
	}
	return out
}

// begin begins to ask.
func (l *load) begin() *beside {
	l.Helper()
	a := &asker{Base: l.base, Name: "me", Password: householdPassword, Token: ownersToken, Browsers: loadBrowsers, Connections: loadConnections, Rate: loadRate}
	return a.start(l.B)
}

// run has mail arrive for some seconds, with the load beside it or without.
func (l *load) run(seconds int, loaded bool) (p phase) {
	l.Helper()
	pid := l.site.cmd.Process.Pid
	l.mail.Empty("INBOX") // the mail server takes the longer, the more it has
	var beside *beside
	if loaded {
		beside = l.begin()
	}
	time.Sleep(warmUp) // it has grown as much as it will
	p.before = memoryOf(l.B, pid, "VmRSS:")
	took, scored := l.scored()
	began := time.Now()
	p.arrived = l.arrive(time.Duration(seconds) * time.Second)
	p.after = memoryOf(l.B, pid, "VmRSS:")
	t, n := l.scored()
	p.took, p.scored = t-took, n-scored
	if loaded {
		p.asked = beside.end()
		p.rate = float64(len(p.asked.Classified)) / (time.Since(began) + warmUp).Seconds()
	}
	return p
}

// arrival is a message that came, by what the log calls it.
type arrival struct {
	message string
	at      time.Time
}

// arrive has mail arrive for a while, and waits until it is decided.
func (l *load) arrive(d time.Duration) (arrived []arrival) {
	l.Helper()
	began := time.Now()
	for i := 0; time.Since(began) < d; i++ {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / loadArrivals)))
		m := l.letter.Next()
		key, err := desk.KeyOf(m.Raw, len(m.Raw))
		if err != nil {
			l.Fatal(err)
		}
		arrived = append(arrived, arrival{key[:8], time.Now()})
		l.mail.Deliver(m.Raw, time.Now(), "", "INBOX")
		l.n++
	}
	l.site.until("all decided", func(a desk.AccountStatus) bool { return a.Decided >= uint64(l.n) })
	return arrived
}

var decidedLine = regexp.MustCompile(`(?m)^time=(\S+) .*msg=decided .*message=([0-9a-f]{8})`)

// decided returns when each message was decided, by the daemon's log, which is written
// once a decision is committed. The daemon has ended.
func (l *load) decided() map[string]time.Time {
	l.Helper()
	out := map[string]time.Time{}
	for _, line := range decidedLine.FindAllStringSubmatch(l.site.log.String(), -1) {
		at, err := time.Parse(time.RFC3339, line[1])
		if err != nil {
			l.Fatal(err)
		}
		out[line[2]] = at.Add(time.Millisecond / 2) // the log has whole milliseconds
	}
	return out
}

// wait works out how long each message waited.
func (p *phase) wait(b *testing.B, decided map[string]time.Time) {
	b.Helper()
	for _, a := range p.arrived {
		at, ok := decided[a.message]
		if !ok {
			b.Fatalf("message %s was never decided", a.message)
		}
		p.waits = append(p.waits, at.Sub(a.at).Seconds())
	}
}

var scoredLine = regexp.MustCompile(`(?m)^hinged_score_duration_seconds_(sum|count)\S* (\S+)$`)

// scored returns how long the daemon says it took over how many messages.
func (l *load) scored() (seconds float64, n int) {
	l.Helper()
	for _, line := range scoredLine.FindAllStringSubmatch(string(l.api(operatorsToken, "GET", "/metrics", "", nil)), -1) {
		v, err := strconv.ParseFloat(line[2], 64)
		if err != nil {
			l.Fatal(err)
		}
		if line[1] == "sum" {
			seconds += v
		} else {
			n += int(v)
		}
	}
	return seconds, n
}
