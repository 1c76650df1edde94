// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hinged/hinged/docs"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/prior"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// apiWorld is the HTTP API of a daemon with the accounts ann and bob, of which ann has
// learnt something. Who asks says so in the field Who: an account, or "operator".
type apiWorld struct {
	t     *testing.T
	url   string
	check *jsonschema.Compiler
}

func startAPI(t *testing.T) *apiWorld {
	t.Helper()
	ann, bob := newScript(), newScript()
	o := options(t.TempDir(), from("ann", testOptions(), ann), from("bob", testOptions(), bob))
	o.Socket = ""
	d, _ := launch(t, o, nil)
	teach(ann)
	ann.events <- arrival(3, mail(3, "boss@example.com", "urgent thing"))
	ann.events <- arrival(4, mail(4, "news@example.net", "newsletter again"))
	await(t, "four messages", func() (any, bool) {
		s, err := desk.GetAccount.Do(t.Context(), d, "ann", desk.None{})
		testkit.OK(t, err)
		return s, s.Messages == 4
	})

	server := httptest.NewServer(control.NewAPI(control.APIOptions{
		Host: d,
		Accounts: func(r *http.Request) ([]string, bool) {
			return map[string][]string{"ann": {"ann"}, "bob": {"bob"}, "everybody": {"ann", "bob"}}[r.Header.Get("Who")], false
		},
		MayUse: func(r *http.Request, account string) bool {
			who := r.Header.Get("Who")
			return account == "" && who == "operator" || account != "" && who == account || who == "everybody"
		},
	}))
	t.Cleanup(server.Close)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(docs.OpenAPI()))
	testkit.OK(t, err)
	w := &apiWorld{t: t, url: server.URL, check: jsonschema.NewCompiler()}
	w.check.DefaultDraft(jsonschema.Draft2020)
	w.check.AssertFormat()
	testkit.OK(t, w.check.AddResource("file:///openapi.json", doc))
	return w
}

// call is one request and what is wanted of its answer.
type call struct {
	who, method, path string
	media, body       string
	status            int
	kind, says        string // of a problem
}

// do sends a request, checks the answer with what the document says of it, and returns
// its body.
func (w *apiWorld) do(c call) map[string]any {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), c.method, w.url+"/api/v1/"+c.path, strings.NewReader(c.body))
	testkit.OK(w.t, err)
	req.Header.Set("Who", c.who)
	if c.media != "" {
		req.Header.Set("Content-Type", c.media)
	}
	resp, err := http.DefaultClient.Do(req)
	testkit.OK(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	testkit.OK(w.t, err)
	at := fmt.Sprintf("%s %s as %s", c.method, c.path, c.who)
	if resp.StatusCode != c.status {
		w.t.Fatalf("%s: %s, want %d: %s", at, resp.Status, c.status, text)
	}
	if resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		w.t.Errorf("%s: the header is %v", at, resp.Header)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		w.t.Fatalf("%s: %v in %s", at, err, text)
	}
	out, _ := value.(map[string]any)
	schema := "#/components/schemas/Problem"
	if c.status == http.StatusOK {
		name, _, _ := strings.Cut(c.path, "?")
		schema = fmt.Sprintf("#/paths/~1api~1v1~1%s/%s/responses/200/content/application~1json/schema", name, strings.ToLower(c.method))
	} else if resp.Header.Get("Content-Type") != "application/problem+json" || out["kind"] != nil && out["kind"] != c.kind || out["kind"] == nil && c.kind != "" || !strings.Contains(fmt.Sprint(out["error"]), c.says) {
		w.t.Errorf("%s: %s %s, want a problem of kind %q that says %q", at, resp.Header.Get("Content-Type"), text, c.kind, c.says)
	}
	compiled, err := w.check.Compile("file:///openapi.json" + schema)
	testkit.OK(w.t, err)
	if err := compiled.Validate(value); err != nil {
		w.t.Errorf("%s: %v in %s", at, err, text)
	}
	return out
}

const (
	asJSON = "application/json"
	asMail = "message/rfc822"
	dryRun = `{"dry_run":true}`
)

