// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// What a box does to the text around it.
const (
	displayInline = iota // nothing
	displayWord          // a word ends before and behind it
	displayCell          // likewise
	displayBlock         // lines of its own
	displayTable         // likewise; it grows with what is in it
	displayNone          // there is no box
)

// What becomes of white space, but for spaces that become one.
const (
	spaceKept = 1 // all of it stays
	linesKept = 2 // line ends stay
)

const (
	absolute   = 2    // a position that is fixed or absolute
	far        = 500  // pixels, that far before the window nothing is seen
	tooFar     = 3000 // likewise behind it
	unreadable = 2    // pixels, up to which type can't be read
	faint      = 0.08 // as opaque as this, it isn't seen
)

// displays have the tags that are not inline (HTML 15.3), here or where nothing shows them.
var displays = tagsOf("tags-", map[string]int{"block": displayBlock, "table": displayTable, "cell": displayCell, "word": displayWord})

// style is what an element has from its ancestors and its own rules, by property.
type style struct {
	n         [inheritedNumbers]float64
	color     [propBack + 1]color // text on what lies behind it
	alpha     float64
	ground    bool // what lies behind the text is known: no picture does
	gone      bool // in no box
	away      bool // in a box that isn't seen
	clipsFlat bool // in a box that is as high as its lines
}

// firstStyle is that of the document: black on white.
var firstStyle = style{
	n: [...]float64{propSize: 16, propFlat: 0}, color: [...]color{propColor: black, propFill: {-1}, propBack: white}, alpha: 1, ground: true,
}

// shown reports whether text in this style is seen.
func (s *style) shown() bool {
	if s.gone || s.away || s.n[propInvisible]+s.n[propMasked] > 0 || s.n[propIndent] <= -far || s.n[propSize] <= unreadable ||
		s.clipsFlat && s.n[propFlat] > 0 {
		return false
	}
	text := s.color[propColor]
	if s.color[propFill][0] >= 0 {
		text = s.color[propFill]
	}
	return s.seen(text) || s.seen(s.color[propShadow])
}

// seen reports whether a color differs from what is behind it.
func (s *style) seen(c color) bool {
	c[3] *= s.alpha
	return c[3] > faint && (!s.ground || !c.over(s.color[propBack]).near(s.color[propBack]))
}

// box gathers the declarations for one element.
type box struct {
	set   [properties]bool
	unit  [properties]unit
	n     [properties]float64
	color [propBack + 1]color
}

func (b *box) put(p property, n float64, c color) {
	b.set[p], b.n[p], b.unit[p] = true, n, plain
	if int(p) < len(b.color) {
		b.color[p] = c
	}
}

func (b *box) apply(declarations []declaration, important bool) {
	for i := range declarations {
		switch d := &declarations[i]; {
		case d.important != important:
		case d.unit == inherit:
			b.set[d.property], b.n[d.property] = false, 0
		case d.unit == atLeast:
			b.put(d.property, max(d.n, b.n[d.property]), d.color)
		default:
			b.put(d.property, d.n, d.color)
			b.unit[d.property] = d.unit
		}
	}
}

// attributes puts down what tags and attributes older than CSS say, if anything.
func (b *box) attributes(n *html.Node) (found bool) {
	put := func(p property, number float64, c color, ok bool) {
		if ok {
			b.put(p, number, c)
			found = true
		}
	}
	for i := range n.Attr {
		value := n.Attr[i].Val
		switch n.Attr[i].Key {
		case "bgcolor":
			c, ok := namedColor(strings.ToLower(strings.TrimSpace(value)))
			put(propBack, 0, c, ok)
		case "color", "text":
			c, ok := namedColor(strings.ToLower(strings.TrimSpace(value)))
			put(propColor, 0, c, ok && (n.DataAtom == atom.Font || n.DataAtom == atom.Body))
		case "background":
			put(propImage, 1, color{}, value != "")
		case "hidden":
			put(propDisplay, displayNone, color{}, true)
		case "size":
			put(propSize, 14, color{}, n.DataAtom == atom.Font)
		case "href":
			put(propColor, 0, color{0, 0, 238, 1}, n.DataAtom == atom.A)
		}
	}
	switch n.DataAtom {
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext:
		put(propSpace, spaceKept, color{}, true)
	case atom.Mark, atom.Button, atom.Select:
		put(propColor, 0, black, true)
		put(propBack, 0, color{240, 240, 240, 1}, true)
	}
	return found
}

// match is a rule that matches the element at hand.
type match struct {
	weight       int
	declarations []declaration
}

