package filter

import (
	"fmt"
	"strings"

	"github.com/hinged/hinged/store"
)

// Counts are numbers that status shows and that are not rows of the state.
type Counts struct {
	Pending   int            // labels that have not yet settled
	Waiting   int            // messages that wait for a label or for silence
	Intended  int            // marks not yet confirmed
	Places    map[string]int // known copies, by mailbox
	Threshold float64
}

// Counts gathers them. O(messages + places), so not for every event.
func (f *Filter) Counts() Counts {
	c := Counts{Places: map[string]int{}, Threshold: f.fitted().Threshold}
	for _, e := range f.settling {
		if f.stands(e) {
			c.Pending++
		}
	}
	for _, k := range f.waiting.keys[f.waiting.head:] {
		if m, ok := f.st.Messages.Get(string(k[:])); ok && m.SilenceFrom > 0 {
			c.Waiting++
		}
	}
	for _, k := range f.st.Ledger.Keys() {
		if e, _ := f.st.Ledger.Get(k); e.State == store.MarkIntended {
			c.Intended++
		}
	}
	for _, k := range f.st.Places.Keys() {
		mailbox, _ := store.SplitPlaceKey(k)
		c.Places[mailbox]++
	}
	return c
}

// Marking says in words whether marks are set and, if not, what is missing.
func (f *Filter) Marking() string {
	a := &f.st.Account
	switch {
	case f.opts.Shadow == ShadowOn:
		return "no: shadow is on; decisions are recorded, no mark is set"
	case len(f.opts.Marks) == 0:
		return "no: no mark is configured"
	case !f.trained():
		return fmt.Sprintf("not yet: learnt %d of %d important, %d of %d ordinary",
			min(a.Important, uint64(f.opts.MinImportant)), f.opts.MinImportant,
			min(a.Ordinary, uint64(f.opts.MinOrdinary)), f.opts.MinOrdinary)
	default:
		return "yes: " + strings.Join(f.opts.Marks, ", ")
	}
}