func TestTheAPIAnswersAsItsDocumentSays(t *testing.T) {
	t.Parallel()
	w := startAPI(t)
	ann := func(method, path, media, body string) map[string]any {
		t.Helper()
		return w.do(call{who: "ann", method: method, path: path, media: media, body: body, status: http.StatusOK})
	}
	if c := ann("POST", "classify", asMail, string(mail(9, "boss@example.com", "urgent matter"))); c["outcome"] != "important" {
		t.Errorf("classified as %v", c)
	}
	if c := ann("POST", "classify?account=ann", "application/octet-stream", ""); c["outcome"] == nil {
		t.Errorf("an empty message: %v", c)
	}
	listed := ann("GET", "messages?outcome=important&most=5", "", "")["messages"].([]any)
	if len(listed) == 0 {
		t.Fatal("no messages are listed")
	}
	key := listed[0].(map[string]any)["message"].(string)
	if ex := ann("POST", "explain", asJSON, `{"message":{"name":"`+key+`"}}`); ex["known"] != true {
		t.Errorf("explained %v", ex)
	}
	content := base64.StdEncoding.EncodeToString(mail(10, "boss@example.com", "urgent file"))
	if ex := ann("POST", "explain", asJSON, `{"message":{"content":"`+content+`"}}`); ex["known"] != false {
		t.Errorf("explained %v", ex)
	}
	if l := ann("POST", "label", asJSON, `{"label":"ordinary","messages":[{"name":"`+key+`"},{"name":"a file","content":"`+content+`"},{"name":"nobody@x"},{"content":""}]}`); fmt.Sprint(l["learnt"]) != "3" || fmt.Sprint(l["refused"]) != "1" {
		t.Errorf("learnt %v", l)
	}
	for _, path := range []string{
		"account", "account?account=ann", "ask", "ask?most=3&since=2026-01-01T00:00:00Z", "bound", "ledger", "ledger?state=intended&most=2",
		"lessons", "messages", "messages?wrong=true&search=urgent", "trend", "trend?days=7", "words", "words?words=urgent&words=boss&most=2", "status",
	} {
		ann("GET", path, "", "")
	}
	if u := ann("POST", "undo", asJSON, `{"dry_run":true}`); u["dry_run"] != true {
		t.Errorf("undone %v", u)
	}
}

