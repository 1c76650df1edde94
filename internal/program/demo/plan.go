// SPDX-License-Identifier: Apache-2.0

package demo

import (
	_ "embed" // of stock.toml
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/hinged/hinged/internal/host/zones"
)

// Owner of the mailbox, made up like everybody who writes to it.
const (
	OwnerName    = "Nora Vale"
	OwnerAddress = "nora.vale@larkfield.example"
	everybody    = "everybody@larkfield.example"
)

// HistoryDays is how far the mailbox reaches back when the demo begins.
const HistoryDays = 24

// Message is one message to the owner, what it is worth to her, and what she
// will do about it.
type Message struct {
	Raw     []byte // RFC 5322, CRLF line ends
	ID      string // Message-ID, without angle brackets
	From    string // the name that the owner sees
	Address string // of the sender
	Subject string
	Date    time.Time
	Kind    string // what sort of mail it is, for tests and figures

	Important bool // the truth, which the daemon never sees
	Spam      bool

	// What the owner does when she gets to it. An overlooked message is left as
	// it is, wrong mark or none. Patience, 0 to 1, is how long she takes.
	Overlooks, Stars, Reads, Discards, Junks bool
	Patience                                 float64
	Reply                                    *Reply // nil: she does not answer
}

// Reply is the owner's answer to a message.
type Reply struct {
	Raw  []byte
	ID   string
	To   string // address
	Date time.Time
}

// Plan is a mailbox: what was in it before, and what will come.
type Plan struct {
	History []*Message // ascending by date; Date of the last is before the day of the start
	Live    []*Message // ascending by date
}

// NewPlan makes up a mailbox for a demo that begins at start and delivers n
// messages over span. The same seed, n and span give the same mail in the same
// order, byte for byte but for its dates: those of the history are fixed hours
// of the days before start's, in its time zone.
func NewPlan(seed uint64, start time.Time, n int, span time.Duration) *Plan {
	w := &writer{
		rand:   rand.New(rand.NewPCG(seed, 0x64656d6f)), //nolint:gosec // repeatable on purpose
		stocks: stocks(), open: map[string][]*thread{},
	}
	p := new(Plan)
	year, month, today := start.Date()
	for day := HistoryDays; day >= 1; day-- {
		at := time.Date(year, month, today-day, 6, 0, 0, 0, start.Location()).UTC()
		for range 5 + w.rand.IntN(3) {
			at = at.Add(time.Duration(20+w.rand.IntN(100)) * time.Minute)
			p.History = append(p.History, w.message(0, at))
		}
	}
	for i := range n {
		p.Live = append(p.Live, w.message(1+i*100/n, start.UTC().Add(span*time.Duration(i)/time.Duration(n))))
	}
	return p
}

// thread is a conversation that may go on.
type thread struct {
	subject string
	topic   topic
	refs    []string // Message-IDs, oldest first
	people  []person
	owner   bool // she has written in it
}

// writer makes up messages one after the other.
type writer struct {
	rand   *rand.Rand
	n      int
	stocks []stock
	open   map[string][]*thread // by sort
}

func (w *writer) chance(percent int) bool { return w.rand.IntN(100) < percent }

func one[T any](w *writer, list []T) T { return list[w.rand.IntN(len(list))] }

// pick draws a sort of mail by weight. percent is how much of the live mail has
// come, 0 for the history: some correspondents turn up only then.
func (w *writer) pick(percent int) *stock {
	total := 0
	for i := range w.stocks {
		if w.stocks[i].Since <= percent {
			total += w.stocks[i].Weight
		}
	}
	n := w.rand.IntN(total)
	for i := range w.stocks {
		if s := &w.stocks[i]; s.Since <= percent {
			if n -= s.Weight; n < 0 {
				return s
			}
		}
	}
	panic("unreachable: weights add up to total")
}

// openThreads is how many conversations of one sort go on side by side.
const openThreads = 3

func (w *writer) message(percent int, at time.Time) *Message {
	s := w.pick(percent)
	var t *thread
	if list := w.open[s.Name]; len(list) > 0 && w.chance(s.Threads) {
		t = one(w, list)
	} else {
		t = &thread{topic: w.topic(s), people: s.from}
		t.subject = t.topic.fill(one(w, s.Subjects))
		if s.Threads > 0 {
			if list = append(list, t); len(list) > openThreads {
				list = list[1:]
			}
			w.open[s.Name] = list
		}
	}
	m := w.write(s, t, one(w, t.people), at)
	m.Kind, m.Spam = s.Name, s.Spam
	// On a list, what matters is what she takes part in.
	m.Important = s.Important || s.List != "" && t.owner
	w.temper(s, t, m)
	return m
}

