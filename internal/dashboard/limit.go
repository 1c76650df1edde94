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
	// triesByAddress is how often an address may give a wrong password, and triesByName
	// how often one may be given for a user, before it has to wait. One more is allowed
	// after triesEvery, for a name after a sixth of that: one address should not be able
	// to shut a user out.
	triesByAddress, triesByName = 5, 30
	triesEvery                  = time.Minute
	// maxLimits bounds how many addresses or names are remembered.
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

// left returns how many tries somebody has, and in how long there will be one.
func (l *limits) left(who string, now time.Time) (tries int, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.by[who]
	if of == nil {
		return l.burst, 0
	}
	tokens := of.TokensAt(now)
	if tokens < 1 {
		wait = time.Duration((1 - tokens) * float64(l.every))
	}
	return int(tokens), wait
}

// take counts a try, if there is one left. back undoes that.
func (l *limits) take(who string, now time.Time) (back func(), ok bool) {
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
	if of.TokensAt(now) < 1 {
		return nil, false
	}
	r := of.ReserveN(now, 1)
	return func() { r.CancelAt(now) }, true
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

// try counts a try to sign in as a user from an address, before the password is looked at:
// many at once are many tries. Without ok there is none left, and the next is allowed after
// wait. A right password takes the try back.
func (g *guard) try(address, name string) (back func(), wait time.Duration, ok bool) {
	now := g.now()
	one, ok := g.addresses.take(address, now)
	if !ok {
		_, wait = g.addresses.left(address, now)
		return nil, wait, false
	}
	two, ok := g.names.take(name, now)
	if !ok {
		one()
		_, wait = g.names.left(name, now)
		return nil, wait, false
	}
	return func() { one(); two() }, 0, true
}

// left is how many tries an address has to sign in as a user.
func (g *guard) left(address, name string) int {
	one, _ := g.addresses.left(address, g.now())
	two, _ := g.names.left(name, g.now())
	return min(one, two)
}
