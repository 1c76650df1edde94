// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/image/colornames"
)

// property is a CSS property that can make a difference to what is visible.
type property uint8

const (
	// Those with a number that descendants inherit.
	propSize, propInvisible, propMasked, propSpace, propIndent, propFlat = 0, 1, 2, 3, 4, 5
	inheritedNumbers                                                     = 6
	// Those with a color; all but the background's are inherited.
	propColor, propFill, propShadow, propBack = 6, 7, 8, 9
	// The others.
	propImage, propClipText, propOpacity, propPosition, propFloat, propDisplay, propUnseen  = 10, 11, 12, 13, 14, 15, 16
	propLeft, propTop, propRight, propBottom, propMarginLeft, propMarginTop                 = 17, 18, 19, 20, 21, 22
	propHeight, propWidth, propMaxHeight, propMaxWidth, propMinHeight, propMinWidth         = 23, 24, 25, 26, 27, 28
	propPadding, propOverflow, propClip, propClipPath, propTransform, propScale, propFilter = 29, 30, 31, 32, 33, 34, 35
	properties                                                                              = 36
)

// reading is how the value of a property is read that is no word.
type reading uint8

// A side is a length that counts if none of the like is greater.
const words, length, side, sides, oneColor, image, shadow, function, background, font reading = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

// known are the properties by name, without a prefix such as -webkit-.
var known = map[string]struct {
	property property
	reading  reading
}{
	"font-size": {propSize, length}, "font": {propSize, font}, "line-height": {propFlat, length}, "visibility": {propInvisible, words},
	"text-security": {propMasked, words}, "white-space": {propSpace, words}, "text-indent": {propIndent, length}, "color": {propColor, oneColor},
	"text-fill-color": {propFill, oneColor}, "text-shadow": {propShadow, shadow}, "background-color": {propBack, oneColor},
	"background": {propBack, background}, "background-image": {propImage, image}, "background-clip": {propClipText, words},
	"opacity": {propOpacity, length}, "filter": {propFilter, function}, "position": {propPosition, words}, "float": {propFloat, words},
	"display": {propDisplay, words}, "content-visibility": {propUnseen, words}, "left": {propLeft, length}, "top": {propTop, length},
	"right": {propRight, length}, "bottom": {propBottom, length}, "margin": {propMarginLeft, sides}, "margin-left": {propMarginLeft, length},
	"margin-top": {propMarginTop, length}, "height": {propHeight, length}, "max-height": {propMaxHeight, length},
	"min-height": {propMinHeight, length}, "width": {propWidth, length}, "max-width": {propMaxWidth, length}, "min-width": {propMinWidth, length},
	"padding": {propPadding, sides}, "padding-top": {propPadding, side}, "padding-bottom": {propPadding, side}, "padding-left": {propPadding, side},
	"padding-right": {propPadding, side}, "overflow": {propOverflow, words}, "overflow-x": {propOverflow, words}, "overflow-y": {propOverflow, words},
	"clip": {propClip, function}, "clip-path": {propClipPath, function}, "transform": {propTransform, function}, "scale": {propScale, function},
}

// The numbers that stand for words: of font sizes, of display, and of all others.
var (
	sizeWords = map[string]float64{
		"xx-small": 9, "x-small": 10, "small": 13, "medium": 16, "large": 18, "x-large": 24, "xx-large": 32, "smaller": 13, "larger": 19,
	}
	displayWords = tableOf("display-", map[string]float64{
		"none": displayNone, "inline": displayInline, "word": displayWord, "block": displayBlock, "table": displayTable, "cell": displayCell,
	})
	otherWords = tableOf("css-", map[string]float64{"off": 0, "on": 1, "absolute": absolute, "pre": spaceKept, "pre-line": linesKept})
)

// unit is how the number of a declaration counts.
type unit uint8

const (
	plain   unit = iota // pixels, and what has none
	times               // of what the parent has
	atLeast             // if there is no greater one
	inherit             // there is none
)

// declaration is one property with its value.
type declaration struct {
	property  property
	unit      unit
	important bool
	n         float64
	color     color
}

