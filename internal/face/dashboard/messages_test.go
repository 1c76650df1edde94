// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/demo"
)

// lived is a home in which mail has come for some days.
func lived(t *testing.T) *home {
	t.Helper()
	h := newHome(t, homeOptions())
	h.live(demo.NewPlan(1, homeStart.AddDate(0, 0, demo.HistoryDays+1), 0, 0).History)
	return h
}

// list asks the desk.
func (h *home) list(q desk.MessagesRequest) desk.Messages {
	h.t.Helper()
	l, err := desk.GetMessages.Do(h.t.Context(), h.daemon, "nora", q)
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

func TestMessagesShowsWhatTheDeskSays(t *testing.T) {
	t.Parallel()
	h := lived(t)
	l := h.list(desk.MessagesRequest{})
	page := h.see("/a/nora/messages")
	want := fmt.Sprintf("All %d Important %d Unsure %d Ordinary %d Wrong %d", l.Important+l.Unsure+l.Ordinary, l.Important, l.Unsure, l.Ordinary, l.Wrong)
	if got := page.text("nav.tabs"); got != want || l.Important*l.Unsure*l.Ordinary*l.Wrong == 0 {
		t.Errorf("the tabs say %s, want %s", got, want)
	}
	if n := len(page.all("li.is-important")) + len(page.all("li.is-unsure")) + len(page.all("li.is-ordinary")); n != len(l.Messages) {
		t.Errorf("%d rows for %d messages", n, len(l.Messages))
	}
	for _, m := range l.Messages {
		row := page.text("li#m-" + m.Message)
		for _, want := range []string{m.Arrived.Format("15:04"), plot.Signed(m.Score)} {
			if !strings.Contains(row, want) {
				t.Errorf("the row of %s lacks %s: %s", m.Message, want, row)
			}
		}
		if got := attr(page.all("li#m-" + m.Message)[0], "class"); got != "is-"+m.Outcome {
			t.Errorf("the row of %s is of the class %s, want is-%s", m.Message, got, m.Outcome)
		}
		if got := strings.Contains(row, "Wrong "); got != m.Wrong {
			t.Errorf("the row of %s calls it wrong: %v, want %v", m.Message, got, m.Wrong)
		}
	}
	// What is at the top of each day is what the trend says of the day.
	trend, err := desk.GetTrend.Do(t.Context(), h.daemon, "nora", desk.TrendRequest{})
	if err != nil {
		t.Fatal(err)
	}
	last := trend.Days[len(trend.Days)-1]
	if want := fmt.Sprintf("Today %d decided, %d marked", last.Decided, last.Marked); !strings.HasPrefix(page.text("h2.day"), want) {
		t.Errorf("the days are %s, want first %s", page.text("h2.day"), want)
	}
}

func TestMessagesAreFilteredSearchedAndPaged(t *testing.T) {
	t.Parallel()
	h := lived(t)
	counts := map[string]int{}
	for _, show := range []string{"", "important", "unsure", "ordinary", "wrong"} {
		seen := map[string]bool{}
		for to := "/a/nora/messages?show=" + show; to != ""; {
			page := h.see(to)
			to = ""
			for _, n := range page.all("li") {
				if key, ok := strings.CutPrefix(attr(n, "id"), "m-"); ok {
					if seen[key] {
						t.Errorf("%s is there twice", key)
					}
					seen[key] = true
				}
			}
			for _, a := range page.all("a") {
				if words(a) == "Earlier messages" {
					to = attr(a, "href")
				}
			}
		}
		counts[show] = len(seen)
	}
	l := h.list(desk.MessagesRequest{})
	if counts["important"] != l.Important || counts["unsure"] != l.Unsure || counts["ordinary"] != l.Ordinary || counts["wrong"] != l.Wrong || counts[""] != l.Important+l.Unsure+l.Ordinary {
		t.Errorf("the pages have %v, the desk says %d, %d, %d and %d", counts, l.Important, l.Unsure, l.Ordinary, l.Wrong)
	}
	if got := h.see("/a/nora/messages?q=larkfield").text("ol.msgs"); !strings.Contains(got, "Larkfield") {
		t.Errorf("the search finds %q", got)
	}
	if got := h.see("/a/nora/messages?q=%3Cscript%3Enowhere").text("main"); !strings.Contains(got, "No message matches “<script>nowhere”.") {
		t.Errorf("a search in vain says %s", got)
	}
	if got := h.see("/a/nora/messages?below=x&show=y").text("nav.tabs"); !strings.HasPrefix(got, "All ") {
		t.Errorf("with nonsense asked for it says %s", got)
	}
}

func TestNoMessagesYet(t *testing.T) {
	t.Parallel()
	h := newHome(t, homeOptions())
	if got := h.see("/a/nora/messages").text("main"); !strings.Contains(got, "Nothing has arrived yet.") {
		t.Errorf("got %s", got)
	}
	if r := h.send(http.MethodGet, "/a/nora/messages/"+strings.Repeat("0", 32), nil); r.code != http.StatusNotFound {
		t.Errorf("a message that there is not: %d", r.code)
	}
	if r := h.send(http.MethodGet, "/a/nora/messages/xyz", nil); r.code != http.StatusNotFound {
		t.Errorf("what is no key: %d", r.code)
	}
}

var moved = regexp.MustCompile(`You said (important|ordinary): (\S+) → (\S+)\.`)

func TestAnAnswerCountsAtOnceAndCanBeTakenBack(t *testing.T) {
	t.Parallel()
	h := lived(t)
	m := h.list(desk.MessagesRequest{Outcome: "important"}).Messages[0]
	action := "/a/nora/messages/" + m.Message + "/feedback"
	before := h.status("it", func(desk.AccountStatus) bool { return true })
	page := h.see("/a/nora/messages")
	page = h.press(page, action, url.Values{"say": {"ordinary"}})
	if want := "/a/nora/messages#m-" + m.Message; page.to != want {
		t.Errorf("led back to %s, want %s", page.to, want)
	}
	done := page.text("p.done")
	said := moved.FindStringSubmatch(done)
	now := h.list(desk.MessagesRequest{Search: m.Message}).Messages[0]
	if said == nil || said[1] != "ordinary" || said[3] != plot.Signed(now.Score) || now.Label != "ordinary" || now.Source != "explicit" {
		t.Fatalf("it says %q; the message is %+v", done, now)
	}
	if m.Marked && !strings.Contains(done, "Hinged takes its mark off.") {
		t.Errorf("of the mark it says %q", done)
	}
	if a := h.status("the lesson", func(desk.AccountStatus) bool { return true }); a.Ordinary != before.Ordinary+1 {
		t.Errorf("%d ordinary lessons, %d before", a.Ordinary, before.Ordinary)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.base+"/a/nora/messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Live", "1") // as live.js does, because something was learnt
	resp, err := h.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	reloaded, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || !strings.Contains(string(reloaded), "You said ordinary") {
		t.Errorf("the page that loads itself anew has lost it: %v", err)
	}
	if again := h.see("/a/nora/messages"); strings.Contains(again.text("main"), "You said ordinary") {
		t.Error("what came of it is told twice")
	}
	page = h.press(page, action, url.Values{"say": {"ordinary"}})
	if got := page.text("p.done"); !strings.Contains(got, "You had said ordinary before.") {
		t.Errorf("said twice: %q", got)
	}
	page = h.press(page, action, url.Values{"say": {"important"}})
	if back := h.list(desk.MessagesRequest{Search: m.Message}).Messages[0]; back.Label != "important" || !(back.Score > now.Score) {
		t.Errorf("taken back: %+v", back)
	}
	pressed := map[string]string{}
	for _, f := range page.all("form") {
		if attr(f, "action") == action {
			for b := range f.Descendants() {
				if b.Data == "button" {
					pressed[attr(b, "value")] = attr(b, "aria-pressed")
				}
			}
		}
	}
	if pressed["important"] != "true" || pressed["ordinary"] != "false" {
		t.Errorf("pressed: %v", pressed)
	}
	for _, say := range []string{"", "maybe"} {
		form := page.form(action)
		form.Set("say", say)
		if r := h.send(http.MethodPost, action, form); r.code != http.StatusNotFound {
			t.Errorf("the answer %q: %d", say, r.code)
		}
	}
	if r := h.send(http.MethodPost, action, url.Values{"say": {"ordinary"}}); r.code != http.StatusForbidden {
		t.Errorf("a form from elsewhere: %d", r.code)
	}
}

// Subjects and names come from anybody.
func TestHostileMailIsShownAsText(t *testing.T) {
	t.Parallel()
	h := lived(t)
	for n, heading := range []string{
		"Subject: <script>alert(1)</script>\"'><img src=x onerror=alert(2)>\r\nFrom: \"<b>Ada</b> \\\" onmouseover=x\" <ada@x.example>\r\n",
		"Subject: =?utf-8?B?4oCuZGVzcmV2ZXIg4oGmIGlzIHRoaXM=?=\r\nFrom: =?utf-8?B?4oCubmFt?= <bidi@x.example>\r\n",
		"Subject: " + strings.Repeat("very long ", 1000) + "\r\nFrom: long@x.example\r\n",
		"Subject: {{.P.CSRF}} ${x} javascript:alert(1)\r\nFrom: tmpl@x.example\r\n",
		"From: nothing@x.example\r\n",
	} {
		h.arrive(fmt.Appendf(nil, "%sTo: %s\r\nMessage-ID: <hostile%d@x>\r\n\r\n<script>alert(3)</script> \"words\" and more.\r\n", heading, demo.OwnerAddress, n), h.clock().Add(time.Minute))
	}
	list := h.list(desk.MessagesRequest{Most: 5})
	paths := []string{"/a/nora/messages", "/a/nora/ask", "/a/nora/ledger", "/a/nora/words?q=%3Cscript%3E%22"}
	for _, m := range list.Messages {
		paths = append(paths, "/a/nora/messages/"+m.Message)
	}
	for _, path := range paths {
		page := h.see(path)
		for _, bad := range []string{"<script>alert", "<img", "<b>Ada", "\u202e", "\u2066"} {
			if strings.Contains(page.body, bad) {
				t.Errorf("%s contains %q", path, bad)
			}
		}
	}
	if got := h.see("/a/nora/messages").text("main"); !strings.Contains(got, "<script>alert(1)</script>") || !strings.Contains(got, "desrever is this") {
		t.Errorf("subjects are not shown as they are: %s", got[:min(len(got), 2000)])
	}
	if got := h.see("/a/nora/messages/" + list.Messages[2].Message).text("h1"); len([]rune(got)) > 302 || !strings.HasSuffix(got, "…") {
		t.Errorf("a long subject is shown in %d characters", len([]rune(got)))
	}
}

func TestWithoutTheMailServerKeptWordsAreShown(t *testing.T) {
	t.Parallel()
	h := lived(t)
	h.mu.Lock()
	h.away = true
	h.mu.Unlock()
	m := h.list(desk.MessagesRequest{}).Messages[0]
	page := h.see("/a/nora/messages")
	if got := page.text("main"); !strings.Contains(got, "Subjects are missing here") || !strings.Contains(got, "("+strings.Join(m.Subject, " ")) {
		t.Errorf("got %s", got)
	}
}
