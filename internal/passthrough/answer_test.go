package passthrough

import (
	"strings"
	"testing"
)

func TestAnswersComeBackAsTheyWere(t *testing.T) {
	a := Answer{"important", "important, score +1.274, threshold +0.801", []byte("X-Hinged-Status: important; score=+1.27\nX-Hinged-Reason: a\n b\n")}
	got, err := Decode(a.Encode())
	if err != nil || got.Outcome != a.Outcome || got.Verdict != a.Verdict || string(got.Fields) != string(a.Fields) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := Decode([]byte("unsure\n\n")); err != nil || got.Outcome != "unsure" {
		t.Errorf("without fields: got %+v, %v", got, err)
	}
	for _, bad := range []string{
		"", "important", "important\n", "great\nx\n", "important\nx\nSubject: a\n", "important\nx\n\n", "important\nx\n folded\n",
		"important\nx\nX-Hinged-A: 1", "important\nx\nX-Hinged-A: 1\n\n", "important\nx\nX-Hinged-A: 1\n \n", "important\nx\nX-Hinged-A: 1\r\n",
		"important\nx\nX-Hinged-A: \xff\n", "important\nx\nX-Hinged-A\n", "important\nx\nX-Hinged-A: 1\nB: 2\n", "important\nx\nX-Hinged-A: " + strings.Repeat("x", 80) + "\n",
	} {
		if got, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
}

func TestExitCodesAreThoseOfBogofilter(t *testing.T) {
	for outcome, want := range map[string]int{"important": 0, "ordinary": 1, "unsure": 2} {
		if got := ExitCode(outcome, false); got != want {
			t.Errorf("%s: got %d, want %d", outcome, got, want)
		}
		if got := ExitCode(outcome, true); got != 0 {
			t.Errorf("%s, embedded: got %d, want 0", outcome, got)
		}
	}
}