// temper decides what the owner will do with a message.
func (w *writer) temper(s *stock, t *thread, m *Message) {
	m.Patience = w.rand.Float64()
	answers, overlooks, stars, reads := w.chance(s.Answers), w.chance(12), w.chance(30), w.chance(s.Reads)
	discards, junks := w.chance(s.Discards), w.chance(80)
	switch {
	case m.Spam:
		m.Junks, m.Overlooks = junks, !junks
	case m.Important:
		m.Reads = true
		if answers {
			m.Reply = w.reply(t, m)
			t.owner = true
		} else {
			m.Overlooks = overlooks
			m.Stars = stars
		}
	case s.List != "" && answers:
		// She joins in; from here on the thread matters to her.
		m.Reads, m.Important = true, true
		m.Reply = w.reply(t, m)
		t.owner = true
	default:
		m.Reads, m.Discards, m.Overlooks = reads, discards && !reads, overlooks
	}
}

// person is a correspondent. Every one is made up, and every domain is reserved
// (RFC 2606, RFC 6761): none can belong to anybody.
type person struct{ name, address string }

// stock is what one sort of mail is made of.
type stock struct {
	Name      string
	Weight    int // of all mail, relative to the other sorts
	Important bool
	Spam      bool
	People    []string // each "NAME <ADDRESS>"
	To        string   // other than the owner
	Cc        bool     // the owner is only on Cc, the message is to somebody else
	List      string   // List-Id; such mail matters where the owner takes part
	Bulk      bool     // says so in its headers, and offers to unsubscribe
	Robot     bool     // generated by a program
	HTML      int      // percent that come with HTML
	Threads   int      // percent that go on in an open conversation
	Since     int      // percent of the live mail after which this sort turns up

	// What the owner does, in percent of the messages.
	Answers, Reads, Discards int

	Greeting, Farewell, Subjects, Sentences []string

	from []person // People
}

//go:embed stock.toml
var stockFile []byte

var stocks = sync.OnceValue(func() []stock {
	var file struct{ Stock []stock }
	if err := toml.Unmarshal(stockFile, &file); err != nil {
		panic(err) // a test reads it
	}
	for i := range file.Stock {
		s := &file.Stock[i]
		for _, p := range s.People {
			name, address, _ := strings.Cut(p, " <")
			s.from = append(s.from, person{name, strings.TrimSuffix(address, ">")})
		}
	}
	return file.Stock
})

// topic fills the slots of a conversation's sentences.
type topic struct{ slots *strings.Replacer }

func (t topic) fill(s string) string { return t.slots.Replace(s) }

var (
	spans   = []string{"north span", "river crossing", "mill bridge", "east ramp", "harbour walk", "canal lock bridge", "viaduct stairs"}
	towns   = []string{"Easton", "Millford", "Larkfield", "Grenby", "Port Amble", "Ostwick"}
	days    = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"}
	objects = []string{"anchor bolts", "handrail", "deck boards", "bearing plates", "lighting", "drainage", "paint samples", "load test"}
	goods   = []string{"wool blanket", "bicycle lamp", "tea kettle", "rain jacket", "garden chair", "desk lamp", "hiking boots", "lunch box"}
	nouns   = []string{"importer", "tile cache", "route planner", "elevation layer", "search index", "login page", "map legend", "export job"}
)

func (w *writer) topic(*stock) topic {
	return topic{strings.NewReplacer(
		"{span}", one(w, spans), "{town}", one(w, towns), "{day}", one(w, days), "{object}", one(w, objects),
		"{goods}", one(w, goods), "{noun}", one(w, nouns),
		"{n}", fmt.Sprint(2+w.rand.IntN(40)), "{build}", fmt.Sprint(1800+w.rand.IntN(900)),
		"{amount}", fmt.Sprintf("%d.%02d", 18+w.rand.IntN(900), w.rand.IntN(100)),
		"{order}", fmt.Sprintf("%c%06d", 'A'+rune(w.rand.IntN(8)), w.rand.IntN(1_000_000)),
		"{percent}", fmt.Sprint(5*(2+w.rand.IntN(12))),
	)}
}

// night returns now in a time zone where it is between 3 and 4 o'clock. A demo that
// takes place then decides alike at every hour of the real day: the messages of the past,
// which come from 6 to 20 o'clock, become as old as some label waits for (6 hours, or 3
// days) long before or long after it, and no new day begins in it.
func night(now time.Time) (time.Time, error) {
	east := (3-now.UTC().Hour()+36)%24 - 12
	name := "UTC"
	if east != 0 {
		name = fmt.Sprintf("Etc/GMT%+d", -east) // whose sign is that of POSIX
	}
	zone, err := zones.Load(name)
	if err != nil {
		return time.Time{}, fmt.Errorf("demo: %w", err)
	}
	return now.In(zone), nil
}
