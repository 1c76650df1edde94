// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Digest is a message that hinged writes into the owner's mailbox now and then: what it
// marked and why, and what it learnt. Until marks begin, letters may ask about messages.
type Digest struct {
	At      string `toml:"at"`    // a time of the day in the account's time zone
	Every   string `toml:"every"` // day, or week: on Mondays
	Mailbox string `toml:"mailbox"`
	// Questions is how many letters a day ask about one message each until marks begin.
	Questions int `toml:"questions"`
}

// defaultDigest returns the values of the keys that [account.digest] leaves out.
func defaultDigest() Digest { return Digest{At: "07:00", Every: "day", Mailbox: "INBOX"} }

// AskingDigest is what init writes for an owner who wants to be asked.
func AskingDigest() *Digest {
	d := defaultDigest()
	d.Questions = 3
	return &d
}

// digestTimes are the choices of every.
var digestTimes = []string{"day", "week"}

// Time returns At as the time since midnight.
func (d *Digest) Time() (time.Duration, error) { return timeOfDay(d.At) }

// mostQuestions is how many questions a day may be asked by letter.
const mostQuestions = 10

func (t table) digest(d *Digest) {
	_, err := d.Time()
	t.check(err == nil, "at", "not a time of the day", d.At, `a time such as "07:00"`)
	t.choice("every", d.Every, digestTimes)
	t.check(d.Questions >= 0 && d.Questions <= mostQuestions, "questions", "not a number of letters a day", d.Questions, fmt.Sprintf("0 to %d", mostQuestions))
	t.check(d.Mailbox != "" && !strings.ContainsFunc(d.Mailbox, unicode.IsControl), "mailbox", "not the name of a mailbox", d.Mailbox, `a name as the mail program shows it, such as "INBOX"`)
}
