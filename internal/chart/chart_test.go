// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample(log bool) Chart {
	return Chart{
		Title: "two learners", X: "examples (number)", Y: "mistakes (number)", Counts: "mistakes", Limits: "at most", Log: log,
		Lines: []Line{
			{Name: "first", Counts: []Point{{0, 0}, {1, 1}, {50, 20}, {12_000, 300}}, Limits: []Point{{1, 1}, {12_000, 900}}},
			{Name: "second <&>", Counts: []Point{{1, 1}, {12_000, 500}}},
		},
	}
}

// TestPicturesAreWhatTheySay: an SVG is XML that has every word of legend, axes and
// title; a PNG is one, of the stated size, with the colour of every line in it.
func TestPicturesAreWhatTheySay(t *testing.T) {
	for _, log := range []bool{false, true} {
		var b bytes.Buffer
		if err := sample(log).Write(&b, SVG); err != nil {
			t.Fatal(err)
		}
		var words []string
		for d := xml.NewDecoder(&b); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := token.(xml.CharData); ok {
				words = append(words, strings.TrimSpace(string(text)))
			}
		}
		all := strings.Join(words, "|")
		for _, want := range []string{"two learners", "examples (number)", "mistakes (number)", "|mistakes|", "at most", "first", "second <&>", "10,000"} {
			if !strings.Contains(all, want) {
				t.Errorf("log %v: %q is not in %s", log, want, all)
			}
		}
		if log {
			continue // drawing dots takes its time under the race detector
		}
		if err := sample(log).Write(&b, PNG); err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if size := picture.Bounds().Size(); math.Abs(float64(size.X)-24/2.54*dotsPerInch) > 2 || math.Abs(float64(size.Y)-14/2.54*dotsPerInch) > 2 {
			t.Errorf("the picture has %v dots", size)
		}
		seen := map[color.RGBA]int{}
		for x := 0; x < picture.Bounds().Dx(); x += 3 {
			for y := 0; y < picture.Bounds().Dy(); y += 3 {
				if c, ok := color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA); ok {
					seen[c]++
				}
			}
		}
		for i := range 2 {
			if seen[colours[i]] < 40 {
				t.Errorf("log %v: %d dots have the colour of line %d", log, seen[colours[i]], i)
			}
		}
	}
}

// TestASecondPictureIsTheFirst: the same chart gives the same bytes.
func TestASecondPictureIsTheFirst(t *testing.T) {
	var a, b bytes.Buffer
	if err := errors.Join(sample(false).Write(&a, SVG), sample(false).Write(&b, SVG)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two pictures of one chart differ")
	}
}

func TestWhatCannotBeDrawnLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]Chart{
		"empty.svg": {},
		"none.png":  {Lines: []Line{{Name: "nothing"}}},
		"nan.svg":   {Lines: []Line{{Name: "no number", Counts: []Point{{0, math.NaN()}}}}},
	} {
		if err := c.Save(filepath.Join(dir, name)); !errors.Is(err, ErrChart) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sample(false).Save(filepath.Join(dir, "picture.pdf")); !errors.Is(err, ErrChart) || !strings.Contains(err.Error(), "ends in .svg or .png") {
		t.Errorf("a PDF: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := sample(false).Save(filepath.Join(dir, "a.PNG")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "a.PNG" {
		t.Errorf("after a picture was saved there are %v, %v", left, err)
	}
}

func TestTicksAreRoundAndFew(t *testing.T) {
	for _, high := range []float64{1, 3, 7, 10, 44, 99, 1000, 16_590, 7e5} {
		got := ticks(0, high)
		if len(got) < 4 || len(got) > 11 || got[0].Value != 0 || got[len(got)-1].Value > high {
			t.Errorf("0 to %v: %v", high, got)
		}
	}
	var labels []string
	minor := 0
	for _, tick := range logTicks(0, math.Log10(5000)) {
		if tick.Value < 0 || tick.Value > math.Log10(5000) {
			t.Errorf("%v lies outside", tick)
		}
		if tick.Label == "" {
			minor++
		} else {
			labels = append(labels, tick.Label)
		}
	}
	if got := strings.Join(labels, " "); got != "1 10 100 1,000" || minor != 3*8+4 {
		t.Errorf("logarithmic: %s and %d more", got, minor)
	}
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1500: "−1,500", 0.25: "0.25"} {
		if got := number(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, f := range []Format{SVG, PNG} {
		b.Run(string(f), func(b *testing.B) {
			for b.Loop() {
				if err := sample(false).Write(io.Discard, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
