// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"testing"
)

// waysToHide hold "secret", which nobody sees; waysToShow hold "seen", which everybody does.
var waysToHide = []struct{ name, doc string }{
	{"display none", `<p style="display:none">secret</p>`},
	{"display none in capitals behind a comment", `<p style="/**/ DISPLAY : NONE /* x */">secret</p>`},
	{"display none with an escape", `<p style="d\69splay:n\6f ne">secret</p>`},
	{"important beats what follows", `<p style="display:none!important;display:block">secret</p>`},
	{"a paragraph without end tag", `<p style="display:none">secret<p>`},
	{"the hidden attribute", `<div hidden>secret</div>`},
	{"visibility hidden", `<div style="visibility:hidden">secret</div>`},
	{"visibility collapse on a row", `<table><tr style="visibility:collapse"><td>secret</table>`},
	{"type of no size on an ancestor", `<div style="font-size:0"><p><b>secret</b></p></div>`},
	{"type of one pixel", `<span style="font-size:1px">secret</span>`},
	{"type of a point", `<span style="font-size:1pt">secret</span>`},
	{"em of nothing", `<div style="font-size:0"><span style="font-size:2em">secret</span></div>`},
	{"the shorthand for fonts", `<p style="font:0/0 a">secret</p>`},
	{"percent of type", `<p style="font-size:1%">secret</p>`},
	{"a class", `<style>.pre{display:none}</style><div class="x pre">secret</div>`},
	{"an id", `<style>#pre{visibility:hidden}</style><div id=pre>secret</div>`},
	{"a child selector", `<style>div > i.q{font-size:0}</style><div><i class=q>secret</i></div>`},
	{"an attribute selector", `<style>[data-x="1"]{display:none}</style><i data-x=1>secret</i>`},
	{"two classes", `<style>.a.b{display:none}</style><i class="b a">secret</i>`},
	{"the first child", `<style>b:first-child{display:none}</style><div><b>secret</b></div>`},
	{"every child of one", `<style>.h *{display:none}</style><div class=h><b>secret</b></div>`},
	{"a rule for screens", `<style>@media screen and (min-width:600px){.h{display:none}}</style><b class=h>secret</b>`},
	{"a sheet behind the text", `<b class=h>secret</b><style>.h{display:none}</style>`},
	{"a more special rule", `<style>div b.h{display:none} .h{display:inline}</style><div><b class=h>secret</b></div>`},
	{"white on the default ground", `<p style="color:#fff">secret</p>`},
	{"nearly white", `<p style="color:rgb(250, 252, 251)">secret</p>`},
	{"font color", `<font color=white>secret</font>`},
	{"font color without #", `<font color=FEFEFE>secret</font>`},
	{"the ground of a cell", `<table><tr><td bgcolor="#336699"><span style="color:#336699">secret</span></table>`},
	{"black on black of the body", `<body bgcolor=black text=black>secret<b style=color:red>x`},
	{"white by hsl", `<p style="color:hsl(0, 0%, 100%)">secret</p>`},
	{"transparent", `<p style="color:transparent">secret</p>`},
	{"no alpha", `<p style="color:rgba(0,0,0,0)">secret</p>`},
	{"alpha by percent", `<p style="color:rgb(0 0 0 / 1%)">secret</p>`},
	{"eight digits", `<p style="color:#00000000">secret</p>`},
	{"the fill of text", `<p style="-webkit-text-fill-color:transparent">secret</p>`},
	{"opacity", `<div style="opacity:0"><p style="opacity:1">secret</p></div>`},
	{"opacities that multiply", `<div style="opacity:.2"><p style="opacity:20%">secret</p></div>`},
	{"a preheader", `<div style="max-height:0;overflow:hidden;mso-hide:all">secret</div>`},
	{"no height", `<div style="height:0px;overflow:hidden">secret</div>`},
	{"one pixel", `<div style="position:absolute;width:1px;height:1px;overflow:hidden">secret</div>`},
	{"no width", `<span style="display:inline-block;max-width:0;overflow:hidden">secret</span>`},
	{"off the screen", `<div style="position:absolute;left:-9999px;top:0">secret</div>`},
	{"above the screen", `<div style="position:fixed;top:-200em">secret</div>`},
	{"an indent", `<div style="text-indent:-9999px">secret</div>`},
	{"a margin", `<div style="margin:0 0 0 -9999px">secret</div>`},
	{"lines without height", `<div style="line-height:0;overflow:hidden">secret</div>`},
	{"a shadow of the ground's color", `<p style="color:#fff;text-shadow:0 0 2px #fff">secret</p>`},
	{"an alternative text", `<img alt="secret"><a title="secret">x</a>`},
	{"the title", `<head><title>secret</title></head>`},
	{"a title in the body", `<body><p>x<title>secret</title>`},
	{"a closed detail", `<details><summary>more</summary>secret</details>`},
	{"a comment for Outlook", `<!--[if mso]><p>secret</p><![endif]-->`},
	{"a hidden input", `<input type=hidden value=secret>`},
	{"a template", `<template><p>secret</p></template>`},
	{"the description of a picture", `<svg><title>secret</title><desc>secret</desc></svg>`},
	{"what stands in for a film", `<video>secret</video><iframe>secret</iframe>`},
	{"a second value that is none", `<p style="display:none;display:nonsense">secret</p>`},
	{"white of a class on the default ground", `<style>.w{color:white}</style><td class=w><b class=w>secret</b>`},
}

