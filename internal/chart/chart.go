// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Point is one point of a line. Both numbers are finite; on logarithmic axes what is
// below 1 is drawn at 1.
type Point struct{ X, Y float64 }

// Line is one thing that was counted.
type Line struct {
	Name   string
	Counts []Point // by X, ascending; drawn as steps, whole, with a dot at the end
	Limits []Point // by X, ascending; the most that the counts can be, dashed; nil: none
}

// Chart says what to draw.
type Chart struct {
	Title  string
	X, Y   string // what the axes measure, with its unit
	Counts string // what the whole lines are, for the legend
	Limits string // what the dashed lines are, for the legend
	Lines  []Line
	Log    bool // both axes are logarithmic
}

// Format is a file format.
type Format string

// The formats.
const (
	SVG Format = "svg"
	PNG Format = "png"
)

// ErrChart is wrapped by errors about what was to be drawn.
var ErrChart = errors.New("cannot draw")

// FormatOf tells the format by a file's name.
func FormatOf(path string) (Format, error) {
	switch f := Format(strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))); f {
	case SVG, PNG:
		return f, nil
	default:
		return "", fmt.Errorf("%w: %s: want a name that ends in .svg or .png", ErrChart, path)
	}
}

// Save writes a file, whole or not at all.
func (c Chart) Save(path string) (err error) {
	format, err := FormatOf(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err = c.Write(f, format); err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}

// Sizes of the picture.
const (
	width, height = 24 * vg.Centimeter, 14 * vg.Centimeter
	edge          = 4 * vg.Millimeter
	dotsPerInch   = 150
)

// colours can be distinguished by people who see few of them (the first seven are those
// of Okabe and Ito 2008 without the yellow).
var colours = []color.RGBA{
	{0x00, 0x72, 0xB2, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0xCC, 0x79, 0xA7, 0xFF},
	{0xE6, 0x9F, 0x00, 0xFF}, {0x56, 0xB4, 0xE9, 0xFF}, {0x00, 0x00, 0x00, 0xFF}, {0x8C, 0x56, 0x4B, 0xFF},
	{0x7F, 0x7F, 0x7F, 0xFF}, {0x6A, 0x3D, 0x9A, 0xFF}, {0xA0, 0x90, 0x00, 0xFF}, {0xB0, 0x00, 0x20, 0xFF},
	{0x2F, 0x4F, 0x4F, 0xFF}, {0x33, 0xA0, 0x2C, 0xFF}, {0xFF, 0x7F, 0x50, 0xFF}, {0x1F, 0x3A, 0xFF, 0xFF},
}

var dashes = []vg.Length{vg.Points(4), vg.Points(3)}

// Write draws.
func (c Chart) Write(w io.Writer, f Format) error {
	p, legend, err := c.plot()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChart, err)
	}
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch f {
	case SVG:
		canvas = vgsvg.New(width, height)
	case PNG:
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.White))}
	default:
		return fmt.Errorf("%w: there is no format %q", ErrChart, f)
	}
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Path())
	inner := draw.Crop(all, edge, -edge, edge, -edge)
	side := vg.Length(0)
	for _, name := range c.names() {
		side = max(side, legend.TextStyle.Width(name))
	}
	side += legend.ThumbnailWidth + 3*edge
	p.Draw(draw.Crop(inner, 0, -side, 0, 0))
	legend.Draw(draw.Crop(inner, inner.Max.X-inner.Min.X-side+2*edge, 0, 0, -2*edge))
	_, err = canvas.WriteTo(w)
	return err
}

// names are the entries of the legend.
func (c Chart) names() []string {
	out := []string{c.Counts, c.Limits}
	for _, l := range c.Lines {
		out = append(out, l.Name)
	}
	return out
}