func TestTheAPISaysWhatIsWrongWithARequest(t *testing.T) {
	t.Parallel()
	w := startAPI(t)
	small := strings.Repeat(" ", 64<<10-len(dryRun)) + dryRun
	for _, c := range []call{
		{who: "ann", method: "GET", path: "nonsuch", status: 404, says: "openapi.json"},
		{who: "ann", method: "POST", path: "backup", status: 404},
		{who: "ann", method: "POST", path: "forget", status: 404},
		{who: "ann", method: "POST", path: "status", status: 405, says: "use GET"},
		{who: "ann", method: "GET", path: "label", status: 405, says: "use POST"},
		{who: "ann", method: "GET", path: "ask?nonsuch=1", status: 400, kind: "query", says: `"nonsuch"`},
		{who: "ann", method: "GET", path: "ask?most=1&most=2", status: 400, kind: "query", says: "more than once"},
		{who: "ann", method: "GET", path: "ask?most=%zz", status: 400, kind: "query"},
		{who: "ann", method: "GET", path: "ask?most=1000", status: 200},
		{who: "ann", method: "GET", path: "ask?most=1001", status: 422, kind: "invalid", says: "most"},
		{who: "ann", method: "GET", path: "ask?most=", status: 422, kind: "invalid", says: "whole number"},
		{who: "ann", method: "GET", path: "ask?since=yesterday", status: 422, kind: "invalid", says: "since"},
		{who: "ann", method: "GET", path: "messages?wrong=perhaps", status: 422, kind: "invalid", says: "true or false"},
		{who: "ann", method: "GET", path: "ledger?state=nonsuch", status: 422, kind: "invalid", says: "'confirmed'"},
		{who: "ann", method: "POST", path: "undo", media: asJSON, body: `{`, status: 400, kind: "json"},
		{who: "ann", method: "POST", path: "undo", media: asJSON, body: `{} {}`, status: 400, kind: "json"},
		{who: "ann", method: "POST", path: "undo", media: asJSON, body: `{"patience":1}`, status: 422, kind: "invalid", says: "patience"},
		{who: "ann", method: "POST", path: "undo", media: asJSON, body: `{"Dry_Run":true}`, status: 422, kind: "invalid", says: "Dry_Run"},
		{who: "ann", method: "POST", path: "undo", media: asJSON, body: `null`, status: 422, kind: "invalid"},
		{who: "ann", method: "POST", path: "undo", media: asJSON, body: small, status: 200},
		{who: "ann", method: "POST", path: "undo", media: asJSON, body: " " + small, status: 413, kind: "size", says: "65536"},
		{who: "ann", method: "POST", path: "undo", media: "application/x-www-form-urlencoded", body: `{}`, status: 415, kind: "media", says: asJSON},
		{who: "ann", method: "POST", path: "undo", body: `{}`, status: 415, kind: "media"},
		{who: "ann", method: "POST", path: "classify", media: "text/plain", body: "x", status: 415, kind: "media", says: asMail},
		{who: "ann", method: "POST", path: "label", media: asJSON, body: `{"label":"perhaps","messages":[{"name":"x"}]}`, status: 422, kind: "invalid", says: "label: value must be one of"},
		{who: "ann", method: "POST", path: "label", media: asJSON, body: `{"label":"important","messages":[]}`, status: 422, kind: "invalid", says: "messages: "},
		{who: "ann", method: "POST", path: "label", media: asJSON, body: `{"label":"important","messages":[{"content":"%"}]}`, status: 422, kind: "invalid", says: "messages.0.content: "},
		{who: "ann", method: "POST", path: "explain", media: asJSON, body: `{"message":{"name":"nonsuch@x"}}`, status: 404, kind: "message", says: "nonsuch@x"},
		{who: "ann", method: "GET", path: "words?account=bob", status: 403, kind: "forbidden"},
		{who: "ann", method: "GET", path: "words?account=nonsuch", status: 403, kind: "forbidden"}, // as if there were one
		{who: "nobody", method: "GET", path: "words", status: 403, kind: "forbidden"},
		{who: "operator", method: "GET", path: "trend?account=nonsuch", status: 404, kind: "account", says: "ann, bob"},
		{who: "operator", method: "GET", path: "bound", status: 404, kind: "account", says: "ann, bob"},
		{who: "operator", method: "GET", path: "account?account=bob", status: 200},
		{who: "operator", method: "GET", path: "account?account=kafka:x", status: 404, kind: "account"},
		{who: "operator", method: "GET", path: "words?account=bob", status: 403, kind: "forbidden"},
		{who: "operator", method: "GET", path: "messages", status: 403, kind: "forbidden"},
		{who: "everybody", method: "GET", path: "words", status: 404, kind: "account", says: "ann, bob"},
		{who: "everybody", method: "GET", path: "words?account=bob", status: 200},
	} {
		w.do(c)
	}
}

