// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

func TestLettersWithoutAnAnswerAreListedAndDone(t *testing.T) {
	t.Parallel()
	h := lived(t)
	lists := func() desk.Owed {
		t.Helper()
		o, err := desk.GetOwed.Do(t.Context(), h.daemon, "nora", desk.OwedRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	before := lists()
	if before.Owed.Total == 0 {
		t.Fatalf("nothing is owed in a lived mailbox: %+v", before)
	}
	if got := h.see("/a/nora/").text("#unanswered"); !strings.HasPrefix(got, "You owe "+strconv.Itoa(before.Owed.Total)+" ") {
		t.Errorf("the overview says %q", got)
	}
	page := h.see("/a/nora/owed")
	if got := page.text("h1"); !strings.HasPrefix(got, "You owe ") || !strings.Contains(got, "and wait for") {
		t.Errorf("the title is %q", got)
	}
	one := before.Owed.Letters[0]
	if row := page.text("tr#o-" + one.Message); !strings.Contains(row, one.Since.In(time.UTC).Format("Jan")) || !strings.Contains(row, "Done") {
		t.Errorf("its row is %q", row)
	}
	page = h.press(page, "/a/nora/owed/"+one.Message, nil)
	if got := page.text("p.say"); !strings.Contains(got, "Done, until another letter comes") {
		t.Errorf("it says %q", got)
	}
	if after := lists(); after.Owed.Total != before.Owed.Total-1 || len(page.all("tr#o-"+one.Message)) != 0 {
		t.Errorf("%d are owed, before it was %d", after.Owed.Total, before.Owed.Total)
	}
	if got := h.see("/a/nora/owed?skip=100000").text("main"); !strings.Contains(got, "No more.") {
		t.Errorf("past the end the page says %q", got)
	}
	if r := h.send(http.MethodGet, "/a/nora/owed?skip=x", nil); r.code != http.StatusOK {
		t.Errorf("with nonsense: %d", r.code)
	}
}
