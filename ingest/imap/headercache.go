// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"sync"
	"time"

	"github.com/hinged/hinged/ingest"
)

// Bounds of a headerCache.
const (
	cacheFor     = 10 * time.Minute
	cacheEntries = 2000
	cacheBytes   = 1 << 20
)

// headerCache keeps headers for a while, in memory. A message never changes at its place
// (RFC 9051, section 2.3.1.1). Safe for concurrent use.
type headerCache struct {
	mu     sync.Mutex
	rows   map[ingest.Place]cachedHeader
	order  []ingest.Place // of rows, oldest first
	size   int            // bytes of rows
	now    func() time.Time
	keep   time.Duration
	bounds struct{ rows, size int }
}

type cachedHeader struct {
	raw []byte
	at  time.Time
}

func newHeaderCache(now func() time.Time) *headerCache {
	c := &headerCache{rows: map[ingest.Place]cachedHeader{}, now: now, keep: cacheFor}
	c.bounds.rows, c.bounds.size = cacheEntries, cacheBytes
	return c
}

// get returns the headers that are there, and the places of those that are not.
func (c *headerCache) get(places []ingest.Place) (found map[ingest.Place][]byte, missing []ingest.Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found = map[ingest.Place][]byte{}
	for _, p := range places {
		if row, ok := c.rows[p]; ok && c.now().Sub(row.at) < c.keep {
			found[p] = row.raw
		} else {
			missing = append(missing, p)
		}
	}
	return found, missing
}

// put keeps a header, and drops the oldest ones where there are too many.
func (c *headerCache) put(p ingest.Place, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.rows[p]; ok {
		c.size -= len(old.raw) // its turn in the order stays
	} else {
		c.order = append(c.order, p)
	}
	c.rows[p] = cachedHeader{raw, c.now()}
	c.size += len(raw)
	for len(c.order) > c.bounds.rows || c.size > c.bounds.size {
		c.size -= len(c.rows[c.order[0]].raw)
		delete(c.rows, c.order[0])
		c.order = c.order[1:]
	}
}

func (c *headerCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.rows)
	c.order, c.size = nil, 0
}