func TestTheAPIShowsOwnersTheirAccountsOnly(t *testing.T) {
	t.Parallel()
	w := startAPI(t)
	for who, want := range map[string][]string{"ann": {"ann"}, "bob": {"bob"}, "nobody": nil, "operator": {"ann", "bob"}} {
		s := w.do(call{who: who, method: "GET", path: "status", status: http.StatusOK})
		var got []string
		for _, a := range s["accounts"].([]any) {
			got = append(got, a.(map[string]any)["account"].(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s sees %q, want %q", who, got, want)
		}
		if _, there := s["pid"]; there != (who == "operator") {
			t.Errorf("%s: %v", who, s)
		}
	}
}

func TestTheAPITellsErrorsInFullOnlyThoseWhoRunTheDaemon(t *testing.T) {
	t.Parallel()
	failing := func(who string, err error) (control.Problem, int) {
		t.Helper()
		h := control.NewAPI(control.APIOptions{Host: failingHost{err: err}, Accounts: func(*http.Request) ([]string, bool) { return []string{"ann"}, false },
			MayUse: func(_ *http.Request, account string) bool { return who == "operator" || account == who }})
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/account", nil))
		var p control.Problem
		testkit.OK(t, json.Unmarshal(answer.Body.Bytes(), &p))
		return p, answer.Code
	}
	unknown := errors.New("reading /var/lib/hinged/secret: refused")
	stopped := fmt.Errorf("account ann: %w: open /var/lib/hinged/secret", desk.ErrStopped)
	for _, tt := range []struct {
		who   string
		err   error
		code  int
		shown bool
	}{
		{"ann", unknown, 500, false},
		{"operator", unknown, 500, true},
		{"ann", stopped, 503, false},
		{"operator", stopped, 503, true},
		{"ann", fmt.Errorf("%w: x", desk.ErrNoMessage), 404, false},
	} {
		p, code := failing(tt.who, tt.err)
		if code != tt.code || strings.Contains(p.Error, "/var/lib") != tt.shown || p.Error == "" {
			t.Errorf("%v for %s: %d %+v", tt.err, tt.who, code, p)
		}
	}
	if p, code := failing("ann", nil); code != 500 || strings.Contains(p.Error, "on purpose") {
		t.Errorf("after a panic: %d %+v", code, p)
	}
}

// failingHost has no account but an error, or panics.
type failingHost struct {
	desk.Host
	err error
}

func (h failingHost) Account(context.Context, string) (desk.Account, error) {
	if h.err == nil {
		panic("on purpose")
	}
	return nil, h.err
}

// What is not known to be of a certain size is read up to the limit and no further.
func TestABodyOfUnknownSizeIsReadUpToTheLimit(t *testing.T) {
	t.Parallel()
	w := startAPI(t)
	for size, want := range map[int]int{64 << 10: 200, 64<<10 + 1: 413} {
		body := io.MultiReader(strings.NewReader(strings.Repeat(" ", size-len(dryRun))), strings.NewReader(dryRun)) // no length is known
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/api/v1/undo", body)
		testkit.OK(t, err)
		req.Header.Set("Who", "ann")
		req.Header.Set("Content-Type", asJSON)
		resp, err := http.DefaultClient.Do(req)
		testkit.OK(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes: %s, want %d", size, resp.Status, want)
		}
	}
}

// A filter that is a line of curl gets the message with the fields.
func TestTheFilterRouteAnswersWithTheMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, stop := start(t, dir, newScript())
	socket := filepath.Join(dir, "s")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	web := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	ask := func(account, raw string) (status int, answer string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://hinged/api/v1/filter?account="+account, strings.NewReader(raw))
		testkit.OK(t, err)
		got, err := web.Do(r)
		testkit.OK(t, err)
		defer got.Body.Close()
		body, err := io.ReadAll(got.Body)
		testkit.OK(t, err)
		return got.StatusCode, string(body)
	}
	c := must(t, dialled(t, dir), desk.Classify, desk.ClassifyRequest{Mail: []byte("Subject: a\n\nb")})
	want := string(c.Fields()) + "Subject: a\n\nb"
	if !strings.Contains(want, "X-Hinged-Reason: "+store.ReasonTooFewLabels.String()) {
		t.Errorf("the fields are %q", c.Fields())
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if status, got := ask("", "X-Hinged-Status: important\nSubject: a\n\nb"); status != http.StatusOK || got != want {
				t.Errorf("got %d, %q, want %q", status, got, want)
			}
		})
	}
	wg.Wait()
	if status, got := ask("nobody", "Subject: a\n\nb"); status != http.StatusInternalServerError || !strings.Contains(got, "no such account") {
		t.Errorf("for nobody: got %d, %q", status, got)
	}

	// Who sends half a message does not keep the daemon from stopping.
	half, err := dial(t.Context(), "", "")
	testkit.OK(t, err)
	defer half.Close()
	if _, err := io.WriteString(half, "POST /api/v1/filter HTTP/1.1\r\nHost: hinged\r\nContent-Length: 5\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	stop()
}

// The API's page has a message, and what a new account answers about it.
func TestTheAPIPagePrintsTheAnswerOfANewAccount(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/api.md")
	testkit.OK(t, err)
	example := regexp.MustCompile("(?s)<<'END'\n(.*?)END\n.*?```json\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no message and no answer")
	}
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{"me@example.org"}
	d, stop := primed(t, t.TempDir(), o, prior.Default().Pack())
	defer stop()
	got := must(t, d, desk.Classify, desk.ClassifyRequest{Mail: example[1]})
	want := desk.Classification{Defects: got.Defects, Parts: got.Parts}
	if err := json.Unmarshal(example[2], &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a new account answers %+v, the page says %+v (%v)", got, want, err)
	}
}
