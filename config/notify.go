// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Notify is one way to tell the owner of important mail. One of Program, Webhook and Ntfy
// is set.
type Notify struct {
	Program  []string `toml:"command,omitempty"` // program and arguments; no shell
	Webhook  string   `toml:"webhook,omitempty"` // a URL
	Ntfy     string   `toml:"ntfy,omitempty"`    // the URL of a topic
	Token             // for Webhook or Ntfy; its keys are in this same table
	Title    string   `toml:"title"`
	Priority int      `toml:"priority"` // of ntfy: 1 to 5
	Quiet    string   `toml:"quiet"`    // "22:00-07:00" in the account's time zone; "": none
	PerDay   int      `toml:"per_day"`  // notifications a day at most; 0: no limit
	Sender   bool     `toml:"sender"`   // name the sender
	Subject  bool     `toml:"subject"`  // tell subject and reasons, too
}

func defaultNotify() Notify {
	return Notify{Title: "Important mail", Priority: 3, PerDay: 20, Sender: true}
}

const maxNotify = 10

// Secret reports whether there is a token to send.
func (n *Notify) Secret() bool { return len((*Password)(&n.Token).keys("token")) > 0 }

// ways returns the keys of those that are set, in a fixed order.
func (n *Notify) ways() []string {
	var set []string
	for _, k := range []struct {
		key string
		set bool
	}{{"command", len(n.Program) > 0}, {"webhook", n.Webhook != ""}, {"ntfy", n.Ntfy != ""}} {
		if k.set {
			set = append(set, k.key)
		}
	}
	return set
}

var errHours = errors.New("not two different times of the day")

// ParseHours reads hours of the day such as "22:00-07:00": from and to since midnight, and
// to may be on the next day. "" is none: both are 0.
func ParseHours(s string) (from, to time.Duration, err error) {
	if s == "" {
		return 0, 0, nil
	}
	first, last, found := strings.Cut(strings.ReplaceAll(s, " ", ""), "-")
	if from, err = timeOfDay(first); err == nil && found {
		to, err = timeOfDay(last)
	}
	if err != nil || !found || from == to {
		return 0, 0, errHours
	}
	return from, to, nil
}

func timeOfDay(s string) (time.Duration, error) {
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, errHours
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// notify checks the ways to tell of one account, and brings them into their final form.
func (t table) notify(list []Notify) {
	t.check(len(list) <= maxNotify, "ntfy", fmt.Sprintf("there are %d ways", len(list)), nil, fmt.Sprintf("%d at most", maxNotify))
	lines := map[string]int{}
	for i := range list {
		n, at := &list[i], t.at.elem(i)
		way := table{t.validator, at, lineOf(at, t.at), t.path}
		way.wayToTell(n)
		set := n.ways()
		if len(set) == 0 {
			continue
		}
		key := strings.Join(append(append([]string{}, n.Program...), n.Webhook, n.Ntfy), "\x00")
		if first, taken := lines[key]; taken {
			way.check(false, set[0], fmt.Sprintf("is there twice, first on line %d", first), nil, "each once")
			continue
		}
		lines[key] = way.lineOf(set[0])
	}
}

func (t table) wayToTell(n *Notify) {
	const want = "one of command, webhook and ntfy"
	switch set := n.ways(); len(set) {
	case 1:
	case 0:
		keys := []string{"command", "webhook", "ntfy"}
		if i := slices.IndexFunc(keys, t.has); i >= 0 {
			t.check(false, keys[i], "is empty", nil, want)
		} else {
			t.required("ntfy", want)
		}
	default:
		t.check(false, set[1], "a second way in the same table", nil, "it in another [[account.notify]], or "+set[0]+" left out")
	}
	t.check(!slices.Contains(n.Program, "") && !slices.ContainsFunc(n.Program, func(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }),
		"command", "an empty argument, or one with control characters", nil, `a program and its arguments, such as ["notify-send", "Mail"]`)
	t.webAddress("webhook", n.Webhook, n.Secret(), `a URL such as "https://example.org/hook"`)
	if t.webAddress("ntfy", n.Ntfy, n.Secret(), wantTopic) && n.Ntfy != "" {
		u, _ := url.Parse(n.Ntfy)
		topic := strings.Trim(u.Path, "/")
		t.check(topic != "" && !strings.Contains(topic, "/") && u.RawQuery == "", "ntfy", "is not the URL of a topic", nil, wantTopic)
	}
	if p := (*Password)(&n.Token); n.Secret() {
		for _, key := range p.keys("token") {
			t.useless(len(n.Program) > 0, key, "with a command")
		}
		t.secret("token", p)
	}
	t.check(n.Title != "" && len(n.Title) <= 100 && !strings.ContainsFunc(n.Title, unicode.IsControl), "title", "not a title", n.Title, "1 to 100 bytes on one line")
	t.integer("priority", n.Priority, 1, 5)
	t.useless(n.Ntfy == "" && n.Priority != defaultNotify().Priority, "priority", "without ntfy")
	_, _, err := ParseHours(n.Quiet)
	t.check(err == nil, "quiet", "not two different times of the day", n.Quiet, `hours such as "22:00-07:00"`)
	t.integer("per_day", n.PerDay, 0, 10_000)
}

const wantTopic = `the URL of a topic such as "https://ntfy.sh/TOPIC"`

// webAddress checks a URL, which is never shown: who knows it may send there, and read at
// some. It reports whether the URL is fit.
func (t table) webAddress(key, address string, secret bool, want string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	ok := err == nil && (u.Scheme == "https" || u.Scheme == "http") && isHost(u.Hostname()) && u.User == nil && u.Fragment == "" && len(address) <= 2000
	if !t.check(ok, key, "not a URL to send to", nil, want) {
		return false
	}
	return t.check(u.Scheme == "https" || !secret || IsLoopback(u.Hostname()),
		key, "the secret would cross the network unencrypted", nil, "https")
}

// Digest is a message that hinged writes into the owner's mailbox now and then: what it
// marked and why, and what it learnt. Until marks begin, letters may ask about messages.
type Digest struct {
	At      string `toml:"at"`    // a time of the day in the account's time zone
	Every   string `toml:"every"` // day, or week: on Mondays
	Mailbox string `toml:"mailbox"`
	// Questions is how many letters a day ask about one message each until marks begin.
	Questions int `toml:"questions"`
}

func defaultDigest() Digest { return Digest{At: "07:00", Every: "day", Mailbox: "INBOX"} }

// AskingDigest is what init writes for an owner who wants to be asked.
func AskingDigest() *Digest {
	d := defaultDigest()
	d.Questions = 3
	return &d
}

var digestTimes = []string{"day", "week"}

// Time returns At as the time since midnight.
func (d *Digest) Time() (time.Duration, error) { return timeOfDay(d.At) }

const mostQuestions = 10

func (t table) digest(d *Digest) {
	_, err := d.Time()
	t.check(err == nil, "at", "not a time of the day", d.At, `a time such as "07:00"`)
	t.choice("every", d.Every, digestTimes)
	t.check(d.Questions >= 0 && d.Questions <= mostQuestions, "questions", "not a number of letters a day", d.Questions, fmt.Sprintf("0 to %d", mostQuestions))
	t.check(d.Mailbox != "" && !strings.ContainsFunc(d.Mailbox, unicode.IsControl), "mailbox", "not the name of a mailbox", d.Mailbox, `a name as the mail program shows it, such as "INBOX"`)
}
