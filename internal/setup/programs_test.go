// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestThePageOfMailProgramsSaysWhatTheProgramKnows compares every row of the tables in
// docs/mail-programs.md with programs.
func TestThePageOfMailProgramsSaysWhatTheProgramKnows(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/mail-programs.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	tried := false
	for line := range strings.Lines(string(page)) {
		if after, ok := strings.CutPrefix(line, "## "); ok {
			tried = strings.HasPrefix(after, "Programs that were tried")
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[3]) == "so set" {
			continue
		}
		text := func(i int) string { return strings.NewReplacer("`", "", "*", "").Replace(strings.TrimSpace(cells[i])) }
		rows = append(rows, fmt.Sprintf("%v|%s|%s|%s", tried, text(1), text(2), text(3)))
	}
	if len(rows) != len(programs()) {
		t.Errorf("the page has %d programs, the table in programs.toml %d", len(rows), len(programs()))
	}
	for i, p := range programs()[:min(len(rows), len(programs()))] {
		if want := fmt.Sprintf("%v|%s|%s|mark = ['%s']", p.Tried, p.Title, p.Shows, p.Mark); rows[i] != want {
			t.Errorf("row %d of docs/mail-programs.md is\n%s\nand programs.toml has\n%s", i+1, rows[i], want)
		}
	}
}

func TestEveryProgramShowsTheMarkThatIsSetForIt(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for i := range programs() {
		p := &programs()[i]
		if !hasMark(p.Sees, p.Mark) && !hasMark(p.SeesWith, p.Mark) {
			t.Errorf("%s does not show %s", p.Title, p.Mark)
		}
		for _, n := range p.Names {
			if had := names[plain(n)]; had != "" {
				t.Errorf("%s and %s are both %s", had, p.Title, n)
			}
			names[plain(n)] = p.Title
		}
	}
	for _, marks := range [][]string{{"$Important"}, {`\important`}, {"$other"}} {
		if seen, _, _ := shown(marks); len(seen) != 0 {
			t.Errorf("%s is seen in %s", marks, programNames(seen))
		}
	}
	if got := WhereSeen([]string{"$x", star}); got != `$x, \Flagged is seen in every mail program that hinged knows.` {
		t.Errorf("got %s", got)
	}
	if got := WhereSeen([]string{"$label1"}); !strings.HasPrefix(got, "$label1 is seen in Thunderbird; is seen with some lines of configuration in NeoMutt, OfflineIMAP; is not seen in mutt, aerc, ") {
		t.Errorf("got %s", got)
	}
	seen, withLines, unseen := shown([]string{"$LABEL1"})
	if programNames(seen) != "Thunderbird" || programNames(withLines) != "NeoMutt, OfflineIMAP" || len(unseen) != len(programs())-3 {
		t.Errorf("got %s; %s; %s", programNames(seen), programNames(withLines), programNames(unseen))
	}
}
