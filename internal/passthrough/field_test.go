package passthrough

import (
	"mime"
	"net/mail"
	"strings"
	"testing"
)

func TestFieldsAreFoldedASCII(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"short", "too few lessons", "X-Hinged-Reason: too few lessons\n"},
		{"nothing", "", "X-Hinged-Reason:\n"},
		{"folded", strings.Repeat("sixteen letters ", 6), "X-Hinged-Reason: sixteen letters sixteen letters sixteen letters sixteen\n letters sixteen letters sixteen letters\n"},
		{"line ends are spaces", "a\r\nX-Hinged-Status: important\n\nb\x00c", "X-Hinged-Reason: a X-Hinged-Status: important b c\n"},
		{"encoded", "\"grün\" +0.2", "X-Hinged-Reason: =?utf-8?b?Imdyw7xuIg==?= +0.2\n"},
		{"what looks encoded", "=?utf-8?q?a=0Ab?=", "X-Hinged-Reason: =?utf-8?b?PT91dGYtOD9xP2E9MEFiPz0=?=\n"},
		{"broken UTF-8", "a\xff\xfeb", "X-Hinged-Reason: a b\n"},
		{"long", strings.Repeat("x", 500) + " y", "X-Hinged-Reason: " + strings.Repeat("x", 57) + "...\n y\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := string(AppendField(nil, "X-Hinged-Reason", tt.text))
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func FuzzField(f *testing.F) {
	f.Add("grün 漢字 \r\nA: b =?utf-8?q?=0A?= " + strings.Repeat("漢", 100))
	f.Add(strings.Repeat("word ", 400))
	f.Fuzz(func(t *testing.T, text string) {
		field := AppendField(nil, "X-Hinged-Reason", text)
		if len(field) > maxField+maxLine || !wellFormed(field) {
			t.Fatalf("%q: got %q", text, field)
		}
		m, err := mail.ReadMessage(strings.NewReader(string(field) + "B: 1\n\nbody"))
		if err != nil || len(m.Header) != 2 || len(m.Header["X-Hinged-Reason"]) != 1 || m.Header.Get("B") != "1" {
			t.Fatalf("%q: a message with %q has the header %v, %v", text, field, m.Header, err)
		}
		plain, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("X-Hinged-Reason"))
		if err != nil || strings.ContainsAny(plain, "\r\n\x00") {
			t.Fatalf("%q: %q reads as %q, %v", text, field, plain, err)
		}
	})
}

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
