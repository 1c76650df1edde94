// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestBrowserSeesWhatAPersonWould(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'")
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><html lang="en"><title>t</title><meta name="viewport" content="width=device-width"><main><h1>Hello</h1><img src="data:,"><p style="color:red">red</p></main>`)
	}))
	t.Cleanup(server.Close)
	b := StartBrowser(t, Phone)
	b.Open(server.URL)
	if got := b.Text("h1"); got != "Hello" {
		t.Errorf("the heading is %q", got)
	}
	if got := Eval[int](b, "innerWidth"); got != 390 {
		t.Errorf("a phone is %d wide", got)
	}
	b.Show(Dark)
	if !Eval[bool](b, `matchMedia("(prefers-color-scheme: dark)").matches`) {
		t.Error("it is not dark")
	}
	picture, err := png.DecodeConfig(bytes.NewReader(b.Picture()))
	if err != nil || picture.Width != 1440 {
		t.Errorf("a picture is %d wide (%v)", picture.Width, err)
	}
	if found := b.Violations(); len(found) == 0 || found[0].Rule != "image-alt" {
		t.Errorf("an image without a text: axe says %v", found)
	}
	if got := strings.Join(b.Problems(), "\n"); !strings.Contains(got, "Content Security Policy") {
		t.Errorf("an inline style: the browser says %q", got)
	}
}
