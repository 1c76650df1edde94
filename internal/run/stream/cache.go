// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"container/list"

	"github.com/hinged/hinged/internal/run/writer"
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
// from it: a message counts for twelve, with the map that it lies in and what finds it in queues
// and indexes, and rows of the other tables for what they and their maps take.
func stateSize(st *store.State) int {
	return 256 + st.Weights.Len() + 12*st.Messages.Len() + 10*st.Ledger.Len() + 12*st.Early.Len() +
		4*(st.IDs.Len()+st.Window.Len()+st.Senders.Len()+st.Threads.Len()+st.Refusals.Len()) +
		st.Labelled.Len() + st.Recent.Len()
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