// plot makes the plot, and its legend, which stands beside it: lines may go anywhere.
func (c Chart) plot() (*plot.Plot, *plot.Legend, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	sans := func(s *text.Style, size vg.Length) {
		s.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
	}
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.Padding, legend.ThumbnailWidth = true, true, vg.Points(3), vg.Points(22)
	sans(&legend.TextStyle, 10)
	sans(&p.Title.TextStyle, 13)
	p.Title.Padding = vg.Points(8)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		sans(&a.Label.TextStyle, 11)
		sans(&a.Tick.Label, 10)
		a.Padding, a.Label.Padding = 0, vg.Points(4)
		a.Tick.Marker = plot.TickerFunc(ticks)
		if c.Log {
			a.Tick.Marker = plot.TickerFunc(logTicks)
		}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xE4}, color.Gray{0xE4}
	p.Add(grid)
	drawn, limited := 0, false
	// The highest first, as they stand in the picture.
	order := make([]int, len(c.Lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(last(c.Lines[b].Counts), last(c.Lines[a].Counts)) })
	for _, i := range order {
		l, style := c.Lines[i], draw.LineStyle{Color: colours[i%len(colours)], Width: vg.Points(1.6)}
		if len(l.Counts) == 0 {
			continue
		}
		counts, err := plotter.NewLine(c.points(l.Counts))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		counts.LineStyle, counts.StepStyle = style, plotter.PostStep
		end, err := plotter.NewScatter(counts.XYs[len(counts.XYs)-1:])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		end.GlyphStyle = draw.GlyphStyle{Color: style.Color, Radius: vg.Points(2.6), Shape: draw.CircleGlyph{}}
		p.Add(counts, end)
		legend.Add(l.Name, counts)
		drawn++
		if len(l.Limits) == 0 {
			continue
		}
		limits, err := plotter.NewLine(c.points(l.Limits))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		style.Dashes, style.Width = dashes, vg.Points(1.2)
		limits.LineStyle = style
		p.Add(limits)
		limited = true
	}
	if drawn == 0 {
		return nil, nil, errors.New("there is nothing to draw")
	}
	grey := draw.LineStyle{Color: color.Gray{0x60}, Width: vg.Points(1.6)}
	legend.Add("")
	legend.Add(c.Counts, &plotter.Line{LineStyle: grey})
	if limited {
		grey.Dashes, grey.Width = dashes, vg.Points(1.2)
		legend.Add(c.Limits, &plotter.Line{LineStyle: grey})
	}
	p.X.Min, p.Y.Min, p.X.Max, p.Y.Max = 0, 0, max(1, p.X.Max), max(1, p.Y.Max)*1.03
	return p, &legend, nil
}

func last(of []Point) float64 {
	if len(of) == 0 {
		return 0
	}
	return of[len(of)-1].Y
}

// points makes of points what can be drawn: on logarithmic axes their logarithms, since
// the library leaves too much room beside axes of its own logarithmic scale.
func (c Chart) points(of []Point) plotter.XYs {
	out := make(plotter.XYs, len(of))
	for i, p := range of {
		if c.Log {
			p.X, p.Y = math.Log10(max(1, p.X)), math.Log10(max(1, p.Y))
		}
		out[i] = plotter.XY{X: p.X, Y: p.Y}
	}
	return out
}

// ticks are 4 to 10 round numbers, each labelled.
func ticks(low, high float64) (out []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, by := range []float64{5, 2} {
		if (high-low)/(step*by) >= 4 {
			step *= by
			break
		}
	}
	for n := math.Ceil(low / step); n*step <= high; n++ {
		out = append(out, plot.Tick{Value: n * step, Label: number(n * step)})
	}
	return out
}

// logTicks are those of powers of ten, labelled, and of their multiples, on an axis of
// logarithms.
func logTicks(low, high float64) (out []plot.Tick) {
	for power := math.Floor(low); power <= high; power++ {
		for digit := 1.0; digit < 10; digit++ {
			t := plot.Tick{Value: power + math.Log10(digit)}
			if digit == 1 {
				t.Label = number(math.Pow(10, power))
			}
			if t.Value >= low && t.Value <= high {
				out = append(out, t)
			}
		}
	}
	return out
}

// number writes whole numbers with a comma every three digits, others as they are.
func number(v float64) string {
	if v != math.Trunc(v) || math.Abs(v) >= 1e15 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	digits := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	if v < 0 {
		digits = "−" + digits
	}
	return digits
}