// declare appends the declarations that a property and its value make, if they are of use.
func declare(out []declaration, name string, values []css.Token) []declaration {
	values = slices.DeleteFunc(values, func(t css.Token) bool { return t.TokenType == css.WhitespaceToken })
	k, ok := known[strings.TrimPrefix(name, "-webkit-")]
	d := declaration{property: k.property}
	if n := len(values); n > 2 && values[n-2].Data[0] == '!' && unescape(values[n-1].Data) == "important" {
		d.important, values = true, values[:n-2]
	}
	if !ok || len(values) == 0 {
		return out
	}
	word := unescape(values[0].Data)
	list := otherWords
	switch d.property {
	case propDisplay:
		list = displayWords
	case propSize:
		list = sizeWords
	}
	n, isWord := list[word]
	switch {
	case isWord && (len(values) == 1 || d.property == propOverflow) && k.reading != background && k.reading != oneColor:
		if d.n = n; word == "smaller" || word == "larger" {
			d.n, d.unit = n/16, times
		}
		if n == 0 && k.reading == length && d.property != propFlat {
			d.unit = inherit
		}
	case word == "auto" && d.property == propOverflow:
		d.n = 1
	case word == "inherit", word == "unset", word == "revert", word == "auto":
		d.unit = inherit
	case word == "initial":
		switch d.property {
		case propSize:
			d.n = 16
		case propColor:
			d.color = black
		}
	default:
		return d.read(out, k.reading, values)
	}
	return append(out, d)
}

// read appends the declarations that a value makes which is no word.
func (d declaration) read(out []declaration, how reading, values []css.Token) []declaration {
	ok := false
	switch how {
	case oneColor:
		d.color, ok = parseColor(values)
	case shadow:
		for ; len(values) > 0 && !ok; values = values[1:] {
			d.color, ok = parseColor(values)
		}
	case image:
		ok = isFunction(values[0])
		d.n = 1
	case function:
		ok = true
		for at, t := range values {
			if isFunction(t) || at == 0 {
				d.n = max(d.n, squeezes(values[at:]))
			}
		}
	case length, side:
		var isShare bool
		d.n, isShare, ok = number(values[0])
		switch {
		case d.property == propSize:
			if ok = ok && d.n >= 0; isShare {
				d.unit = times
			}
		case d.property == propFlat && d.n == 0:
			d.n = 1
		case d.property == propFlat:
			d.n = 0
		case d.property == propOpacity:
		case isShare && values[0].TokenType == css.DimensionToken:
			d.n *= 16
		case isShare:
			d.n *= windowWidth
		}
		if how == side {
			d.unit = atLeast
		}
	case font:
		ok = d.font(values)
	case sides:
		least, most := span(values)
		if d.n, ok = most, true; d.property == propMarginLeft {
			d.n = least
			out = append(out, d)
			d.property = propMarginTop
		}
	case background:
		return d.background(out, values)
	case words:
	}
	if !ok {
		return out
	}
	return append(out, d)
}

// font takes the size from a font. Before it stand words, and a weight without a unit.
func (d *declaration) font(values []css.Token) bool {
	for _, t := range values {
		n, isShare, isNumber := number(t)
		if size, isWord := sizeWords[unescape(t.Data)]; isWord {
			d.n = size
			return true
		} else if isNumber && (t.TokenType != css.NumberToken || n == 0) {
			if d.n = n; isShare {
				d.unit = times
			}
			return true
		}
	}
	return false
}

func (d declaration) background(out []declaration, values []css.Token) []declaration {
	picture := d
	picture.property, picture.color = propImage, color{}
	for i := range values { // colors within a gradient do no harm: it is a picture
		if c, ok := parseColor(values[i:]); ok {
			d.color = c
		} else if isFunction(values[i]) {
			picture.n = 1
		}
	}
	return append(out, d, picture)
}

func isFunction(t css.Token) bool {
	return t.TokenType == css.FunctionToken || t.TokenType == css.URLToken || t.TokenType == css.BadURLToken
}

// pixelsOf are the pixels of the units of length; ems and percentages are shares.
var pixelsOf = map[string]float64{"": 1, "px": 1, "rem": 16, "pc": 16, "pt": 4.0 / 3, "in": 96, "cm": 38, "mm": 3.8, "vw": 10, "vh": 8}

// number reads a number. Lengths become pixels; isShare: it is a share of what the parent has.
func number(t css.Token) (n float64, isShare, ok bool) {
	if t.TokenType != css.NumberToken && t.TokenType != css.DimensionToken && t.TokenType != css.PercentageToken {
		return 0, false, false
	}
	end := len(t.Data)
	for end > 0 && asciiClass[t.Data[end-1]]&digit == 0 && t.Data[end-1] != '.' {
		end--
	}
	n, err := strconv.ParseFloat(string(t.Data[:end]), 64)
	switch name := string(bytes.ToLower(t.Data[end:])); name {
	case "%":
		return n / 100, true, err == nil
	case "em":
		return n, true, err == nil
	case "ex", "ch":
		return n / 2, true, err == nil
	case "deg":
		return n, false, err == nil
	default:
		pixels, ok := pixelsOf[name]
		return float64(n * pixels), false, err == nil && ok
	}
}

