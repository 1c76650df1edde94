// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Duration is a time.Duration that is written with days and weeks as well:
// "60s", "1h30m", "7d", "2w". A day is 24 hours.
type Duration time.Duration

// Std returns d as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// units are those that String uses, the greatest first.
var units = []struct {
	suffix string
	length time.Duration
}{
	{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
	{"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
}

// String returns d in the greatest units that give it exactly, "7d" or
// "1m30s"; ParseDuration takes it back.
func (d Duration) String() string {
	rest := time.Duration(d)
	if rest <= 0 {
		return "0s"
	}
	var b strings.Builder
	for _, u := range units {
		if n := rest / u.length; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.suffix)
			rest %= u.length
		}
	}
	return b.String()
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

var errDuration = errors.New("not a duration")

// ParseDuration reads one or more whole numbers or decimals, each with its
// unit: ns, us, ms, s, m, h, d or w. Negative durations are refused.
func ParseDuration(s string) (Duration, error) {
	if s == "0" {
		return 0, nil
	}
	if s == "" {
		return 0, errDuration
	}
	var sum time.Duration
	for s != "" {
		end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if end <= 0 {
			return 0, errDuration
		}
		number, rest := s[:end], s[end:]
		end = strings.IndexFunc(rest, func(r rune) bool { return r >= '0' && r <= '9' || r == '.' })
		if end < 0 {
			end = len(rest)
		}
		part, err := parsePart(number, rest[:end])
		if err != nil {
			return 0, err
		}
		if sum += part; sum < 0 {
			return 0, errDuration
		}
		s = rest[end:]
	}
	return Duration(sum), nil
}

// parsePart reads one number with its unit.
func parsePart(number, unit string) (time.Duration, error) {
	var length time.Duration
	switch unit {
	case "d":
		length = day
	case "w":
		length = week
	default:
		// "us", "h" and the like: the standard library knows them, and the micro
		// sign besides.
		d, err := time.ParseDuration(number + unit)
		if err != nil {
			return 0, errDuration
		}
		return d, nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f*float64(length) >= float64(1<<63) {
		return 0, errDuration
	}
	return time.Duration(f * float64(length)), nil
}
