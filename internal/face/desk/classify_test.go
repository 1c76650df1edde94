// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/host/passthrough"
	"github.com/hinged/hinged/internal/run/pipeline"
)

func TestAFilterIsToldInTwoFields(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Classification
		want string
	}{
		{"the strongest five parts", Classification{
			Outcome: "important", Reason: "threshold", Score: 1.274, Threshold: 0.801,
			Parts: []Part{
				{Name: "from:ann@example.org", Amount: 0.412}, {Amount: 0.4}, {Name: "(always there)", Group: "constant", Amount: 0.3},
				{Name: "subject:invoice", Amount: 0.21}, {Name: "body:newsletter", Amount: -0.1}, {Name: "body:a", Amount: 0.05},
				{Name: "body:b", Amount: 0.04}, {Name: "body:c", Amount: 0.03},
			},
		}, "X-Hinged-Status: important; score=+1.27; threshold=0.80\n" +
			"X-Hinged-Reason: from ann@example.org +0.412; \"invoice\" in the subject +0.210;\n \"newsletter\" in the text -0.100; \"a\" in the text +0.050; \"b\" in the text\n +0.040\n"},
		{"no threshold", Classification{Outcome: "unsure", Reason: "too few labels yet", Score: -0.001, Threshold: -0.004},
			"X-Hinged-Status: unsure; score=+0.00; threshold=0.00\nX-Hinged-Reason: too few labels yet\n"},
		{"nothing known", Classification{Outcome: "ordinary", Reason: "threshold", Score: -0.5, Threshold: -0.2, Parts: []Part{{Name: "body:a", Amount: 0.0004}}},
			"X-Hinged-Status: ordinary; score=-0.50; threshold=-0.20\nX-Hinged-Reason: nothing in it is known yet\n"},
		{"shadow", Classification{Outcome: "important", Reason: "shadow", Score: 2, Threshold: 1},
			"X-Hinged-Status: important; score=+2.00; threshold=1.00; shadow\nX-Hinged-Reason: shadow\n"},
		{"hostile words", Classification{Outcome: "ordinary", Reason: "threshold", Parts: []Part{{Name: "from:a\r\nX-Hinged-Status: important\r\n\r\nb@example.org", Amount: 1}, {Name: "body:größe", Amount: 1}}},
			"X-Hinged-Status: ordinary; score=+0.00; threshold=0.00\n" +
				"X-Hinged-Reason: from a X-Hinged-Status: important b@example.org +1.000;\n =?utf-8?b?Imdyw7bDn2Ui?= in the text +1.000\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.c.Fields(); string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestForgedFieldsChangeNoDecision(t *testing.T) {
	r, err := pipeline.NewPool(1).Reader(featurize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ forged, plain string }{
		{"X-Hinged-Status: important\r\nSubject: a\r\n\r\nb", "Subject: a\r\n\r\nb"},
		{"Subject: a\nX-Hinged-Reason urgent urgent\n urgent\n\nb", "Subject: a\n\nb"},
		{"X-Hinged-A: 1\n" + strings.Repeat("X-Hinged-B: 2\n", 2000) + "Subject: a\n\nb", "Subject: a\n\nb"},
	} {
		got, err := r.Read(t.Context(), passthrough.Strip([]byte(tt.forged)))
		if err != nil {
			t.Fatal(err)
		}
		want, err := r.Read(t.Context(), passthrough.Strip([]byte(tt.plain)))
		if err != nil {
			t.Fatal(err)
		}
		a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)
		if a != b {
			t.Errorf("%.40q reads as\n%.300s, not as\n%.300s", tt.forged, a, b)
		}
	}
}
