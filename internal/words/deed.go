// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"math"
	"strings"
)

// deeds are what taught a label, from store.Source's name: for important and for ordinary.
// "it" stands for the message.
var deeds = map[string][2]string{
	"provisional": {"you have done nothing with it so far", "you have done nothing with it so far"},
	"silence":     {"you left it alone", "you left it alone"},
	"answered":    {"you answered it", "you answered it"},
	"forwarded":   {"you forwarded it", "you forwarded it"},
	"moved":       {"you moved it", "you threw it away unread"},
	"junk":        {"you said that it is no junk", "you called it junk"},
	"muted":       {"you muted it", "you muted it"},
	"flagged":     {"you starred it", "you starred it"},
	"mark":        {"you marked it", "you took the mark off it"},
	"read":        {"you read it and kept it", "you read it"},
	"found":       {"it was starred, answered or marked when it was first seen", "it was called junk or deleted when it was first seen"},
	"letter":      {"you answered a letter about it", "you answered a letter about it"},
	"explicit":    {"you called it important", "you called it ordinary"},
}

// Deed says what the owner did to give a label, important or ordinary, from what it and
// store.Source are called: you answered it.
func Deed(label, source string) string {
	deed, known := deeds[source]
	if !known {
		deed = deeds["explicit"]
	}
	if label == "ordinary" {
		return deed[1]
	}
	return deed[0]
}

// DeedAround is Deed in two parts, between which the name of the message stands.
func DeedAround(label, source string) (before, after string) {
	before, after, _ = strings.Cut(Deed(label, source), " it")
	return before, after
}

// InTen says how many messages like one mattered, from the probability that it matters, 0 to
// 1; "" for 0, which says that too little is known.
func InTen(p float64) string {
	switch n := math.Round(10 * p); {
	case p <= 0:
		return ""
	case n < 1:
		return "hardly any such message mattered"
	case n > 9:
		return "nearly all such messages mattered"
	default:
		return fmt.Sprintf("%.0f in 10 such messages mattered", n)
	}
}