var waysToShow = []struct{ name, doc string }{
	{"a child of wrapper without size", `<td style="font-size:0"><div style="font-size:16px">seen</div></td>`},
	{"a rem below no size", `<div style="font-size:0"><b style="font-size:1rem">seen</b></div>`},
	{"a keyword below no size", `<div style="font-size:0"><b style="font-size:medium">seen</b></div>`},
	{"the shorthand below no size", `<div style="font-size:0"><b style="font:bold 12px/1.5 Arial">seen</b></div>`},
	{"a font tag's size below no size", `<div style="font-size:0"><font size=3>seen</font></div>`},
	{"a visible child", `<div style="visibility:hidden"><b style="visibility:visible">seen</b></div>`},
	{"what follows a hidden paragraph without end tag", `<p style="display:none">x<p>seen`},
	{"what follows a hidden cell without end tag", `<table><tr><td style="display:none">x<td>seen</table>`},
	{"a hidden attribute that is overruled", `<div hidden style="display:block">seen</div>`},
	{"white on a dark cell", `<table><tr><td bgcolor="#222222"><font color="#ffffff">seen</font></table>`},
	{"white on a dark class", `<style>.d{background:#123;color:#fff}</style><table><tr><td class=d><a href=x style="color:#fff">seen</a></table>`},
	{"white on a dark ancestor", `<div style="background-color:rgb(10,10,80)"><p><span style="color:white">seen</span></p></div>`},
	{"white on a picture", `<div style="background:url(a.png);color:#fff">seen</div>`},
	{"white on a picture by attribute", `<table background="a.png"><tr><td style="color:#fff">seen</table>`},
	{"white on a gradient", `<div style="background-image:linear-gradient(#000,#333);color:#fff">seen</div>`},
	{"white on a button", `<a href=x style="display:inline-block;background:#06c;color:#fff;border-radius:3px">seen</a>`},
	{"white with a dark shadow", `<p style="color:#fff;text-shadow:0 0 2px #000">seen</p>`},
	{"a gradient through letters", `<p style="background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent">seen</p>`},
	{"a link on white text's ground", `<div style="color:#fff"><a href=x>seen</a></div>`},
	{"light grey", `<p style="color:#ccc">seen</p>`},
	{"a rule for paper", `<style>@media print{.h{display:none}}</style><b class=h>seen</b>`},
	{"a rule for phones", `<style>@media only screen and (max-width:600px){.h{display:none!important}}</style><b class=h>seen</b>`},
	{"a rule for the dark", `<style>@media (prefers-color-scheme: dark){.h{color:#fff}}</style><b class=h>seen</b>`},
	{"a sheet for paper", `<style media=print>.h{display:none}</style><b class=h>seen</b>`},
	{"a rule for others", `<style>u + .h, #outlook .h{display:none}</style><b class=h>seen</b>`},
	{"a rule in a comment", `<style>/* .h{display:none} */</style><b class=h>seen</b>`},
	{"a rule that is overruled", `<style>.h{display:none}</style><b class=h style="display:inline">seen</b>`},
	{"a rule that is more special", `<style>b.h{display:inline} .h{display:none}</style><b class=h>seen</b>`},
	{"an important rule", `<style>.h{display:inline!important}</style><b class=h style="display:none">seen</b>`},
	{"a list of selectors that is none", `<style>.h, :nosuch(x){display:none}</style><b class=h>seen</b>`},
	{"a value that is none", `<p style="display:nonesuch;visibility:hide;font-size:-1px">seen</p>`},
	{"a property that is none", `<p style="x-display:none;mso-hide:all">seen</p>`},
	{"no height but nothing hidden", `<div style="height:0">seen</div>`},
	{"no height, on a cell", `<table><tr><td style="height:0;overflow:hidden">seen</table>`},
	{"no height in a line", `<span style="height:0;overflow:hidden">seen</span>`},
	{"no height but a padding", `<div style="height:0;overflow:hidden;padding-bottom:50%">seen</div>`},
	{"no height but a least one", `<div style="height:0;min-height:20px;overflow:hidden">seen</div>`},
	{"a small indent", `<p style="text-indent:-20px">seen</p>`},
	{"a place without a position", `<p style="left:-9999px">seen</p>`},
	{"half opacity", `<p style="opacity:.5">seen</p>`},
	{"aria-hidden", `<p aria-hidden=true>seen</p>`},
	{"noscript", `<noscript>seen</noscript>`},
	{"an open detail", `<details open><summary>more</summary>seen</details>`},
	{"a summary", `<details><summary>seen</summary>x</details>`},
	{"display contents", `<div style="display:contents">seen</div>`},
	{"text in a drawing", `<svg><text>seen</text></svg>`},
	{"a comment for all but Outlook", `<!--[if !mso]><!--><p>seen</p><!--<![endif]-->`},
	{"lines without height", `<p style="line-height:0">seen</p>`},
	{"small type", `<p style="font-size:8px">seen</p>`},
	{"a cell of a pixel", `<table><tr><td width=1 style="width:1px;max-width:1px">seen</table>`},
	{"a zero elsewhere", `<p style="margin:0;padding:0;border:0;background:0 0;letter-spacing:0">seen</p>`},
}

