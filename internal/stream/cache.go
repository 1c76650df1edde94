// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"container/list"

	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/store"
)

// held is one account in memory. Its fields belong to the partition's writer.
type held struct {
	name string // with kafka.AccountPrefix
	key  string
	work *writer.Writer
	// known: it had seen a record before this process loaded it, or has since.
	known bool
	// configured: it has the options of the configuration.
	configured bool
	rows       int
	place      *list.Element
}

// rowBytes is what a weight takes in memory, which is the row that the others are
// counted in.
const rowBytes = 40

// size counts what an account has in memory; see stateSize.
func (h *held) size() int { return stateSize(h.work.Filter().State()) }

// stateSize counts what a state has in memory, in rows of rowBytes, with what the filter derives
// from it. Rows count for the bytes that they lie packed in, and for what finds them in queues,
// windows and indexes, once an account has got some mail. A message that changed since its last
// checkpoint counts for ten, with the map that it lies in, and those of the other tables for
// what they and their maps take.
func stateSize(st *store.State) int {
	return 256 + st.Weights.Len() + st.PackedBytes()/rowBytes +
		rowsOf(st.Messages, 10, 6) + rowsOf(st.Ledger, 8, 4) + rowsOf(st.Early, 12, 2) +
		rowsOf(st.IDs, 4, 1) + rowsOf(st.Window, 4, 1) + (st.Labelled.Bytes()+st.Recent.Bytes())/rowBytes +
		rowsOf(st.Senders, 3, 1) + rowsOf(st.Threads, 3, 1) + rowsOf(st.Refusals, 3, 1)
}

// rowsOf counts the rows of a table, each that changed for so many, the others for what is
// beside them.
func rowsOf[V any](t *store.Table[V], changed, beside int) int {
	n := t.Changed()
	return changed*n + beside*(t.Len()-n)
}

// cache holds the accounts of one partition that were used last, within bounds.
type cache struct {
	accounts, rows int // bounds
	byName         map[string]*held
	recent         *list.List // of *held, the last used in front
	total          int        // rows, as counted when they were last used
}

func newCache(accounts, rows int) *cache {
	return &cache{accounts: max(accounts, 1), rows: max(rows, 1), byName: map[string]*held{}, recent: list.New()}
}

// get returns an account and notes that it is used; nil if it is not held.
func (c *cache) get(name string) *held {
	h := c.byName[name]
	if h != nil {
		c.recent.MoveToFront(h.place)
	}
	return h
}

// put holds an account.
func (c *cache) put(h *held) {
	h.place = c.recent.PushFront(h)
	c.byName[h.name] = h
	c.count(h)
}

// count looks how large an account is by now.
func (c *cache) count(h *held) {
	n := h.size()
	c.total += n - h.rows
	h.rows = n
}

// full reports whether more is held than the bounds allow, which one account always may be.
func (c *cache) full() bool {
	return len(c.byName) > 1 && (len(c.byName) > c.accounts || c.total > c.rows)
}

// trim lets go of the accounts that were not used for longest, until the bounds
// hold or one is left. All of them must be committed.
func (c *cache) trim() {
	for c.full() {
		h := c.recent.Remove(c.recent.Back()).(*held)
		delete(c.byName, h.name)
		c.total -= h.rows
	}
}

// clear lets go of all, committed or not.
func (c *cache) clear() {
	clear(c.byName)
	c.recent.Init()
	c.total = 0
}

// drop lets go of one account, of which nothing is to be committed.
func (c *cache) drop(h *held) {
	c.recent.Remove(h.place)
	delete(c.byName, h.name)
	c.total -= h.rows
}
