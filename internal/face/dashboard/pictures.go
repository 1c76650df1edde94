// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"time"

	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

// Points of a curve that are drawn; more can't be told apart.
const drawnPoints = 160

func curvePicture(p *page, t *desk.Trend) picture {
	n := len(t.Mistakes)
	if n < 2 {
		return picture{Title: "Mistakes and their ceiling", None: "There are too few lessons yet for a curve."}
	}
	var mistakes, ceiling []plot.Point
	for _, m := range t.Mistakes {
		x := float64(m.Lesson)
		mistakes = append(mistakes, plot.Point{X: x, Y: float64(m.Mistakes)})
		if m.Ceiling >= 0 {
			ceiling = append(ceiling, plot.Point{X: x, Y: float64(m.Ceiling)})
		}
	}
	last := t.Mistakes[n-1]
	out := picture{
		Title: "Mistakes stay below their ceiling",
		Sub:   "Lessons on the wrong side of zero, since " + p.Date(t.Mistakes[0].At),
	}
	c := plot.Curves{
		From: float64(t.Mistakes[0].Lesson), To: float64(last.Lesson),
		Finding: fmt.Sprintf("Mistakes rise to %d; their ceiling rises to %d.", last.Mistakes, last.Ceiling),
		Ticks:   p.ticks(t.Mistakes),
	}
	if len(ceiling) == 0 {
		out.Title = "Mistakes in learning"
		out.Sub += ". No ceiling: " + t.NoCeiling
		c.Finding = fmt.Sprintf("Mistakes rise to %d. There is no ceiling.", last.Mistakes)
	} else {
		c.Curves = append(c.Curves, plot.Curve{Points: plot.Thin(ceiling, drawnPoints), Class: "ceil", Label: plot.Count(last.Ceiling), Name: "ceiling"})
	}
	c.Curves = append(c.Curves, plot.Curve{Points: plot.Thin(mistakes, drawnPoints), Class: "ln", Steps: true, Label: count(last.Mistakes), Name: "mistakes"})
	if t.MarkingSince != nil {
		for _, m := range t.Mistakes {
			if !m.At.Before(*t.MarkingSince) {
				c.Event, c.EventAt = "begins to mark", float64(m.Lesson)
				break
			}
		}
	}
	out.Plot = c.Draw()
	return out
}

// ticks are the dates of the first lesson, of the one in the middle and of the last. A
// curve goes by lessons: there theory has its say, and a busy hour has as much room as it
// deserves.
func (p *page) ticks(points []desk.TrendPoint) []plot.Tick {
	first, mid, last := points[0], points[len(points)/2], points[len(points)-1]
	at := func(m desk.TrendPoint, label string) plot.Tick { return plot.Tick{X: float64(m.Lesson), Label: label} }
	if p.ShortDate(first.At) == p.ShortDate(last.At) {
		return []plot.Tick{at(first, p.Time(first.At)), at(last, p.Time(last.At))}
	}
	out := []plot.Tick{at(first, p.ShortDate(first.At))}
	if d := p.ShortDate(mid.At); d != p.ShortDate(first.At) && d != p.ShortDate(last.At) {
		out = append(out, at(mid, d))
	}
	end := p.ShortDate(last.At)
	if p.daysAgo(last.At) == 0 {
		end = "today"
	}
	return append(out, at(last, end))
}

// marksPicture shows the marks of each day, and those that were taken off.
func marksPicture(p *page, t *desk.Trend, own bool) picture {
	shadow := p.Status.InShadow
	least, most, all, off := -1, 0, 0, 0
	bars := plot.Bars{Level: 0}
	for i, d := range t.Days {
		n := d.Marked
		if shadow {
			n = d.Important
		}
		bars.Bars = append(bars.Bars, plot.Bar{All: float64(n), Off: float64(d.TakenOff)})
		all, off, most = all+n, off+d.TakenOff, max(most, n)
		if least < 0 || n < least {
			least = n
		}
		if day, err := time.ParseInLocation(time.DateOnly, d.Day, p.zone); err == nil && (i == 0 || i == len(t.Days)/2) {
			bars.Ticks = append(bars.Ticks, plot.Tick{X: float64(i), Label: p.ShortDate(day)})
		}
	}
	if len(t.Days) == 0 || all == 0 {
		if shadow {
			return picture{Title: "Marks a day", None: "It would have marked nothing."}
		}
		return picture{Title: "Marks a day", None: "It has marked nothing in these days."}
	}
	bars.Ticks = append(bars.Ticks, plot.Tick{X: float64(len(t.Days) - 1), Label: "today"})
	if t.PerDay > 0 {
		bars.Level, bars.Name = float64(t.PerDay), "limit"
	} else if t.Budget > 0 {
		bars.Level, bars.Name = t.Budget*float64(t.Sum.Decided)/float64(len(t.Days)), "budget"
	}
	what, sub := "marks", "Marks a day"
	if shadow {
		what, sub = "would-be marks", "What it would have marked, a day"
	}
	out := picture{Sub: sub}
	switch least {
	case most:
		out.Title = fmt.Sprintf("%s a day", plural(most, "mark", "marks"))
	case 0:
		out.Title = "Up to " + plural(most, "mark", "marks") + " a day"
	default:
		out.Title = fmt.Sprintf("%d to %s a day", least, plural(most, "mark", "marks"))
	}
	if off > 0 && own {
		out.Sub += "; what you took off on top"
	} else if off > 0 {
		out.Sub += "; what was taken off on top"
	}
	bars.Finding = fmt.Sprintf("Between %d and %d %s a day, %d in %d days; %d were taken off.", least, most, what, all, len(t.Days), off)
	out.Plot = bars.Draw()
	return out
}
