// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"maps"
	"slices"
)

// running is the accounts, and the stream, while Run runs. It belongs to Run's goroutine.
type running struct {
	d      *Daemon
	ctx    context.Context // of Run
	active int
	ended  chan ended
	failed map[string]error // how accounts ended, by name; the stream is ""
}

// ended is how an account, or with "" the stream, ended.
type ended struct {
	account string
	err     error
}

// begin runs an account. Its cancel then ends it alone.
func (r *running) begin(a *account) {
	ctx, cancel := context.WithCancel(r.ctx)
	a.cancel = cancel
	r.active++
	delete(r.failed, a.opts.Name)
	go func() {
		defer cancel()
		err := a.run(ctx)
		if err != nil {
			r.d.log.Error("account stopped", "error", err)
		}
		r.ended <- ended{a.opts.Name, err}
	}()
}

// beginStream runs the stream.
func (r *running) beginStream() {
	r.active++
	go func() {
		err := r.d.stream.Run(r.ctx)
		if err != nil {
			r.d.log.Error("the stream stopped", "error", err)
		}
		r.ended <- ended{"", err}
	}()
}

// wait carries out reloads until everything has ended.
func (r *running) wait() {
	for r.active > 0 {
		select {
		case e := <-r.ended:
			r.active--
			if e.err != nil {
				r.failed[e.account] = e.err
			}
		case l := <-r.d.reloads:
			r.reload(l)
			close(l.done)
		}
	}
}

// errors returns how accounts failed, in order of name.
func (r *running) errors() []error {
	var out []error
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		out = append(out, r.failed[name])
	}
	return out
}