// cascade gathers the declarations of the rules that match n and of its style attribute, if any.
func (r *htmlReader) cascade(n *html.Node, style, class, id string) bool {
	r.matched = r.matched[:0]
	for i, s := range r.sheets {
		r.match(n, s.rules["*"], i)
		r.match(n, s.rules[n.Data], i)
		if id != "" {
			r.match(n, s.rules["#"+id], i)
		}
		for name := range strings.FieldsSeq(class) {
			r.match(n, s.rules["."+name], i)
		}
	}
	slices.SortFunc(r.matched, func(a, b match) int { return a.weight - b.weight })
	own := r.f.parsedCSS(style, true).declarations
	for _, important := range [...]bool{false, true} {
		for _, m := range r.matched {
			r.box.apply(m.declarations, important)
		}
		r.box.apply(own, important)
	}
	return len(own)+len(r.matched) > 0
}

func (r *htmlReader) match(n *html.Node, rules []*rule, sheet int) {
	for _, rule := range rules {
		if rule.matches(n, 0, &r.f.body.matches) {
			r.matched = append(r.matched, match{rule.weight + sheet<<13, rule.declarations})
		}
	}
}

// restyle turns the style of the parent of n into that of n, and returns how it is displayed.
func (r *htmlReader) restyle(n *html.Node, s *style, inline, class, id string) (display int) {
	b := &r.box
	used := b.attributes(n)
	if (inline != "" || len(r.sheets) > 0) && r.cascade(n, inline, class, id) {
		used = true
	}
	if display = displays[n.DataAtom]; !used {
		return display
	}
	if b.set[propDisplay] {
		display = int(b.n[propDisplay])
	}
	if display < displayCell && (b.n[propFloat] > 0 || b.n[propPosition] == absolute) {
		display = displayBlock
	}
	for p := range property(propBack) {
		switch {
		case !b.set[p]:
		case p >= inheritedNumbers:
			s.color[p] = b.color[p]
		case b.unit[p] == times:
			s.n[p] *= b.n[p]
		default:
			s.n[p] = b.n[p]
		}
	}
	if b.set[propOpacity] {
		s.alpha *= min(max(b.n[propOpacity], 0), 1)
	}
	s.lieOn(b)
	s.gone = s.gone || display == displayNone
	s.away = s.away || b.unseen() || (display == displayWord || display == displayBlock) && b.squeezed()
	s.clipsFlat = b.n[propOverflow] > 0 && display == displayBlock && !b.holds(propHeight, propMinHeight) || s.clipsFlat && !b.set[propHeight]
	*b = box{}
	return display
}

// lieOn notes what lies behind the text of an element.
func (s *style) lieOn(b *box) {
	c, picture := b.color[propBack], b.n[propImage] > 0
	switch {
	case picture && b.n[propClipText] > 0: // seen through the letters
		s.color[propFill], s.ground = black, false
	case picture, b.n[propPosition] == absolute && c[3] == 0: // and so it may lie on anything
		s.ground = false
	case c[3] >= 1:
		s.color[propBack], s.ground = c, true
	case c[3] > 0:
		s.color[propBack] = c.over(s.color[propBack])
	}
}

// unseen reports whether a box lies beyond the window, or shows nothing of what is in it.
func (b *box) unseen() bool {
	off := b.n[propMarginLeft] <= -far || b.n[propMarginTop] <= -far
	if b.n[propPosition] > 0 {
		off = off || b.n[propLeft] <= -far || b.n[propTop] <= -far || b.n[propRight] <= -far || b.n[propBottom] <= -far ||
			b.n[propLeft] >= tooFar || b.n[propTop] >= tooFar
	}
	return off || b.n[propUnseen]+b.n[propTransform]+b.n[propScale]+b.n[propFilter]+b.n[propClipPath] > 0 ||
		b.n[propClip] > 0 && b.n[propPosition] == absolute
}

// squeezed reports whether a box has no room, and hides what goes beyond it.
func (b *box) squeezed() bool {
	return b.n[propOverflow] > 0 && b.n[propPadding] < 1 &&
		(b.narrow(propHeight, propMaxHeight, propMinHeight) || b.narrow(propWidth, propMaxWidth, propMinWidth))
}

func (b *box) narrow(size, most, least property) bool {
	return (b.set[size] && b.n[size] <= 1 || b.set[most] && b.n[most] <= 1) && b.n[least] <= 1
}

func (b *box) holds(size, least property) bool {
	return b.set[size] && b.n[size] > 1 || b.n[least] > 1
}
