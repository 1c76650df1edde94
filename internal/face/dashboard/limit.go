// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// Somebody may fail narrowTries times, as a user from an address, and then once every
	// narrowEvery. All who try a name together may fail wideTries times and then once every
	// wideEvery, and so may all behind one address, which may be a proxy's.
	narrowTries, narrowEvery = 5, time.Minute
	wideTries, wideEvery     = 30, 10 * time.Second
	// maxLimits bounds how much is remembered of either.
	maxLimits = 4096
)

// limits bounds how often something is done, by who does it. It is safe for concurrent use.
type limits struct {
	burst int
	every time.Duration

	mu sync.Mutex
	by map[string]*rate.Limiter
}

func newLimits(burst int, every time.Duration) *limits {
	return &limits{burst: burst, every: every, by: map[string]*rate.Limiter{}}
}

func (l *limits) left(who string, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of := l.by[who]; of != nil {
		return int(of.TokensAt(now))
	}
	return l.burst
}

// take counts a try if there is one left, and back undoes that. If not, there will be one
// after wait.
func (l *limits) take(who string, now time.Time) (back func(), wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.by[who]
	if of == nil {
		if len(l.by) >= maxLimits {
			l.makeRoom(now)
		}
		of = rate.NewLimiter(rate.Every(l.every), l.burst)
		l.by[who] = of
	}
	if tokens := of.TokensAt(now); tokens < 1 {
		return nil, time.Duration((1 - tokens) * float64(l.every))
	}
	r := of.ReserveN(now, 1)
	return func() { r.CancelAt(now) }, 0
}

// makeRoom forgets whoever has all tries again, or else an eighth: those who have most.
func (l *limits) makeRoom(now time.Time) {
	maps.DeleteFunc(l.by, func(_ string, of *rate.Limiter) bool { return of.TokensAt(now) >= float64(l.burst) })
	if len(l.by) < maxLimits {
		return
	}
	left := make(map[string]float64, len(l.by))
	for who, of := range l.by {
		left[who] = of.TokensAt(now)
	}
	all := slices.SortedFunc(maps.Keys(left), func(a, b string) int { return cmp.Compare(left[b], left[a]) })
	for _, who := range all[:maxLimits/8] {
		delete(l.by, who)
	}
}

// bound is one limit of a try, and by whom it is counted.
type bound struct {
	by  *limits
	who string
}

// bounds are those of a try to sign in. A browser in which the user has signed in before
// has tries of its own: whoever tries the user's name elsewhere, or from behind the same
// proxy, can't use them up (OWASP, "Device Cookies"). browser is "" for any other.
func (g *guard) bounds(browser, address, name string) []bound {
	if browser != "" {
		return []bound{{g.narrow, "browser " + browser}}
	}
	return []bound{{g.narrow, address + " " + name}, {g.wide, "name " + name}, {g.wide, "address " + address}}
}

// try counts a try before the password is looked at: many at once are many tries. If there
// is none left, the next is allowed after wait. A right password takes the try back.
func (g *guard) try(bounds []bound) (back func(), wait time.Duration) {
	var taken []func()
	back = func() {
		for _, undo := range taken {
			undo()
		}
	}
	for _, b := range bounds {
		undo, wait := b.by.take(b.who, g.now())
		if wait > 0 {
			back()
			return nil, wait
		}
		taken = append(taken, undo)
	}
	return back, 0
}

func (g *guard) left(bounds []bound) int {
	least := wideTries
	for _, b := range bounds {
		least = min(least, b.by.left(b.who, g.now()))
	}
	return least
}
