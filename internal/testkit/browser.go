// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Screen is what a browser shows pages on.
type Screen struct {
	Name          string
	Width, Height int64
	Dark, Phone   bool
}

// Screens of tests: those that pages are looked at on.
var (
	Light = Screen{Name: "light", Width: 1440, Height: 1000}
	Dark  = Screen{Name: "dark", Width: 1440, Height: 1000, Dark: true}
	Phone = Screen{Name: "phone", Width: 390, Height: 844, Phone: true}
)

// browserPatience bounds each of a browser's actions: it is for a page that never comes,
// and no measure of speed.
const browserPatience = 2 * time.Minute

// Browser is a real Chromium with one window. It asks nothing of any address but this
// machine's.
type Browser struct {
	tb testing.TB
	*window
}

// window is where a Browser shows pages.
type window struct {
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// StartBrowser starts a Chromium, which is ended with the test. It skips the test where
// there is none, and fails it in CI.
func StartBrowser(tb testing.TB, screen Screen) *Browser {
	tb.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		err = fmt.Errorf("no Chromium is here (Debian's package chromium): %w", err)
	}
	Need(tb, err)
	o := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(tb.TempDir()), chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
		chromedp.Flag("force-prefers-reduced-motion", true),
	)
	if os.Getuid() == 0 {
		o = append(o, chromedp.NoSandbox) // it refuses to run as root otherwise
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), o...)
	tb.Cleanup(cancel)
	b := &Browser{tb, new(window)}
	b.ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(b.note))
	tb.Cleanup(cancel)
	if _, err := chromedp.Call(b.ctx, log.Enable, cdp.Empty{}); err != nil {
		tb.Fatalf("starting Chromium: %v", err)
	}
	b.Show(screen)
	return b
}

// note gathers what the browser complains of: errors of scripts, and whatever its security
// policy refused.
func (b *window) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.problems = append(b.problems, fmt.Sprintf("%s: %s (%s)", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprintf("a script failed: %s at line %d", e.ExceptionDetails.Text, e.ExceptionDetails.LineNumber+1))
	}
}

// Problems returns what the browser complained of since the last call.
func (b *window) Problems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.problems
	b.problems = nil
	return out
}

// Do carries actions out, one after another.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.tb.Helper()
	get(b, chromedp.Steps(actions...))
}

// get carries out an action that brings something back.
func get[T any](b *Browser, action chromedp.Action[T]) T {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.tb.Fatalf("the browser: %v; it complains of %q", err, b.Problems())
	}
	return v
}

// Show changes the screen.
func (b *Browser) Show(s Screen) {
	b.tb.Helper()
	scheme, scale := "light", 1.0
	if s.Dark {
		scheme = "dark"
	}
	if s.Phone {
		scale = 2
	}
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.Width, Height: s.Height, DeviceScaleFactor: scale, Mobile: s.Phone,
	})
	if err == nil {
		_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
	}
	if err != nil {
		b.tb.Fatalf("changing the screen: %v", err)
	}
}

// Open goes to a page of this machine.
func (b *Browser) Open(address string) {
	b.tb.Helper()
	if u, err := url.Parse(address); err != nil || u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" {
		b.tb.Fatalf("%s is not on this machine", address)
	}
	b.Do(chromedp.Navigate(address))
}

// For returns the same browser for a part of a test: what fails there is that part's.
func (b *Browser) For(tb testing.TB) *Browser { return &Browser{tb: tb, window: b.window} }

// Fill types text into the field that a CSS selector names, in the place of what it has.
func (b *Browser) Fill(selector, text string) {
	b.tb.Helper()
	Eval[any](b, fmt.Sprintf("document.querySelector(%q).value = ''", selector))
	b.Do(chromedp.SendKeys(selector, text))
}

// Click clicks on the first visible element that a CSS selector names.
func (b *Browser) Click(selector string) {
	b.tb.Helper()
	b.Do(chromedp.Click(selector, chromedp.NodeVisible))
}

// Press types keys as somebody does who uses no mouse, such as "\t" and "\r".
func (b *Browser) Press(keys string) {
	b.tb.Helper()
	b.Do(chromedp.KeyEvent(keys))
}

// Scripts lets the pages' own scripts run, or not.
func (b *Browser) Scripts(run bool) {
	b.tb.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !run}); err != nil {
		b.tb.Fatal(err)
	}
}

// Leave does what leads to another page, or to the same anew, and waits for that.
func (b *Browser) Leave(do func()) {
	b.tb.Helper()
	get(b, chromedp.Evaluate[any]("window.hingedTestWasHere = true; 0"))
	do()
	b.Await("another page", "!window.hingedTestWasHere && document.readyState === 'complete'")
}

// Text returns the visible text of the first element that a CSS selector names.
func (b *Browser) Text(selector string) string {
	b.tb.Helper()
	return get(b, chromedp.Text(selector, chromedp.NodeReady))
}

// Eval evaluates a script's expression, which may be a promise, and returns its value.
func Eval[T any](b *Browser, expression string) T {
	b.tb.Helper()
	return get(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Await waits until a script's condition is true, over changes of the page.
func (b *Browser) Await(what, condition string) {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	for ; ; time.Sleep(20 * time.Millisecond) {
		// Between two pages a script has nowhere to run.
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		if err == nil && ok {
			return
		}
		if ctx.Err() != nil {
			b.tb.Fatalf("waited for %s (%s; %v); the page says:\n%s", what, condition, err, Eval[string](b, "document.body.innerText"))
		}
	}
}

// Picture returns the whole page as a PNG.
func (b *Browser) Picture() []byte {
	b.tb.Helper()
	return get(b, chromedp.FullScreenshot(100))
}

// Violation is a rule of accessibility that a page breaks.
type Violation struct {
	Rule   string   `json:"id"`
	Impact string   `json:"impact"` // minor, moderate, serious or critical
	Help   string   `json:"help"`
	Where  []string `json:"where"`
}

// Violations has axe-core look at the page, by these of its rules, or by all. The page's own
// security policy stands.
func (b *Browser) Violations(rules ...string) (found []Violation) {
	b.tb.Helper()
	path, err := axe()
	Need(b.tb, err)
	script, err := os.ReadFile(path)
	if err != nil {
		b.tb.Fatal(err)
	}
	get(b, chromedp.Evaluate[any](string(script)+"; 0"))
	options := map[string]any{"resultTypes": []string{"violations"}}
	if len(rules) > 0 {
		options["runOnly"] = rules
	}
	how, err := json.Marshal(options)
	OK(b.tb, err)
	out := Eval[string](b, `axe.run(document, `+string(how)+`).then(r => JSON.stringify(r.violations.map(v => ({
		id: v.id, impact: v.impact, help: v.help, where: v.nodes.map(n => n.target.join(" ") + ": " + n.failureSummary)}))))`)
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		b.tb.Fatal(err)
	}
	return found
}