func TestWhatIsHiddenIsNoWordOfTheLetter(t *testing.T) {
	for _, c := range waysToHide {
		t.Run(c.name, func(t *testing.T) {
			m := readHTMLOf(t, "<p>before</p>"+c.doc+"<p>behind</p>")
			if got := wordsWith(m, "body:"); slices.Contains(got, "secret") || len(got) == 0 {
				t.Errorf("%s: got %q", c.doc, got)
			}
		})
	}
}

func TestWhatIsShownIsAWordOfTheLetter(t *testing.T) {
	for _, c := range waysToShow {
		t.Run(c.name, func(t *testing.T) {
			m := readHTMLOf(t, "<p>before</p>"+c.doc+"<p>behind</p>")
			if got := wordsWith(m, "body:"); !slices.Contains(got, "seen") || !slices.Contains(got, "behind") {
				t.Errorf("%s: got %q", c.doc, got)
			}
		})
	}
}

func TestASelectorThatStandsTwiceCountsOnce(t *testing.T) {
	doc := "<style>.x{color:red}.a,.a{display:none}.a{display:block}</style><p class=a>roof</p>"
	f := newTest(t)
	f.reset()
	if lines := f.readHTML([]byte(doc)); len(lines) != 1 || string(lines[0].text) != "roof" {
		t.Errorf("lines %q", lines)
	}
}