// span returns the least and the greatest number of a value.
func span(values []css.Token) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, t := range values {
		if t.TokenType == css.RightParenthesisToken {
			break
		}
		if n, isShare, ok := number(t); ok {
			if isShare && t.TokenType == css.DimensionToken {
				n *= 16
			}
			least, most = min(least, n), max(most, n)
		}
	}
	return least, most
}

// squeezes returns 1 if a function leaves nothing to be seen: scale(0), translate(-9999px),
// rotateX(90deg), rect(0,0,0,0), inset(50%), circle(0), opacity(0).
func squeezes(values []css.Token) float64 {
	least, most := span(values)
	gone := false
	switch strings.ToLower(string(values[0].Data)) {
	case "scale(", "scalex(", "scaley(", "scale3d(", "0", "0%":
		gone = least == 0
	case "translate(", "translatex(", "translatey(", "translate3d(":
		gone = least <= -far || most >= tooFar
	case "rotatex(", "rotatey(":
		gone = most == 90
	case "rect(":
		gone = most-least <= 2
	case "inset(":
		gone = most >= 0.5 && most <= 1
	case "matrix(", "polygon(", "ellipse(", "circle(":
		gone = most == 0 || len(values) > 1 && values[0].Data[0]|' ' == 'c' && values[1].Data[0] == '0'
	case "opacity(":
		gone = most <= faint
	}
	if gone {
		return 1
	}
	return 0
}

// color is red, green, blue from 0 to 255, and how opaque it is from 0 to 1.
type color [4]float64

var black, white = color{0, 0, 0, 1}, color{255, 255, 255, 1}

// parseColor reads the color at the start of the tokens (CSS Color Level 4, without the
// functions that no mail uses).
func parseColor(values []css.Token) (c color, ok bool) {
	name := unescape(values[0].Data)
	switch values[0].TokenType {
	case css.IdentToken, css.HashToken:
		if name == "transparent" {
			return color{}, true
		}
		c, ok = namedColor(name)
		return c, ok && (values[0].TokenType == css.HashToken) == (name[0] == '#')
	case css.FunctionToken:
	default:
		return color{}, false
	}
	c[3] = 1
	i := 0
	for _, t := range values[1:] {
		n, isShare, isNumber := number(t)
		if t.TokenType == css.RightParenthesisToken || i == len(c) {
			break
		} else if !isNumber {
			continue
		}
		if isShare && name[0] == 'r' && i < 3 {
			n *= 255
		}
		c[i] = n
		i++
	}
	hue := c
	for j, offset := range [...]float64{0, 8, 4} {
		if name == "hsl(" || name == "hsla(" {
			k := math.Mod(math.Mod(offset+hue[0]/30, 12)+12, 12)
			c[j] = 255 * (hue[2] - float64(hue[1]*min(hue[2], 1-hue[2])*max(-1, min(k-3, 9-k, 1))))
		}
		c[j] = min(max(c[j], 0), 255)
	}
	c[3] = min(max(c[3], 0), 1)
	return c, i >= 3 && (strings.HasPrefix(name, "rgb") || strings.HasPrefix(name, "hsl"))
}

// namedColor reads a name, or three, four, six or eight hexadecimal digits. Old attributes
// leave the # out.
func namedColor(name string) (c color, ok bool) {
	if named, found := colornames.Map[name]; found {
		return color{float64(named.R), float64(named.G), float64(named.B), 1}, true
	}
	digits := strings.TrimPrefix(name, "#")
	if len(digits) == 3 || len(digits) == 4 {
		var twice []byte
		for _, c := range []byte(digits) {
			twice = append(twice, c, c)
		}
		digits = string(twice)
	}
	if len(digits) == 6 {
		digits += "ff"
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 8 {
		return c, false
	}
	for i := range c {
		c[i] = float64(n >> (24 - 8*i) & 255)
	}
	c[3] /= 255
	return c, true
}

// over returns what c looks like before back.
func (c color) over(back color) color {
	for i := range 3 {
		c[i] = float64(c[i]*c[3]) + float64(back[i]*(1-c[3]))
	}
	c[3] = 1
	return c
}

// near reports whether a person can't tell two colors apart as text and ground.
func (c color) near(back color) bool {
	most, bright := 0.0, 0.0
	for i, weight := range [3]float64{0.3, 0.59, 0.11} {
		most = max(most, math.Abs(c[i]-back[i]))
		bright += float64(weight * (c[i] - back[i]))
	}
	return most <= 20 || most <= 60 && math.Abs(bright) <= 8
}
