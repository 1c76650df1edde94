package daemon

import (
	"context"
	"errors"
	"net/http"

	"github.com/hinged/hinged/store"
)

// Compacted is what `hinged compact` tells.
type Compacted struct {
	Before int64 `json:"bytes_before"` // size of the store's file before
	After  int64 `json:"bytes_after"`  // and after
}

// Compact implements Backend. The accounts go on: what they read is there, and
// their commits wait until it has ended.
func (d *Daemon) Compact(context.Context) (Compacted, error) {
	before, after, err := d.store.Compact()
	if err != nil {
		return Compacted{}, err
	}
	d.log.Info("store compacted", "bytes_before", before, "bytes_after", after)
	return Compacted{before, after}, nil
}

// Compact implements Backend.
func (c *Client) Compact(ctx context.Context) (Compacted, error) {
	return call[Compacted](ctx, c, http.MethodPost, "/v1/compact", nil, nil)
}

// Compact implements Backend. The store is opened for writing meanwhile; nothing
// may be asked of o when that failed.
func (o *Offline) Compact(context.Context) (c Compacted, err error) {
	clear(o.filters)
	if err := o.store.Close(); err != nil {
		return c, err
	}
	s, err := store.Open(o.path, o.options)
	if err != nil {
		return c, err
	}
	c.Before, c.After, err = s.Compact()
	if err = errors.Join(err, s.Close()); err != nil {
		return Compacted{}, err
	}
	o.store, err = store.OpenReadOnly(o.path, o.options)
	return c, err
}
