package daemon

import (
	"context"
	"net/http"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/prior"
)

// Prior is the mean of what all accounts weigh, for features that name nobody. It names
// no account.
type Prior struct {
	Accounts int `json:"accounts"` // that it is the mean of
	// Skipped are accounts with too few labels yet, or with a kernel, whose weights are
	// no weights of features.
	Skipped   int           `json:"skipped"`
	Lessons   uint64        `json:"lessons"`   // that the accounts have learnt
	Important uint64        `json:"important"` // of those, lessons with that label
	Weights   []PriorWeight `json:"weights"`   // by feature
}

// PriorWeight is the mean weight of one feature.
type PriorWeight struct {
	Feature string  `json:"feature"`
	Weight  float64 `json:"weight"`
}

// gathering adds accounts up.
type gathering struct {
	mean prior.Mean
	out  Prior
}

// add adds an account; nil is one that has not come in yet.
func (g *gathering) add(_ string, f *filter.Filter) error {
	if f == nil {
		g.out.Skipped++
		return nil
	}
	o, a := f.Options(), f.State().Account
	few := a.Important < uint64(max(1, o.MinImportant)) || a.Ordinary < uint64(max(1, o.MinOrdinary))
	if few || o.Kernel != (filter.Kernel{}) {
		g.out.Skipped++
		return nil
	}
	g.mean.Add(f.Alone())
	g.out.Accounts++
	g.out.Lessons += a.Important + a.Ordinary
	g.out.Important += a.Important
	return nil
}

func (g *gathering) result() Prior {
	g.out.Weights = []PriorWeight{}
	if g.out.Accounts > 0 {
		for _, w := range g.mean.Prior().Weights {
			g.out.Weights = append(g.out.Weights, PriorWeight{w.Name, w.Value})
		}
	}
	return g.out
}

// Prior implements Backend.
func (d *Daemon) Prior(ctx context.Context) (Prior, error) {
	var g gathering
	for _, a := range d.accounts {
		if err := a.do(ctx, func() error { return g.add(a.opts.Name, a.filter) }); err != nil {
			return Prior{}, err
		}
	}
	if err := d.eachStreamed(ctx, g.add); err != nil {
		return Prior{}, err
	}
	return g.result(), nil
}

// Prior implements Backend.
func (c *Client) Prior(ctx context.Context) (Prior, error) {
	return call[Prior](ctx, c, http.MethodGet, "/v1/prior", nil, nil)
}

// Prior implements Backend.
func (o *Offline) Prior(context.Context) (Prior, error) {
	names, err := o.store.Accounts()
	if err != nil {
		return Prior{}, err
	}
	var g gathering
	if err := o.each(names, g.add); err != nil {
		return Prior{}, err
	}
	return g.result(), nil
}
